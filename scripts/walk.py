"""Prints the source files that one request enters.

usage: walk.py execute|complete|rollback [--build BUILD_DIR] [--functions]

Needs a build with coverage counters (cmake --preset coverage) and a Python with jupyter_client: build/venv has it.
Counters lie in a file that is mapped (coverage.sh), so that it can be read while the kernel runs: a copy before the
request and one after it differ in what the request has entered. Two things are named apart: what the kernel enters
while nobody asks for anything, in as long a time; and what it does for a request after its idle, as making the next
cell ready. How much of that is done at the moment of the copy is chance, so the request is asked several times, each
once the kernel rests, and its way is what it has entered each time.
"""

import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import KernelManager

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("base", "cli", "kernel", "protocol", "sandbox")
STUCK_S = 120
TIMES = 5
REST_S = 1
REST_TRIES = 20

EXECUTE = {"silent": False, "store_history": True, "user_expressions": {}, "allow_stdin": False, "stop_on_error": True}
REQUESTS = {
    # what is asked for: type, content, metadata
    "execute": ("execute_request", {**EXECUTE, "code": "print(sum(range(10)))"}, {}),
    "complete": ("complete_request", {"code": "pri", "cursor_pos": 3}, {}),
    "rollback": (
        "execute_request",
        {**EXECUTE, "code": "while True: pass"},
        {"petri": {"limits": {"timeout": "300ms"}}},
    ),
}
# What a kernel does once in its life isn't part of a request's way.
WARM_UP = ("execute", "complete")


class Counters:
    """The counters of a kernel that runs, function by function."""

    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        self.pattern = folder / "%c%p.profraw"

    def copy(self):
        """As they are now. Reading what is in it can wait."""
        target = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        for path in self.folder.glob("*.profraw"):
            (target / path.name).write_bytes(path.read_bytes())
        return target

    def read(self, copy):
        """File and function -> how often each of its parts has run."""
        merged = copy / "merged"
        self.llvm("profdata", "merge", "-sparse", *copy.glob("*.profraw"), "-o", merged)
        exported = json.loads(self.llvm("cov", "export", "-skip-expansions", self.program, f"-instr-profile={merged}"))
        counts = collections.defaultdict(collections.Counter)
        for function in exported["data"][0]["functions"]:
            path = os.path.relpath(function["filenames"][0], ROOT)
            if path.split("/")[0] in FOLDERS:
                name = function["name"].rpartition(":")[2]  # of a static function, after its file
                for line, column, _, _, count, *_ in function["regions"]:
                    counts[path, name][line, column] += count
        return counts

    def risen(self, before, after):
        """The functions that have run in between, or gone on."""
        old, new = self.read(before), self.read(after)
        return {key for key in new if any(count > old[key][part] for part, count in new[key].items())}

    @staticmethod
    def llvm(tool, *arguments):
        program = subprocess.run(
            ["clang", f"-print-prog-name=llvm-{tool}"], check=True, capture_output=True, text=True
        ).stdout.strip()
        return subprocess.run([program, *map(str, arguments)], check=True, capture_output=True, text=True).stdout


class Kernel:
    """A kernel that counts, and a client that asks it one thing at a time."""

    def __init__(self, program, folder, counters):
        # Its own data, and the counters of installing where nobody looks for them.
        environment = {**os.environ, "XDG_DATA_HOME": str(folder / "data")}
        subprocess.run(
            [program, "install", "--prefix", folder / "prefix", "--python", sys.executable],
            check=True,
            stdout=subprocess.DEVNULL,
            env={**environment, "LLVM_PROFILE_FILE": os.devnull},
        )
        specs = KernelSpecManager(
            kernel_dirs=[str(folder / "prefix" / "share" / "jupyter" / "kernels")], ensure_native_kernel=False
        )
        (folder / "notebook").mkdir()
        self.manager = KernelManager(kernel_name="petri", kernel_spec_manager=specs)
        self.manager.start_kernel(
            cwd=str(folder / "notebook"), env={**environment, "LLVM_PROFILE_FILE": str(counters.pattern)}
        )
        self.client = self.manager.blocking_client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=STUCK_S)
        self.client.hb_channel.pause()  # or its questions would be taken for the kernel's own doing

    def ask(self, what):
        """Sends a request and waits for its reply and its idle. Returns the reply's status and the seconds it took."""
        began = time.monotonic()
        msg_type, content, metadata = REQUESTS[what]
        request = self.client.session.msg(msg_type, content, metadata=metadata)
        self.client.shell_channel.send(request)
        reply = self.await_message(self.client.get_shell_msg, request, lambda _: True)
        self.await_message(
            self.client.get_iopub_msg, request, lambda message: message["content"].get("execution_state") == "idle"
        )
        return reply["content"].get("ename", reply["content"]["status"]), time.monotonic() - began

    @staticmethod
    def await_message(get, request, wanted):
        while True:
            message = get(timeout=STUCK_S)
            if message["parent_header"].get("msg_id") == request["header"]["msg_id"] and wanted(message):
                return message

    def close(self):
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)
        self.manager.cleanup_resources()


