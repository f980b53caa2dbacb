#!/usr/bin/env python3
"""Writes seeds/TARGET/*: small inputs of each kind, from which the fuzzers start."""

import json
import pathlib
import struct

FOLDER = pathlib.Path(__file__).parent / "seeds"
HEADER = json.dumps({"msg_id": "1", "msg_type": "execute_request", "session": "s", "username": "u"}).encode()


def message(flags, *frames):
    return bytes([flags]) + b"".join(struct.pack("<H", len(frame)) + frame for frame in frames)


def frame(value, *buffers):
    text = value if isinstance(value, bytes) else json.dumps(value).encode()
    lengths = [len(text), len(buffers), *map(len, buffers)]
    return struct.pack(f"<{len(lengths)}I", *lengths) + text + b"".join(buffers)


def publish(msg_type, content):
    return frame({"type": "publish", "seq": 1, "msg_type": msg_type, "content": content, "metadata": {}})


def question(name, kind):
    return struct.pack(">6H", 1, 0x100, 1, 0, 0, 0) + name + struct.pack(">2H", kind, 1)


def connection(**changes):
    ports = {f"{name}_port": 50000 + i for i, name in enumerate(("shell", "iopub", "stdin", "control", "hb"))}
    common = {"ip": "127.0.0.1", "key": "k", "transport": "tcp", "signature_scheme": "hmac-sha256", "kernel_name": "petri"}
    return json.dumps({**ports, **common, **changes}).encode()


