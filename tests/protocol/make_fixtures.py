#!/usr/bin/env python3
"""Writes fixtures/*.json: what Python's own hmac, codecs and json make of bytes.

The tests compare petri's C with them, so that no test proves the code with
itself. Bytes are in hex. The output is the same at every run.
"""

import hashlib
import hmac
import json
import pathlib
import random

FOLDER = pathlib.Path(__file__).parent / "fixtures"
KEY = b"a0436f6c-1916-498b-8eb9-e81ab9368e84"
HEADER = {"msg_id": "m-1", "msg_type": "execute_request", "session": "s", "username": "u", "version": "5.5"}


def sign(key, parts):
    digest = hmac.new(key, digestmod=hashlib.sha256)
    for part in parts:
        digest.update(part)
    return digest.hexdigest()


def save(name, rows):
    text = "[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n"
    (FOLDER / name).write_text(text, encoding="ascii")


def signatures(rng):
    """Keys shorter and longer than SHA-256's block, empty parts, many bytes."""
    keys = [b"k", KEY, bytes(range(64)), bytes(range(65)), bytes(200), rng.randbytes(1000)]
    parts = [
        [b"{}", b"{}", b"{}", b"{}"],
        [b"", b"", b"", b""],
        [rng.randbytes(n) for n in (1, 55, 56, 64)],
        [rng.randbytes(n) for n in (119, 120, 4096, 3)],
    ]
    return [
        {"key": key.hex(), "parts": [part.hex() for part in row], "signature": sign(key, row)}
        for key in keys
        for row in parts
    ]


def broken_utf8(rng):
    """Bytes, and what a decoder makes of them that replaces what is broken."""
    alphabet = [0x00, 0x22, 0x41, 0x5C, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF,
                0xE0, 0xE1, 0xED, 0xEF, 0xF0, 0xF1, 0xF4, 0xF5, 0xFF]
    rows = [b"", "plain ASCII, longer than a machine word".encode(), "grün 日本語 😀".encode(), b"\xed\xa0\x80", b"\xf4\x90\x80\x80",
            b"\xe2\x82", b"\xf0\x9f\x98", b"\xc0\x80", b"1234567\xff", b"12345678\xff", b"a\x00b"]
    rows += [bytes(rng.choice(alphabet) for _ in range(rng.randrange(1, 14))) for _ in range(300)]
    return [{"bytes": row.hex(), "text": row.decode("utf-8", "replace").encode().hex()} for row in rows]


def loads(part):
    """json.loads() of a part, with U+FFFD for what has no place in UTF-8."""
    value = json.loads(part.decode("utf-8", "replace"))
    return json.loads(json.dumps(value, ensure_ascii=False).encode("utf-16", "surrogatepass").decode("utf-16", "replace"))


def messages():
    """Frames as clients send them, and what is in them."""
    def dump(value):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogateescape")

    contents = {
        "plain": dump({"code": "print(1)", "silent": False, "store_history": True}),
        "ascii_escapes": json.dumps({"code": "x = 'grün 😀'"}).encode(),
        "nul_in_code": dump({"code": "a\0b"}),
        "surrogateescape": b'{"code":"x = \'\xff\xfe\'"}',
        "lone_high_surrogate": rb'{"code":"\ud83d x"}',
        "lone_low_surrogate": rb'{"code":"\ude00\ud83d"}',
        "two_high_surrogates": rb'{"code":"\ud83d\ud83d\ude00"}',
        "raw_surrogate": b'{"code":"\xed\xa0\xbd"}',
        "numbers": dump({"n": [0, -1, 9223372036854775807, -9223372036854775808, 0.1, 1e300, -2.5e-7]}),
        "white_space": b' { "a" :\t[ ] ,\r\n "b" : { } } ',
        "nested": dump({"a": [[[[{"b": [None, True, False]}]]]]}),
        "empty": b"{}",
    }
    for name, content in contents.items():
        parts = [dump(HEADER), b"{}", b'{"deletedCells":[]}', content]
        frames = [b"\x00identity", b"<IDS|MSG>", sign(KEY, parts).encode(), *parts, b"\x00\x01buffer", b""]
        yield {"name": name, "key": KEY.hex(), "frames": [frame.hex() for frame in frames], "content": loads(content)}


def main():
    FOLDER.mkdir(exist_ok=True)
    rng = random.Random(20)
    save("signatures.json", signatures(rng))
    save("broken_utf8.json", broken_utf8(rng))
    save("messages.json", list(messages()))


if __name__ == "__main__":
    main()
