"""The kernel's side of docs/worker-wire.md, played for a worker that is started exactly as the kernel does it."""

import dataclasses
import json
import os
import pathlib
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import sysconfig

ROOT = pathlib.Path(__file__).resolve().parents[2]
MAIN = ROOT / "worker" / "petri_worker" / "__main__.py"

# Not a measure of anything: how long to wait before a worker counts as stuck.
STUCK_S = 120

CONTROL_FD = 3

# As the kernel does: a SIGINT is followed by a signal that wakes the worker (docs/worker-wire.md).
NUDGE = signal.SIGRTMAX - 2
NUDGE_S = 0.1


@dataclasses.dataclass
class Event:
    """Something a request has brought, in the order in which the kernel would send it on."""

    kind: str  # stdout, stderr, or a publish's msg_type
    content: object  # text, or the publish's content
    frame: dict = None
    buffers: tuple = ()


@dataclasses.dataclass
class Answer:
    """All that a request has brought."""

    reply: dict
    events: list

    def of(self, kind):
        return [event.content for event in self.events if event.kind == kind]

    def frames(self, msg_type):
        return [event for event in self.events if event.kind == msg_type]

    @property
    def stdout(self):
        return "".join(self.of("stdout"))

    @property
    def stderr(self):
        return "".join(self.of("stderr"))

    @property
    def result(self):
        """text/plain of the only execute_result."""
        (content,) = self.of("execute_result")
        return content["data"]["text/plain"]

    @property
    def order(self):
        """(kind, text) with neighbours of the same stream joined."""
        joined = []
        for event in self.events:
            text = event.content if isinstance(event.content, str) else event.content.get("data", {}).get("text/plain")
            if joined and joined[-1][0] == event.kind and event.kind in ("stdout", "stderr"):
                joined[-1] = (event.kind, joined[-1][1] + text)
            else:
                joined.append((event.kind, text))
        return joined


class Wire:
    """One end of a control socket."""

    def __init__(self, sock):
        self.socket = sock

    def send(self, message, buffers=()):
        text = json.dumps(message).encode()
        sizes = [len(buffer) for buffer in buffers]
        head = struct.pack(f"<{2 + len(sizes)}I", len(text), len(sizes), *sizes)
        self.socket.sendall(b"".join([head, text, *buffers]))

    def receive(self):
        json_bytes, n_buffers = struct.unpack("<II", self._exactly(8))
        sizes = struct.unpack(f"<{n_buffers}I", self._exactly(4 * n_buffers))
        text = self._exactly(json_bytes).decode("utf-8")
        return json.loads(text, parse_constant=_refuse_constant), tuple(self._exactly(size) for size in sizes)

    def _exactly(self, size):
        data = bytearray()
        while len(data) < size:
            part = self.socket.recv(min(size - len(data), 1 << 20))
            if not part:
                raise EOFError("the worker has closed its socket")
            data += part
        return bytes(data)


def _refuse_constant(name):
    raise ValueError(f"{name} is not JSON")


