/*
 * fuzz_zmtp.c - what a ZeroMQ peer sends.
 *
 * A stream in two pieces counts as the whole does, and no number is larger
 * than what came.
 */
#include "fuzz.h"

#include "protocol/zmtp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct zmtp whole = {0}, pieces = {0};
    size_t cut = size > 0 ? data[size - 1] % size : 0;
    int r = zmtp_count(&whole, data, size);
    int r_pieces = zmtp_count(&pieces, data, cut);
    if (r_pieces == 0)
        r_pieces = zmtp_count(&pieces, data + cut, size - cut);
    INVARIANT(r == r_pieces);
    if (r < 0)
        return 0;
    INVARIANT(whole.bytes <= size && whole.kept <= size && whole.frames <= whole.begun && whole.begun <= size);
    INVARIANT(whole.messages == pieces.messages && whole.frames == pieces.frames && whole.bytes == pieces.bytes);
    INVARIANT(whole.begun == pieces.begun && whole.kept == pieces.kept && whole.curve == pieces.curve);
    INVARIANT(whole.identity_bytes == pieces.identity_bytes && whole.identity_received == pieces.identity_received);
    INVARIANT(whole.identity_received <= whole.identity_bytes && whole.identity_bytes <= ZMTP_IDENTITY_BYTES);
    INVARIANT(whole.part_n == whole.identity_received && (whole.part_n == 0 || whole.part_at + whole.part_n <= size));
    return 0;
}
