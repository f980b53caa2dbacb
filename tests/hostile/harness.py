"""One session that hostile cells are sent to, and what has to be so after each of them."""

import dataclasses
import os
import pathlib
import select
import socket
import stat
import time

import zmq

from kernels import Cell, Kernel, is_idle
from processes import family, is_zombie, place_of

# How many times slower than usual this machine is: where it is emulated, cells get that much more time.
SLOW = float(os.environ.get("PETRI_SLOW", 1))

# How much later than limit and grace an answer may be on a busy machine before it counts as missing.
LATE_S = float(os.environ.get("PETRI_LATE_S", 30 * SLOW))

# Whether we run under a filter ourselves, as in a container: what that refuses, it answers, and petri is told of none.
FILTERED = "\nSeccomp:\t0\n" not in pathlib.Path("/proc/self/status").read_text()

# What is kept of a flood; the rest is counted.
KEEP_BYTES = 1 << 20

# Where petri copies the files that cells make, beside the notebook.
OUTPUTS = "outputs"

# A socket of the host's without a file.
ABSTRACT = f"petri-hostile-canary-{os.getpid()}"

# For most cells: what they need, and no more.
LIMITS = {"timeout": "3s", "memory": "400M", "processes": 64}
GRACE_S = 2

# How many equal counts in a row are rest: a few can fall into the time in which the next sandbox is about to be made.
AT_REST = 10
STILL_AT_REST = 3

# For what ends by itself, however busy the machine is.
PATIENCE = {"timeout": "60s"}

# State that an earlier cell has left, of each kind that must outlive whatever comes.
PLANT = """
import os as _os, queue as _queue, threading as _threading
_home = _os.getcwd()
canary = ["as it was"]
def _count():
    n = 0
    while True:
        yield n
        n += 1
counter = _count()
_asked, _answered = _queue.Queue(), _queue.Queue()
def _double():
    while True:
        _answered.put(_asked.get() * 2)
_threading.Thread(target=_double, daemon=True).start()
with open("/tmp/numbers", "w") as _file:
    _file.writelines(f"{n:06d}\\n" for n in range(100_000))
numbers = open("/tmp/numbers")
with open("note.txt", "w") as _file:
    _file.write("kept")
def _list():
    for folder in map(_os.fsencode, (_home, "/tmp", _os.path.expanduser("~"), "/dev/shm")):
        for name in _os.listdir(folder):
            yield _os.path.join(folder, name)
_there = set(_list())
"""

LOOK = """
print(canary, next(counter), _asked.put({n}) or _answered.get(timeout=20), numbers.read(7).strip(),
      open("/tmp/numbers").read(6), open(_home + "/note.txt").read(), _os.getcwd() == _home)
"""


def seen_at(n):
    """What the n-th look prints, from 0."""
    return f"['as it was'] {n} {2 * n} {n:06d} 000000 kept True\n"


# Between cases: whatever the last one has left in files goes, and what was there before stays. rm goes as deep as any.
# A file that is open is closed before it is deleted: without a name its contents would be the image's.
SWEEP = """
import io as _io, subprocess as _subprocess
for _n, _value in list(globals().items()):
    if isinstance(_value, _io.IOBase) and _n not in ("numbers", "_file"):
        _value.close()
_os.chdir(_home)
_os.umask(0o22)
_more = sorted(set(_list()) - _there)
for _path in _more:
    if not _os.path.islink(_path) and _os.path.isdir(_path):
        _os.chmod(_path, 0o700)
for _n in range(0, len(_more), 1000):
    _subprocess.run([b"rm", b"-rf", b"--", *_more[_n : _n + 1000]], check=True)
"""


@dataclasses.dataclass
class Run:
    """What came of one cell."""

    cell: Cell
    report: dict
    took_s: float
    stream_bytes: int = 0

    @property
    def outcome(self):
        return self.report.get("outcome")

    @property
    def denied(self):
        return {row["syscall"] for row in self.report.get("denied", [])}

    def __str__(self):
        return f"{self.outcome} {self.report.get('exit')} {self.report.get('denied')}\n{self.cell}"


