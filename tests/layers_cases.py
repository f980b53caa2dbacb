"""What layers --self-test tries: trees of a few lines, each with what is to be found in it."""

import contextlib
import io
import os
import pathlib
import subprocess
import tempfile

COMPILER = os.environ.get("CC", "cc")

CASES = [
    # whether something is found, the folder, a line of a file there that is alone in its tree
    ("found", "protocol", "#include <zmq.h>"),
    ("found", "protocol", '#include "kernel/loop.h"'),
    ("found", "protocol", '#include "../sandbox/sandbox.h"'),
    ("found", "protocol", '#include "sandbox.h"'),
    ("found", "protocol", "#include <sys/ptrace.h>"),
    ("found", "base", "#include <jansson.h>"),
    ("clean", "base", "#include <errno.h>"),
    ("found", "base", '#include "protocol/message.h"'),
    ("clean", "protocol", "#include <jansson.h>"),
    ("found", "sandbox", "#include <zmq.h>"),
    ("found", "sandbox", "#include <jansson.h>"),
    ("found", "sandbox", '#include "protocol/message.h"'),
    ("found", "sandbox", '#include "message.h"'),
    ("clean", "sandbox", '#include "sandbox.h"'),
    ("clean", "sandbox", "    unshare(CLONE_NEWUSER);"),
    ("found", "kernel", "    if (unshare(CLONE_NEWUSER) < 0)"),
    ("found", "kernel", "    ret = ptrace(PTRACE_SEIZE, pid, 0, 0);"),
    ("found", "kernel", "    syscall(SYS_clone3, &args, sizeof args);"),
    ("found", "kernel", "    return syscall(__NR_setns, fd, 0);"),
    ("found", "kernel", "    seccomp_init(SCMP_ACT_KILL);"),
    ("found", "kernel", '    mount("none", "/", 0, 0, 0);'),
    ("found", "kernel", '    fprintf(stderr, "petri: %s\\n", why);'),
    ("found", "kernel", "    puts(name);"),
    ("clean", "kernel", "void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));"),
    ("clean", "kernel", '    terminal_print("%s\\n", name); snprintf(why, size, "%s", name);'),
    ("clean", "kernel", "#include <zmq.h>"),
    ("clean", "kernel", "    image_clone(image);"),
    ("clean", "kernel", " * clone(2) is the business of sandbox/"),
    ("found", "cli", "    prctl(PR_SET_SECCOMP, mode, &program);"),
    ("found", "cli", "    puts(name);"),
    ("clean", "cli", "#include <zmq.h>"),
    ("found", "fuzz", "#include <zmq.h>"),
    ("found", "fuzz", '#include "kernel/loop.h"'),
    ("clean", "fuzz", '#include "sandbox/parser.h"'),
    ("clean", "fuzz", '#include "protocol/message.h"'),
    ("found", "worker", "import petri_kernel"),
    ("found", "worker", "    from jupyter_client.session import Session"),
    ("found", "worker", "import json, zmq"),
    ("clean", "worker", "import petri_worker.wire"),
    ("found", "client", "from petri_worker import wire"),
    ("found", "client", "import zmq"),
    ("clean", "client", "from petri_kernel.errors import PetriError"),
    # a private header, one of the same folder, one of nowhere
    ("clean", "kernel", '#include "sandbox/sandbox.h"'),
    ("found", "kernel", '#include "sandbox/parser.h"'),
    ("found", "kernel", "#include <sandbox/parser.h>"),
    ("clean", "kernel", '#include "protocol/message.h"'),
    ("clean", "kernel", '#include "log.h"'),
    ("clean", "kernel", '#include "kernel/log.h"'),
    ("found", "kernel", '#include "message.h"'),
    ("found", "kernel", '#include "../kernel/log.h"'),
    ("found", "fuzz", '#include "parser.h"'),
    ("clean", "cli", '#include "kernel/log.h"'),
    ("clean", "cli", '#include "sandbox/sandbox.h"'),
    ("found", "cli", '#include "sandbox/parser.h"'),
    ("found", "kernel", '#include "cli/command.h"'),
]
FLAT_TABLE = """
base     :
protocol : /base
sandbox  : /base
kernel   : /base protocol sandbox/sandbox.h
cli      : /base protocol sandbox/sandbox.h kernel
"""
FLAT = {
    "base/error.h": "",
    "sandbox/sandbox.h": "",
    "sandbox/parser.h": "",
    "sandbox/parser_table.h": "",
    "sandbox/parser.c": '#include "parser_table.h"\n',
    "sandbox/parser_table.c": '#include "parser_table.h"\n',
    "protocol/message.h": "",
    "kernel/loop.h": "",
    "kernel/log.h": "",
    "kernel/loop.c": '#include "log.h"\n',
    "cli/command.h": "",
    **{f"{folder}/README.md": "" for folder in ("base", "protocol", "sandbox", "kernel", "cli")},
}

