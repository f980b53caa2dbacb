/*
 * zmtp.c - a state machine that takes a connection in pieces of any size.
 *
 * Only numbers and the 64 bytes of the greeting are kept, so a peer costs the
 * same whatever it sends. Frames have to end where libzmq's decoder ends them,
 * otherwise nothing is bounded; so they are read as libzmq does, also where the
 * grammar differs. Bodies are skipped; only the first frame is read byte by byte,
 * for its identity.
 */

#include "zmtp.h"

#include <errno.h>
#include <string.h>

enum {
    SIGNATURE_END_AT = 9, /* its lowest bit is set if the peer speaks ZMTP 2.0 or later */
    REVISION_AT = 10,
    REVISION_1_0 = 0,
    REVISION_2_0 = 1,
    GREETING_2_0_BYTES = 12,
    FLAG_MORE = 1,
    FLAG_LARGE = 2,
    FLAG_COMMAND = 4,
    LARGE_LENGTH_BYTES = 8,
    HEARTBEAT_NAME_BYTES = 4, /* PING and PONG; no other command's name has four letters here */
};

/* Reads one byte of the greeting as libzmq does. */
static int take_greeting(struct zmtp *zmtp, unsigned char byte) {
    size_t at = zmtp->at++;
    zmtp->greeting[at] = byte;
    bool old = (at == 0 && byte != 0xff) || (at == SIGNATURE_END_AT && !(byte & 1)) ||
               (at == REVISION_AT && byte == REVISION_1_0);
    if (old)
        return -EPROTO;
    size_t whole =
        at >= REVISION_AT && zmtp->greeting[REVISION_AT] == REVISION_2_0 ? GREETING_2_0_BYTES : ZMTP_GREETING_BYTES;
    if (zmtp->at < whole)
        return 0;
    zmtp->curve = whole == ZMTP_GREETING_BYTES && memcmp(zmtp->greeting + ZMTP_MECHANISM_AT, "CURVE", 6) == 0;
    zmtp->step = ZMTP_FLAGS;
    return 0;
}

static void end_frame(struct zmtp *zmtp) {
    zmtp->step = ZMTP_FLAGS;
    if (zmtp->flags & FLAG_MORE)
        return;
    if (zmtp->flags & FLAG_COMMAND) {
        /* A heartbeat is not part of the current message, and does not end it. */
        zmtp->frames--;
        zmtp->bytes -= zmtp->frame_bytes;
        return;
    }
    zmtp->messages++;
    zmtp->frames = 0;
    zmtp->bytes = 0;
}

/* Whether this is the first frame, which has the peer's metadata; libzmq reads it so whatever its flags are. */
static bool is_first(const struct zmtp *zmtp) {
    return zmtp->begun <= 1;
}

static bool is_2_0(const struct zmtp *zmtp) {
    return zmtp->greeting[REVISION_AT] == REVISION_2_0;
}

static int begin_identity(struct zmtp *zmtp, uint64_t bytes) {
    if (zmtp->ready.has_identity || bytes > ZMTP_IDENTITY_BYTES)
        return -EPROTO;
    zmtp->ready.has_identity = true;
    zmtp->identity_bytes = (size_t)bytes;
    return 0;
}

/* One more byte of the identity, the i-th of what is counted. */
static void take_identity(struct zmtp *zmtp, size_t i) {
    if (zmtp->part_n++ == 0)
        zmtp->part_at = i;
    zmtp->identity_received++;
}

static void begin_part(struct zmtp_ready *ready, enum zmtp_ready_step step, size_t length) {
    ready->step = step;
    ready->at = 0;
    ready->length = length;
}

static int end_value_length(struct zmtp *zmtp) {
    struct zmtp_ready *ready = &zmtp->ready;
    int r = ready->is_identity ? begin_identity(zmtp, ready->length) : 0;
    begin_part(ready, ready->length ? ZMTP_READY_VALUE : ZMTP_READY_NAME_LENGTH, ready->length);
    return r;
}

static char lower(unsigned char byte) {
    return (char)(byte >= 'A' && byte <= 'Z' ? byte - 'A' + 'a' : byte);
}