class Worker:
    """A started worker, and the kernel's ends of its descriptors."""

    def __init__(self, python, env=()):
        self._reserve_low_fds()
        ours, theirs = self.socketpair()
        self.wire = Wire(ours)
        self.stdout_fd, stdout = os.pipe()
        self.stderr_fd, stderr = os.pipe()
        self.process = subprocess.Popen(
            [python, str(MAIN)],
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            env={**environment(), **dict(env)},
            preexec_fn=lambda: (os.setpgid(0, 0), os.dup2(theirs.fileno(), CONTROL_FD)),
            pass_fds=(CONTROL_FD, *(int(v) for k, v in dict(env).items() if k == "PETRI_TRACE_FD")),
        )
        theirs.close()
        for fd in (stdout, stderr):
            os.close(fd)
        for fd in (self.stdout_fd, self.stderr_fd):
            os.set_blocking(fd, False)
        self.cell = 0
        self.count = 0
        self.interrupted = False
        self.hello = self.greeting("hello")
        self.greeting("ready")

    @staticmethod
    def _reserve_low_fds():
        # The child puts its socket on descriptor 3; nothing that Popen needs may be there.
        fds = [os.open(os.devnull, os.O_RDONLY)]
        while fds[-1] <= CONTROL_FD:
            fds.append(os.open(os.devnull, os.O_RDONLY))
        for fd in fds:
            if fd != CONTROL_FD:
                os.close(fd)

    @staticmethod
    def socketpair():
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        ours.settimeout(STUCK_S)
        return ours, theirs

    @property
    def pid(self):
        return self.process.pid

    def greeting(self, kind):
        try:
            message, _ = self.wire.receive()
        except EOFError:
            raise AssertionError(self._read(self.stderr_fd)) from None
        assert message["type"] == kind
        return message

    def interrupt(self):
        os.kill(self.pid, signal.SIGINT)
        self.interrupted = True

    def second_signal(self):
        os.kill(self.pid, NUDGE)

    def execute(self, code, on=None, answers=(), wire=None, **options):
        """
        Runs code. on: {text: callable}, called once when stdout has had the
        text. answers: what input() gets, in turn; a callable is called instead.
        """
        self.cell += 1
        self.count += options.get("store_history", True) and not options.get("silent")
        request = {
            "type": "execute",
            "cell": self.cell,
            "code": code,
            "silent": False,
            "store_history": True,
            "user_expressions": {},
            "allow_stdin": bool(answers),
            "execution_count": self.count,
            **options,
        }
        return self.request(request, on=on, answers=answers)

    def request(self, request, buffers=(), on=None, answers=()):
        """Sends a request and plays the kernel until its `done`."""
        self.interrupted = False
        self.wire.send(request, buffers)
        return self.play(on, answers)

    def play(self, on=None, answers=()):
        events, on, answers = [], dict(on or {}), list(answers)
        while True:
            ready = self._ready()
            if self.wire.socket not in ready:
                self._drain(events)
                self._call(events, on)
                continue
            frame, buffers = self.wire.receive()
            self._drain(events)
            self._call(events, on)
            if frame["type"] == "done":
                return Answer(frame["reply"], events)
            self._serve(frame, buffers, events, answers)

    def _ready(self):
        fds = [self.wire.socket, self.stdout_fd, self.stderr_fd]
        ready, waited = [], 0
        while not ready and waited < STUCK_S:
            ready, _, _ = select.select(fds, [], [], NUDGE_S)
            waited += NUDGE_S
            if not ready and self.interrupted:
                os.kill(self.pid, NUDGE)
        assert ready, "the worker is stuck"
        return ready

    def _serve(self, frame, buffers, events, answers):
        if frame["type"] == "publish":
            events.append(Event(frame["msg_type"], frame["content"], frame, buffers))
            self.wire.send({"type": "ack", "seq": frame["seq"]})
        elif frame["type"] == "sync":
            self.wire.send({"type": "ack", "seq": frame["seq"]})
        elif frame["type"] == "variable":
            events.append(Event("variable", frame))
        else:
            assert frame["type"] == "input", frame
            events.append(Event("input", frame))
            answer = answers.pop(0)
            if callable(answer):
                answer(frame)
            else:
                self.wire.send({"type": "input_reply", "seq": frame["seq"], "value": answer})

    def _drain(self, events):
        for kind, fd in (("stdout", self.stdout_fd), ("stderr", self.stderr_fd)):
            text = self._read(fd)
            if text:
                events.append(Event(kind, text))

    def _read(self, fd):
        parts = []
        try:
            while part := os.read(fd, 1 << 20):
                parts.append(part)
        except BlockingIOError:
            pass
        return b"".join(parts).decode("utf-8")

    def _call(self, events, on):
        text = "".join(event.content for event in events if event.kind == "stdout")
        for needle in [needle for needle in on if needle in text]:
            on.pop(needle)()

    def threads(self):
        """Names of the worker's operating system threads."""
        folder = pathlib.Path(f"/proc/{self.pid}/task")
        return [(task / "comm").read_text().strip() for task in folder.iterdir()]

    def close(self):
        """Ends the worker as the kernel does: by closing its socket. Returns its exit status."""
        self.wire.socket.close()
        status = self.process.wait(STUCK_S)
        os.close(self.stdout_fd)
        os.close(self.stderr_fd)
        return status

    def kill(self):
        """Ends the worker whatever it is doing."""
        if self.process.poll() is None:
            os.killpg(self.pid, signal.SIGKILL)
        if self.wire.socket.fileno() >= 0:
            self.close()


def environment():
    """As the kernel makes it: an allowlist, and the folder with petri's copy of IPython."""
    kept = {name: os.environ[name] for name in ("HOME", "PATH", "TMPDIR") if name in os.environ}
    return {**kept, "PETRI_SITE": sysconfig.get_path("purelib"), "LANG": "C.UTF-8"}


def interpreters():
    """{label: path}: the environment of these tests, the system's python3, the first on the path, each once."""
    here = os.path.dirname(sys.executable)
    path = os.pathsep.join(folder for folder in os.get_exec_path() if folder != here)
    found, seen = {}, set()
    names = {"venv": sys.executable, "system": "/usr/bin/python3", "path": shutil.which("python3", path=path)}
    for label, name in names.items():
        if name and os.path.exists(name):
            code = "import sys; print(sys.executable)"
            real = subprocess.run([name, "-c", code], check=True, capture_output=True, text=True).stdout.strip()
            if real not in seen:
                seen.add(real)
                found[label] = real
    return found