ROOMS_TABLE = """
base        :
protocol    :
sandbox/low : sandbox/sandbox.h
sandbox     : sandbox/sandbox.h low
kernel/base : /base protocol
kernel/low  : protocol
kernel/side : /base protocol
kernel/high : sandbox/sandbox.h low
kernel      : protocol sandbox/sandbox.h base low side high
cli         : sandbox/sandbox.h kernel/*
"""
BUILT = {
    "base/error.h": "",
    "protocol/message.h": "",
    "sandbox/sandbox.h": "",
    "sandbox/session.c": '#include "sandbox/low/pipe.h"\n',
    "sandbox/low/pipe.h": '#include "sandbox/sandbox.h"\n',
    "kernel/start.c": '#include "kernel/high/run.h"\n#include "kernel/side/records.h"\n',
    "kernel/base/clock.h": '#include "base/error.h"\n',
    "kernel/low/log.h": '#include "protocol/message.h"\n',
    "kernel/side/records.h": "",
    "kernel/high/run.h": '#include "kernel/low/log.h"\n#include "sandbox/sandbox.h"\n',
    "cli/main.c": '#include "kernel/high/run.h"\n',
    **{f"{folder}/README.md": "" for folder in ("base", "protocol", "kernel/base")},
    **{f"{room}/README.md": "# a\n\n" + "b\n" * 14 for room in ("sandbox/low", "kernel/low", "kernel/side")},
    **{f"{room}/README.md": "" for room in ("sandbox", "kernel/high", "kernel", "cli")},
}
TREE_CASES = [
    # what BUILT has besides (None: what it lacks), a part of what is found ("" where nothing is)
    ({}, ""),
    ({"kernel/high/a.c": '#include "run.h"\n'}, ""),
    ({"kernel/high/a.c": '#include "log.h"\n'}, "or one of the same folder"),
    ({"kernel/high/a.c": '#include "high/run.h"\n'}, "from the checkout's root"),
    ({"kernel/low/a.c": '#include "kernel/high/run.h"\n'}, "kernel/low/ may not include of kernel/high/"),
    ({"kernel/low/a.c": '#include "sandbox/sandbox.h"\n'}, "kernel/low/ may not include of sandbox/"),
    ({"kernel/high/a.c": '#include "kernel/side/records.h"\n'}, "kernel/high/ may not include of kernel/side/"),
    ({"kernel/high/a.c": '#include "sandbox/low/pipe.h"\n'}, "kernel/high/ may not include of sandbox/low/"),
    ({"kernel/side/a.c": '#include "base/error.h"\n'}, ""),
    ({"kernel/side/a.c": '#include "kernel/base/clock.h"\n'}, "kernel/side/ may not include of kernel/base/"),
    ({"kernel/a.c": '#include "kernel/base/clock.h"\n'}, ""),
    ({"kernel/a.c": '#include "base/error.h"\n'}, "kernel/ may not include of base/"),
    ({"base/a.c": '#include "kernel/base/clock.h"\n'}, "base/ may not include of kernel/base/"),
    ({"sandbox/low/a.c": '#include "sandbox/private.h"\n', "sandbox/private.h": ""}, "may not include of sandbox/"),
    ({"kernel/new/a.c": "", "kernel/new/README.md": ""}, "kernel/new: it has sources and is not in the table"),
    ({"kernel/low/deep/a.c": "", "kernel/low/deep/README.md": ""}, "kernel/low/deep: it has sources"),
    ({"kernel/side/records.h": None, "kernel/start.c": ""}, "kernel/side: it is in the table of rooms and has no"),
    ({"kernel/low/README.md": None}, "kernel/low: it has no README.md"),
    ({"kernel/low/README.md": "a\n\n" * 15}, "README.md: 15 lines of text"),
    ({"cli/main.c": None, "cli/README.md": None}, "cli: it is in the table of rooms and has no source"),
    (
        {"fuzz/a.c": '#include "kernel/low/log.h"\n', "kernel/low/log.c": '#include "b.h"\n', "kernel/low/b.h": ""},
        "kernel/low/log.c: b.h    <- fuzz/ takes it for a parser",
    ),
    (
        {
            "fuzz/a.c": '#include "kernel/low/log.h"\n',
            "kernel/low/log.c": '#include "kernel/low/b.h"\n',
            "kernel/low/b.h": "",
        },
        "kernel/low/log.c: kernel/low/b.h    <- fuzz/ takes it for a parser",
    ),
    (
        {
            "fuzz/a.c": '#include "kernel/low/log.h"\n#include "kernel/low/b.h"\n',
            "kernel/low/log.c": '#include "kernel/low/b.h"\n#include "protocol/message.h"\n',
            "kernel/low/b.h": "",
        },
        "",
    ),
    ({"fuzz/a.c": '#include "kernel/low/log.h"\n', "kernel/low/log.c": '#include "log.h"\n'}, ""),
]