def entered_while_idle(counters, seconds):
    """The functions that a kernel enters in that time while nobody asks for anything."""
    before = counters.copy()
    time.sleep(seconds)
    return counters.risen(before, counters.copy())


def await_rest(counters):
    """Waits until what an answer has left to be done is done: two intervals that enter the same."""
    last = None
    for _ in range(REST_TRIES):
        entered = entered_while_idle(counters, REST_S)
        if entered == last:
            return
        last = entered
    sys.exit("walk.py: the kernel doesn't come to rest")


class Walk:
    """What the kernel enters for one kind of request: functions by their file and name."""

    def __init__(self, program, what, folder):
        (folder / "counters").mkdir()
        self.counters = Counters(program, folder / "counters")
        self.kernel = Kernel(program, folder, self.counters)
        try:
            for request in (*WARM_UP, what):
                self.status, self.seconds = self.kernel.ask(request)
            await_rest(self.counters)
            self.alone = entered_while_idle(self.counters, self.seconds)
            rounds = [self.ask(what) for _ in range(TIMES)]
        finally:
            self.kernel.close()
        self.way = set.intersection(*(until_idle for until_idle, _ in rounds)) - self.alone
        self.later = set.union(*(until_rest for _, until_rest in rounds)) - self.way - self.alone

    def ask(self, what):
        """What one request has entered at its idle, and when the kernel rests again."""
        before = self.counters.copy()
        self.kernel.ask(what)
        at_idle = self.counters.copy()
        await_rest(self.counters)
        return self.counters.risen(before, at_idle), self.counters.risen(before, self.counters.copy())


def print_files(title, functions, with_functions):
    files = collections.defaultdict(list)
    for file, name in sorted(functions):
        files[file].append(name)
    print(f"{title}: {len(files)} files, {len(functions)} functions")
    folders = collections.Counter(os.path.dirname(file) for file in files)
    for folder, count in sorted(folders.items()):
        print(f"  {folder}/: {count} files")
        for file in (file for file in sorted(files) if os.path.dirname(file) == folder):
            print(f"    {os.path.basename(file)}: {' '.join(files[file]) if with_functions else len(files[file])}")
    print()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("request", choices=REQUESTS)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "coverage")
    parser.add_argument("--functions", action="store_true", help="name them too")
    options = parser.parse_args()
    program = options.build.resolve() / "petri"
    if not program.is_file():
        sys.exit(f"walk.py: no {program}: cmake --preset coverage, and build it")
    with tempfile.TemporaryDirectory() as folder:
        walk = Walk(program, options.request, pathlib.Path(folder))
    print(f"{options.request}: answered {walk.status} after {walk.seconds * 1000:.0f} ms\n")
    print_files("the loop alone enters", walk.alone, options.functions)
    print_files("the request enters besides, before its idle", walk.way, options.functions)
    print_files("what is left to do, about its idle or after it", walk.later, options.functions)
    files = {file for file, _ in walk.alone | walk.way | walk.later}
    folders = collections.Counter(os.path.dirname(file) for file in files)
    print(f"all: {len(files)} files, {', '.join(f'{count} of {folder}/' for folder, count in sorted(folders.items()))}")


if __name__ == "__main__":
    main()