class Collector:
    """The messages of a request; of floods the beginning."""

    def __init__(self):
        self.messages = []
        self.kept = self.stream_bytes = 0

    def add(self, message):
        size = len(str(message["content"])) if message["msg_type"] != "status" else 0
        if message["msg_type"] == "stream":
            self.stream_bytes += len(message["content"]["text"])
        if self.kept + size <= KEEP_BYTES or message["msg_type"] in ("status", "error"):
            self.kept += size
            self.messages.append(message)


# So few that they are all kept once the state is planted: from then on one process goes for each that comes.
FEW_STATES = "%limits history=4"


class Session(Kernel):
    """A kernel with a canary in it."""

    def __init__(self, kernel_dir, folder, **options):
        super().__init__(kernel_dir, folder, **options)
        self.looks = 0

    def attempt(self, code, limits=LIMITS, late_s=LATE_S, **content):
        """Runs a cell within limits; returns its Run. TimeoutError where the answer is long overdue."""
        started = time.monotonic()
        request = self.request(code, limits, **content)
        return self.gather(request, started + seconds(limits["timeout"]) * SLOW + GRACE_S + late_s, started)

    def request(self, code, limits=LIMITS, petri=None, **content):
        """Sends a cell, with what else metadata.petri is to have; returns the request's id."""
        content = {
            "code": code,
            "silent": False,
            "store_history": True,
            "user_expressions": {},
            "allow_stdin": False,
            "stop_on_error": True,
            **content,
        }
        limits = {**limits, "timeout": f"{int(seconds(limits['timeout']) * SLOW * 1000)}ms"}
        message = self.client.session.msg("execute_request", content, metadata={"petri": {**(petri or {}), "limits": limits}})
        self.client.shell_channel.send(message)
        return message["header"]["msg_id"]

    def gather(self, request, deadline, started):
        """All that comes of a request until deadline."""
        collector = Collector()
        collected = None
        while not collected or not is_idle(collected):
            collected = self.next_iopub(request, deadline)
            collector.add(collected)
        reply = self.reply_by(request, deadline)
        run = Run(Cell(reply["content"], collector.messages), reply["metadata"].get("petri", {}), 0)
        run.took_s = time.monotonic() - started
        run.stream_bytes = collector.stream_bytes
        return run

    def next_iopub(self, request, deadline):
        while True:
            message = self.client.get_iopub_msg(timeout=until(deadline))
            if message["parent_header"].get("msg_id") == request:
                return message

    def reply_by(self, request, deadline):
        while request not in self.replies:
            message = self.client.get_shell_msg(timeout=until(deadline))
            self.replies[message["parent_header"].get("msg_id")] = message
        return self.replies.pop(request)

    def plant(self):
        """Makes the state that has to stay, and notes how many processes there are at rest."""
        self.looks = 0
        for code in (FEW_STATES, PLANT, SWEEP, "pass"):
            self.do(code)
        self.look()
        self.at_rest = self.steady()

    def do(self, code, limits=None):
        """Runs a cell that has to go well; returns its Run."""
        run = self.attempt(code, limits or {"timeout": "60s"})
        assert run.cell.ok, f"{code}: {run}"
        return run

    def look(self):
        """A cell that uses all of the state."""
        run = self.do(LOOK.format(n=self.looks), {"timeout": "30s"})
        assert run.cell.stdout == seen_at(self.looks), "the state of earlier cells"
        self.looks += 1

    def sweep(self):
        """A cell that removes the files that a case has left."""
        self.do(SWEEP)

    def answers(self):
        """kernel_info on both channels, and the heartbeat."""
        self.replies.pop(None, None)
        request = self.client.kernel_info()
        reply = self.reply_by(request, time.monotonic() + LATE_S)
        assert reply["content"]["status"] == "ok"
        assert self.control("kernel_info_request")["status"] == "ok"
        assert self.heartbeat() == b"\x00ping\xff"

    def heartbeat(self):
        info = self.manager.get_connection_info()
        with zmq.Context() as context, context.socket(zmq.REQ) as socket:
            socket.linger = 0
            socket.connect(f"tcp://{info['ip']}:{info['hb_port']}")
            socket.send(b"\x00ping\xff")
            assert socket.poll(LATE_S * 1000), "no heartbeat"
            return socket.recv()

    def living(self):
        """How many of the kernel's processes live, but for one in each group of fresh runs: that is kept for the next."""
        count, places = 0, set()
        for member in family(self.pid):
            try:
                count += not is_zombie(member)
                places.add(place_of(member))
            except OSError:
                continue  # it has just ended
        return count - len(places - {None})

    def steady(self, times=AT_REST):
        """The number of processes once it is the same so many times in a row."""
        deadline, seen = time.monotonic() + LATE_S, []
        while len(seen) < times or len(set(seen[-times:])) > 1:
            assert time.monotonic() < deadline, f"never at rest: {seen}"
            self.control("kernel_info_request")
            seen.append(self.living())
        return seen[-1]

    def await_rest(self):
        """Waits until there are no more processes than at rest."""
        deadline = time.monotonic() + LATE_S
        while (living := self.steady(STILL_AT_REST)) > self.at_rest:
            assert time.monotonic() < deadline, f"{living} processes, at rest {self.at_rest}: one of the cell's is left"

    def is_alive(self):
        return self.manager.is_alive()


