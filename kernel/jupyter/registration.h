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
 * Where the connection is a registration file's: sends the ports, signed, to the
 * registration socket, and waits for the signed receipt, for half a minute at
 * most. What is wrongly signed is ignored. Blocks. 0 also where there is nothing
 * to do; -ETIMEDOUT where no receipt came (then no client can find this kernel,
 * and it has to end), or another -errno, with a sentence in ret_error.
 */
int registration_announce(const struct channels *channels, const struct connection *connection,
                          struct error *ret_error) MUST_CHECK;

/*
 * Whether n frames are a receipt: a delimiter, a signature and one frame that it
 * is of; identities may come first. What the kernel has sent itself is none,
 * though it is signed: a stranger at the port could send it back.
 */
bool registration_is_receipt(const struct signer *signer, const struct frame *sent, const struct frame *frames,
                             size_t n) MUST_CHECK;

#endif