/* One byte of a READY, the i-th of what is counted. */
static int take_ready(struct zmtp *zmtp, unsigned char byte, size_t i) {
    static const char command[] = "\5READY", identity[] = "identity";
    enum { COMMAND_BYTES = sizeof command - 1, IDENTITY_BYTES = sizeof identity - 1, VALUE_LENGTH_BYTES = 4 };
    struct zmtp_ready *ready = &zmtp->ready;
    size_t at = ready->at++;
    switch (ready->step) {
    case ZMTP_READY_COMMAND:
        if (byte != (unsigned char)command[at])
            ready->step = ZMTP_READY_OVER;
        else if (ready->at == COMMAND_BYTES)
            ready->step = ZMTP_READY_NAME_LENGTH;
        break;
    case ZMTP_READY_NAME_LENGTH:
        ready->is_identity = byte == IDENTITY_BYTES;
        begin_part(ready, byte ? ZMTP_READY_NAME : ZMTP_READY_VALUE_LENGTH, byte);
        break;
    case ZMTP_READY_NAME:
        ready->is_identity = ready->is_identity && lower(byte) == identity[at];
        if (ready->at == ready->length)
            begin_part(ready, ZMTP_READY_VALUE_LENGTH, 0);
        break;
    case ZMTP_READY_VALUE_LENGTH:
        ready->length = at == 0 ? byte : ready->length << 8 | byte;
        return ready->at == VALUE_LENGTH_BYTES ? end_value_length(zmtp) : 0;
    case ZMTP_READY_VALUE:
        if (ready->is_identity)
            take_identity(zmtp, i);
        if (ready->at == ready->length)
            ready->step = ZMTP_READY_NAME_LENGTH;
        break;
    case ZMTP_READY_OVER:
        break;
    }
    return 0;
}

/* n bytes of the first frame, from the i-th of what is counted. */
static int take_first(struct zmtp *zmtp, const unsigned char *data, size_t n, size_t i) {
    int r = 0;
    if (zmtp->curve)
        return 0;
    for (size_t k = 0; k < n && r == 0; k++)
        if (is_2_0(zmtp))
            take_identity(zmtp, i + k);
        else
            r = take_ready(zmtp, data[k], i + k);
    return r;
}

static int begin_body(struct zmtp *zmtp) {
    int r = 0;
    if ((zmtp->flags & FLAG_COMMAND || zmtp->begun == 0) && zmtp->left > ZMTP_COMMAND_BYTES)
        return -EPROTO;
    if (zmtp->begun == 0 && is_2_0(zmtp))
        r = begin_identity(zmtp, zmtp->left);
    zmtp->frames++;
    zmtp->begun++;
    zmtp->frame_bytes = 0;
    zmtp->heartbeat = false;
    zmtp->step = ZMTP_BODY;
    if (zmtp->left == 0)
        end_frame(zmtp);
    return r;
}

static void take_flags(struct zmtp *zmtp, unsigned char byte) {
    zmtp->flags = byte;
    zmtp->at = byte & FLAG_LARGE ? LARGE_LENGTH_BYTES : 1;
    zmtp->left = 0;
    zmtp->step = ZMTP_LENGTH;
}

static int take_length(struct zmtp *zmtp, unsigned char byte) {
    zmtp->left = zmtp->left << 8 | byte;
    return --zmtp->at > 0 ? 0 : begin_body(zmtp);
}

/* Reads the body, from the *i-th of n bytes on; sets *i after it. */
static int take_body(struct zmtp *zmtp, const unsigned char *text, size_t n, size_t *i) {
    const unsigned char *data = text + *i;
    size_t taken = zmtp->left < n - *i ? (size_t)zmtp->left : n - *i;
    int r = is_first(zmtp) ? take_first(zmtp, data, taken, *i) : 0;
    if (zmtp->frame_bytes == 0)
        zmtp->heartbeat = zmtp->flags & FLAG_COMMAND && data[0] == HEARTBEAT_NAME_BYTES;
    zmtp->frame_bytes += taken;
    zmtp->bytes += taken;
    zmtp->kept += zmtp->heartbeat ? 0 : taken;
    zmtp->left -= taken;
    if (zmtp->left == 0)
        end_frame(zmtp);
    *i += taken;
    return r;
}

int zmtp_count(struct zmtp *zmtp, const void *data, size_t n) {
    const unsigned char *text = data;
    int r = 0;
    zmtp->part_n = 0;
    for (size_t i = 0; i < n && r == 0;) {
        switch (zmtp->step) {
        case ZMTP_GREETING:
            r = take_greeting(zmtp, text[i++]);
            break;
        case ZMTP_FLAGS:
            take_flags(zmtp, text[i++]);
            break;
        case ZMTP_LENGTH:
            r = take_length(zmtp, text[i++]);
            break;
        case ZMTP_BODY:
            r = take_body(zmtp, text, n, &i);
            break;
        }
    }
    return r;
}