GREETING = b"\xff" + bytes(7) + b"\x01\x7f\x03\x01" + b"NULL".ljust(20, b"\0") + bytes(32)
LANGUAGE_INFO = {"name": "python", "version": "3", "mimetype": "text/x-python", "file_extension": ".py"}
CONTENT = rb'{"code":"a\u0000\ud83d\ude00\ud83d","silent":false,"n":[1,-2.5e3,12345678901234567890]}'
SEEDS = {
    "text": {
        "object": CONTENT,
        "broken": b'["\xff\xed\xa0\x80\xe2\x82","\\udc00\\n\\/",{"":null}]',
        "numbers": b"[0,-0,1.5,1e400,-1E-7,9223372036854775808,true,false]",
        "deep": b"[[[[{\"a\":[[]]}]]]]",
    },
    "connection": {
        "tcp": connection(),
        "ipv6": connection(ip="::1"),
        "ipc": connection(transport="ipc", ip="/tmp/kernel-ipc", key=""),
        "curve": connection(curve_publickey="x" * 40, curve_secretkey="y" * 40),
        "registration": connection(kernel_id="one", registration_ip="::1", registration_port=5),
        "scheme": connection(signature_scheme="hmac-md5"),
        "port": connection(hb_port=65536),
    },
    "message": {
        "unsigned": message(0, b"<IDS|MSG>", b"", HEADER, b"{}", b"{}", CONTENT),
        "signed": message(3, b"id", b"<IDS|MSG>", b"", HEADER, b"{}", b"{}", CONTENT, b"buffer", b""),
        "bad_signature": message(1, b"<IDS|MSG>", b"0" * 64, HEADER, b"{}", b"{}", b"{}"),
        "short": message(0, b"<IDS|MSG>", b""),
        "bad_header": message(2, b"<IDS|MSG>", b"", b'{"msg_id":1}', b"{}", b"{}", b"{}"),
    },
    "journal": {
        "all": json.dumps({"version": 2, "changes": [
            ["remove", "a", "file-0", None, [1, 2, 3, 33188]],
            ["remove_folder", "b", "", None, [1, 2, 3, 16877]],
            ["make_folder", "b", "file-1", [1, 2, 3, 16877], None],
            ["put", "b/c.csv", "file-12", [7, 2, 3, 33188], None],
        ]}).encode(),
        "away": b'{"version": 2, "changes": [["put", "../x", "file-1", [1, 2, 3, 4], null]]}',
        "none": b'{"version": 2, "changes": []}',
    },
    "procfs": {
        "maps": b"\x80" + b"".join((
            b"559d7a1f4000-559d7a1f6000 r--p 00000000 fe:00 1835 /usr/bin/a\\040b\\012c\n",
            b"7f73b6eb3000-7f73b6eb5000 rw-s 00001000 00:01 2073702                    /dev/zero (deleted)\n",
            b"7f73b6eb5000-7f73b6eb9000 -w-s 00000000 00:01 4112 /memfd:x (deleted) (deleted)\n",
            b"7f73b6eb9000-7f73b6eba000 rw-s 00000000 00:01 7 [anon_shmem:a name]\n",
            b"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n")),
        "smaps": b"\x20" + b"00400000-00401000 rw-p 00000000 00:00 0 [heap]\nRss: 4 kB\nVmFlags: rd wr mr mw me ac\n",
        "stat": b"\xff" + b"7 () R 1\n(a)) S 1 7 7 0 -1 4194304 90 0 1 0 3 2 0 0 20 0 5 0 8711 9000 800\n",
        "status": b"\xf0" + b"Name:\ta\\nVmPTE:\t1 kB\nUmask:\t0022\nNSpid:\t8123\t12\t2\nVmPTE:\t     116 kB\nThreads:\t3\n",
        "statm": b"\x00" + b"2371 914 800 6 0 389 0\n",
        "children": b"\x70" + b"12 345 0 2147483647 2147483648 ",
        "id": b"\x00" + b"2147483647",
        "timerfd": b"\xc0" + b"pos:\t0\nflags:\t02000002\nmnt_id:\t15\nino:\t1057\nclockid: 1\nticks: 0\n"
                   b"settime flags: 01\nit_value: (3, 999999999)\nit_interval: (0, 5)\n",
        "epoll": b"\xc0" + b"pos:\t0\nflags:\t02\nmnt_id:\t15\nino:\t1057\n"
                 b"tfd:        5 events:       19 data:     7f00deadbeef  pos:0 ino:1f sdev:e\n",
        "others": b"\x90" + b"pos:\t-1\nflags:\t0100002\nlock:\t1: FLOCK  ADVISORY  WRITE 7 fe:00:12 0 EOF\nscm_fds: 3\n"
                  b"eventfd-count:                2\nsigmask:\t0000000000000a00\n",
        "mountinfo": b"\x40" + b"36 35 98:0 /mnt1 /mnt\\0402\\134\\012 rw,noatime master:1 - ext3 /dev/root rw\n",
    },
    "secrets": {
        "rows": b"ghp_" + b"a1" * 18 + b" AKIA" + b"A1" * 8 + b" sk-" + b"aB3" * 10 + b" eyJhbGciOiJI.eyJzdWIi.c2ln",
        "named": b'password="a" API_KEY=b1c2 {"token": "abcdef012345"} Authorization: Basic dXNlcg==',
        "url": b"postgresql://me:p@ss@db/x \x1b[32mpwd\x1b[0m: str = 'x'",
        "pem": b"-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nrest",
        "hidden": b"x://API_KEY=b1c2|me:pw@db password='a -----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----'",
        "unseen": b"gh\x1b[1mp_" + b"a1" * 9 + "\u200b".encode() + b"a1" * 9 + b" AK<!-- -->IA" + b"A1" * 8,
        "spelled": b"pass\\u200bword='hunter2' s&shy;k-" + b"aB3" * 10 + b"\\n\\x1b[0m" + b"aB3" * 10,
        "lines": b"waiting\rgh\np_" + b"a1" * 9 + b"\r\n" + b"a1" * 9 + b"\\\nA\bAK\bKIA" + b"A1" * 8,
        "marks": b"[redacted: AWS] secret='[redacted: credential]'",
    },
    "travel": {
        "undo": b"# a comment\n\n  %undo 3 \r\n",
        "checkpoint": "%checkpoint größe".encode(),
        "restore": b"%restore first",
        "diff": b"%diff 3 clean",
        "wrong": b"%checkpoint \x1b[0m",
        "code": b"%undo 1000001\nx = 1",
        "shown": "\n\tx = 'größe'\u202e\u200d  # \xff".encode() + b"\xff\xc3",
    },
    "wire": {
        "hello": b"\x03" + frame({"type": "hello", "language_info": LANGUAGE_INFO, "banner": ""}),
        "stream": b"\xff" + frame({"type": "ready"}) + frame({"type": "sync", "seq": 1}),
        "display": b"\x07" + publish("display_data", {"data": {"text/plain": "1"}, "transient": {}}),
        "error": b"\x09" + publish("error", {"ename": "E", "evalue": "", "traceback": ["a", "b"]}),
        "comm": b"\x40" + frame({"type": "publish", "seq": 2, "msg_type": "comm_open",
                                 "content": {"comm_id": "1", "target_name": "t"}}, b"\x00\x01", b""),
        "input": b"\x10" + frame({"type": "input", "seq": 3, "prompt": "> ", "password": False}),
        "done": b"\x20" + frame({"type": "done", "reply": {"status": "ok"}}),
        "huge": b"\x05" + struct.pack("<4I", 2, 2, 0xFFFFFFFF, 0xFFFFFFFF),
    },
    "dns": {
        "a": question(b"\x07example\x03org\x00", 1),
        "aaaa": question(b"\x01a" * 60 + b"\x00", 28),
        "edns": question(b"\x03a-b\x02_c\x00", 1) + bytes.fromhex("0000291000000000000000"),
        "odd": question(b"\x02\x1b.\x00", 1),
        "pointer": question(b"\x01a\xc0\x0c", 1),
        "long": question((b"\x3f" + b"x" * 63) * 4 + b"\x00", 1),
    },
    "zmtp": {
        "message": GREETING + b"\x04\x06\x05READY\x01\x00\x01\x03abc\x00\x02de",
        "heartbeat": GREETING + b"\x01\x01a\x04\x07\x04PING\x00\x01",
        "large": GREETING + b"\x03" + bytes(6) + b"\x01\x00" + bytes(256) + b"\x02" + b"\xff" * 8 + b"x",
        "curve": GREETING.replace(b"NULL\0", b"CURVE") + b"\x04\x06\x05HELLO",
        "identity": GREETING + b"\x04\x16\x05READY\x08Identity\x00\x00\x00\x03abc\x01\x03def\x00\x02de",
        "old": b"\xff" + bytes(7) + b"\x00\x7f\x01\x06\x00\x00\x01\x01a",
    },
}


def main():
    for target, seeds in SEEDS.items():
        (FOLDER / target).mkdir(parents=True, exist_ok=True)
        for name, data in seeds.items():
            (FOLDER / target / name).write_bytes(data)


if __name__ == "__main__":
    main()