def seconds(text):
    """A duration as limits are written."""
    for suffix, factor in (("ms", 0.001), ("s", 1), ("m", 60)):
        if text.endswith(suffix):
            return float(text.removesuffix(suffix)) * factor
    raise ValueError(text)


def until(deadline):
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError("no answer within limit, grace and what a busy machine may need")
    return left


def portrait(path):
    """What must stay of a file: kind, mode, owner, content."""
    status = os.lstat(path)
    content = path.read_bytes() if stat.S_ISREG(status.st_mode) else sorted(os.listdir(path))
    return status.st_ino, status.st_mode, status.st_uid, status.st_mtime_ns, content


class HostCanaries:
    """Files and sockets of the host's, each where a cell would like to write."""

    def __init__(self, folder, *more):
        self.folder = pathlib.Path(folder)
        self.files = [self.folder / "host.txt"]
        self.files += [pathlib.Path(where) / f"petri-canary-{os.getpid()}" for where in more if os.access(where, os.W_OK)]
        for path in self.files:
            path.write_text("the host's")
            path.chmod(0o644)
        self.sockets = [self._listen("\0" + ABSTRACT), self._listen(str(self.folder / "host.sock"))]
        os.mkfifo(self.folder / "host.fifo")
        self.fifo = os.open(self.folder / "host.fifo", os.O_RDWR | os.O_NONBLOCK)
        for name in ("host.sock", "host.fifo"):
            (self.folder / name).chmod(0o666)
        self.before = self._look()

    @staticmethod
    def _listen(address):
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(address)
        listener.listen()
        listener.setblocking(False)
        return listener

    def _look(self):
        status = os.lstat(self.folder)
        names = sorted(set(os.listdir(self.folder)) - {OUTPUTS})
        folder = status.st_ino, status.st_mode, status.st_uid, names
        return {str(self.folder): folder, **{str(path): portrait(path) for path in self.files}}

    def _copies(self):
        """What petri has copied out of cells, and the folders it is in."""
        for above, folders, files in os.walk(self.folder / OUTPUTS):
            yield from (os.lstat(os.path.join(above, name)) for name in [*folders, *files])

    def check(self):
        """Nothing has been written but copies of what cells have made, nobody has called."""
        assert self._look() == self.before, "a file of the host's"
        for status in self._copies():
            assert stat.S_ISDIR(status.st_mode) or (stat.S_ISREG(status.st_mode) and status.st_nlink == 1), "a copy"
        heard = select.select([*self.sockets, self.fifo], [], [], 0)[0]
        assert not heard, "a socket or pipe of the host's"

    def remove(self):
        os.close(self.fifo)
        for listener in self.sockets:
            listener.close()
        for path in self.files:
            path.unlink()