CIRCLE = {
    "kernel/low/a.h": "",
    "kernel/low/a.c": '#include "a.h"\n#include "b.h"\n',
    "kernel/low/b.h": '#include "a.h"\n',
}
# a_part.h is a part of a while nothing else includes it.
PART = {
    "kernel/low/a.h": "",
    "kernel/low/a.c": '#include "a_part.h"\n',
    "kernel/low/a_part.h": '#include "a.h"\n',
}
CIRCLE_CASES = [
    # what BUILT has besides, the circles that are named, a part of what is found ("" where nothing is)
    (CIRCLE, "", "a circle of modules: kernel/low/a kernel/low/b"),
    (CIRCLE, "kernel/low : a b : they do", ""),
    (CIRCLE, "kernel/low : a b c : they do", "a circle of modules: kernel/low/a kernel/low/b"),
    ({}, "kernel/low : a b : they did", "there is no such circle: kernel/low/a kernel/low/b"),
    (PART, "", ""),
    ({**PART, "kernel/low/c.c": '#include "a_part.h"\n'}, "", "a circle of modules: kernel/low/a kernel/low/a_part"),
]

LOW, HIGH, MAIN = "kernel/low/low.c", "kernel/high/high.c", "kernel/main.c"
SYMBOL_CASES = [
    # what is built, a part of what is found ("" where nothing is)
    ({LOW: "int low(void) {return 0;}", HIGH: "int low(void); int high(void) {return low();}"}, ""),
    ({LOW: "int high(void); int low(void) {return high();}", HIGH: "int high(void) {return 0;}"}, "uses high of"),
    # a word of libc's is libc's, wherever it is defined
    ({LOW: "int recv(void); int low(void) {return recv();}", HIGH: "int recv(void) {return 0;}"}, ""),
    ({"sandbox/low/a.c": "int a(void) {return 0;}", HIGH: "int a(void); int b(void) {return a();}"}, ""),
    ({"sandbox/low/a.c": "int b(void); int a(void) {return b();}", LOW: "int b(void) {return 0;}"}, "uses b of"),
    (
        {"protocol/a.c": "int a(void) {return 0;}", "sandbox/low/b.c": "int a(void); int b(void) {return a();}"},
        "uses a of protocol/a.c",
    ),
    (
        {MAIN: "int b(void); int a(void) {return b();}", "kernel/b.c": "int a(void); int b(void) {return a();}"},
        "a circle of symbols: kernel/b.c kernel/main.c",
    ),
    ({MAIN: "int a(void) {return 0;}", "kernel/new.c": ""}, "kernel/new.c: it isn't built"),
    ({MAIN: "int a(void) {return 0;}", "kernel/new/b.c": "int b(void) {return 0;}"}, "not in the table of rooms"),
]


class Mismatch(Exception):
    """A case of the self-test went another way than it should."""


def expect(what, expected, function, *arguments):
    """Whether a check finds just what it should: a part of its words, True for anything, "" for nothing."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        failed = function(*arguments)
    if failed != bool(expected) or (isinstance(expected, str) and expected not in printed.getvalue()):
        raise Mismatch(f"expected {expected or 'nothing'!r} of {what}, got:\n{printed.getvalue()}")


@contextlib.contextmanager
def new_tree(files):
    """A folder with these files, for as long as it takes; a text of None: without this one."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            if text is not None:
                path = pathlib.Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
        yield pathlib.Path(folder)


def compile_sources(root, build, files):
    """Objects where CMake puts them; there is none of an empty source."""
    for name, text in files.items():
        folder, _, inside = name.partition("/")
        if text and name.endswith(".c"):
            target = build / folder / "CMakeFiles" / f"petri_{folder}.dir" / f"{inside}.o"
            target.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run([COMPILER, "-fno-builtin", "-c", root / name, "-o", target], check=True)


def self_test(check, check_symbols):
    try:
        run_cases(check, check_symbols)
    except Mismatch as mismatch:
        print(f"layers: {mismatch}")
        return 1
    print(f"layers: self-test passed, {sum(map(len, (CASES, TREE_CASES, CIRCLE_CASES, SYMBOL_CASES)))} cases")
    return 0


def run_cases(check, check_symbols):
    for result, folder, line in CASES:
        file = f"{folder}/file.{'py' if folder in ('worker', 'client') else 'c'}"
        with new_tree({**FLAT, file: line + "\n"}) as root:
            expect(f"{line!r} in {folder}/", result == "found", check, root, FLAT_TABLE, "")
    for files, expected in TREE_CASES:
        with new_tree({**BUILT, **files}) as root:
            expect(files, expected, check, root, ROOMS_TABLE, "")
    for files, named, expected in CIRCLE_CASES:
        with new_tree({**BUILT, **files}) as root:
            expect(files, expected, check, root, ROOMS_TABLE, named)
    for files, expected in SYMBOL_CASES:
        with new_tree(files) as root:
            compile_sources(root, root / "build", files)
            expect(files, expected, check_symbols, root / "build", root, ROOMS_TABLE)
