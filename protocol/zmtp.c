#include "zmtp.h"

#include <errno.h>
#include <string.h>

enum {
    SIGNATURE_END_AT = 9, /* its lowest bit is set where the peer knows of versions */
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

/* One byte of the greeting, seen as libzmq sees it. */
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
        /* It stands beside the message that goes on, and ends nothing. */
        zmtp->frames--;
        zmtp->bytes -= zmtp->frame_bytes;
        return;
    }
    zmtp->messages++;
    zmtp->frames = 0;
    zmtp->bytes = 0;
}

static int begin_body(struct zmtp *zmtp) {
    if (zmtp->flags & FLAG_COMMAND && zmtp->left > ZMTP_COMMAND_BYTES)
        return -EPROTO;
    zmtp->frames++;
    zmtp->begun++;
    zmtp->frame_bytes = 0;
    zmtp->heartbeat = false;
    zmtp->step = ZMTP_BODY;
    if (zmtp->left == 0)
        end_frame(zmtp);
    return 0;
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

/* As much of the body as there is. Returns the bytes that it was. */
static size_t take_body(struct zmtp *zmtp, const unsigned char *data, size_t n) {
    size_t taken = zmtp->left < n ? (size_t)zmtp->left : n;
    if (zmtp->frame_bytes == 0)
        zmtp->heartbeat = zmtp->flags & FLAG_COMMAND && data[0] == HEARTBEAT_NAME_BYTES;
    zmtp->frame_bytes += taken;
    zmtp->bytes += taken;
    zmtp->kept += zmtp->heartbeat ? 0 : taken;
    zmtp->left -= taken;
    if (zmtp->left == 0)
        end_frame(zmtp);
    return taken;
}

int zmtp_count(struct zmtp *zmtp, const void *data, size_t n) {
    const unsigned char *text = data;
    int r = 0;
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
            i += take_body(zmtp, text + i, n - i);
            break;
        }
    }
    return r;
}
