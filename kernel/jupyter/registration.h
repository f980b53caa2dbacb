/*
 * registration.h - tells a launcher which ports the kernel has chosen.
 *
 * See: Jupyter messaging, "Kernel startup handshake" (protocol 5.6).
 */
#ifndef PETRI_REGISTRATION_H
#define PETRI_REGISTRATION_H

#include "base/cleanup.h"
#include "kernel/jupyter/channels.h"

/*
 * If the connection file names a registration socket: sends the signed ports to
 * it, and waits for the signed receipt, at most half a minute. Ignores messages
 * with a wrong signature. Blocks. 0, also where there is nothing to do;
 * -ETIMEDOUT where no receipt came (then no client knows this kernel's ports, and
 * it has to end), or another -errno, with a sentence in ret_error.
 */
int registration_announce(const struct channels *channels, const struct connection *connection,
                          struct error *ret_error) MUST_CHECK;

/*
 * Whether n frames are a receipt: a delimiter, a signature and the signed frame;
 * identities may come first. The kernel's own message, sent, is not a receipt
 * although it is signed, because any peer could send it back.
 */
bool registration_is_receipt(const struct signer *signer, const struct frame *sent, const struct frame *frames,
                             size_t n) MUST_CHECK;

#endif
