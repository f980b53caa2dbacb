"""A kernel to be measured: started through jupyter_client, asked through its blocking client."""

import contextlib
import ctypes
import itertools
import os
import pathlib
import queue
import random
import socket
import subprocess
import tempfile
import threading
import time
import uuid

from jupyter_client import launcher
from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel
from jupyter_client.manager import KernelManager

STUCK_S = 180
# After a reply and this long without a message, none is on its way any more.
QUIET_S = 5
AGAIN_S = 0.05

_libc = ctypes.CDLL(None)
_KCMP, _KCMP_VM = 312, 1  # of x86-64

# Kernelspec and the name in the table; the first is what is measured, the others it is measured beside.
PEERS = {"petri": "petri", "python3": "ipykernel", "xpython": "xpython"}


def available():
    """Kernelspec names of the peers that are installed."""
    manager = KernelSpecManager()
    found = []
    for name in PEERS:
        try:
            manager.get_kernel_spec(name)
            found.append(name)
        except NoSuchKernel:
            continue
    return found


# Below those that Linux gives to whoever asks for any, as to the clients' connections.
PORTS = range(29_000, 32_000)


class Ports:
    """Ports for kernels that nobody else takes before the kernel has them, as it happens to those that jupyter_client
    chooses where many kernels start (jupyter_client#487).
    """

    def __init__(self):
        self.lock = threading.Lock()
        # Others who measure, or test this, begin elsewhere.
        first = random.randrange(len(PORTS))
        self.numbers = itertools.cycle([*PORTS[first:], *PORTS[:first]])

    def next(self):
        with self.lock:
            return next(port for port in self.numbers if is_free(port))

    def settings(self):
        """What a KernelManager takes for a kernel with ports of these."""
        channels = ("shell", "iopub", "stdin", "hb", "control")
        return {"cache_ports": False, **{f"{channel}_port": self.next() for channel in channels}}


def is_free(port):
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


ports = Ports()


class SpawnClock:
    """Notes the moment at which jupyter_client starts a kernel's process: its own preparations don't count.

    One at a time: of several threads that start kernels, the others wait.
    """

    _one = threading.Lock()

    def __init__(self):
        self.at = 0.0

    def __enter__(self):
        self._one.acquire()
        self.popen = launcher.Popen
        launcher.Popen = self.spawn
        return self

    def __exit__(self, *_):
        launcher.Popen = self.popen
        self._one.release()

    def spawn(self, *args, **options):
        self.at = time.perf_counter()
        return self.popen(*args, **options)


def wait_until_listening(ip, port):
    """A ZeroMQ client that connects too early tries again after 100 ms, which would be measured too."""
    deadline = time.monotonic() + STUCK_S
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex((ip, port)) == 0:
                return
        time.sleep(0.0005)
    raise TimeoutError(f"nobody listens on port {port}")


class Peer:
    """One running kernel.

    Its client waits for the kernel's port, or connects at once, as jupyter_client does by itself.
    """

    def __init__(self, name, folder, arguments=(), connect_at_once=False):
        self.name = name
        # What kernels keep is not to be found among the data of who measures them.
        self.data = tempfile.TemporaryDirectory()
        # With the name that Jupyter's server gives such a file, by which Kishu knows a kernel.
        connection = f"{self.data.name}/kernel-{uuid.uuid4()}.json"
        self.manager = KernelManager(kernel_name=name, connection_file=connection, **ports.settings())
        environment = os.environ | dict.fromkeys(("XDG_DATA_HOME", "IPYTHONDIR", "KISHU_PATH_ROOT"), self.data.name)
        with SpawnClock() as clock:
            self.manager.start_kernel(
                cwd=folder,
                env=environment,
                extra_arguments=list(arguments),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        self.spawned = clock.at
        self.last_at = clock.at  # when the last message arrived
        self.idle_came = False  # for the last request
        self.results = 0  # of the last run: how many were shown
        self.replies = {}  # those that nobody has asked for yet, by request
        self.client = self.manager.blocking_client()
        if not connect_at_once:
            wait_until_listening(self.client.ip, self.client.shell_port)
        self.client.start_channels(hb=False)

    def close(self):
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)
        self.manager.cleanup_resources()
        self.data.cleanup()

    def shell_reply(self, request):
        """The content of a request's reply; RuntimeError where its status isn't ok."""
        while request not in self.replies:
            message = self.client.get_shell_msg(timeout=STUCK_S)
            self.replies[message["parent_header"].get("msg_id")] = message["content"]
        reply = self.replies.pop(request)
        if reply["status"] != "ok":
            raise RuntimeError(f"{PEERS.get(self.name, self.name)} replied {reply}")
        return reply

    def kernel_info(self):
        return self.shell_reply(self.client.kernel_info())

    def wait_for_iopub(self):
        """Asks until a status arrives: a subscription that is on its way misses messages."""
        deadline = time.monotonic() + STUCK_S
        while time.monotonic() < deadline:
            self.kernel_info()
            try:
                self.client.get_iopub_msg(timeout=0.2)
            except queue.Empty:
                continue
            return
        raise TimeoutError("nothing on iopub")

    def send(self, code, petri=None):
        """Sends code, with metadata.petri where that is given; returns the request's id."""
        content = {"code": code, "silent": False, "store_history": True, "allow_stdin": False, "stop_on_error": True}
        content |= {"user_expressions": {}}
        message = self.client.session.msg("execute_request", content, metadata={"petri": petri} if petri else {})
        self.client.shell_channel.send(message)
        return message["header"]["msg_id"]

    def restart(self):
        """Ends the kernel at once, and starts it anew with a client that waits for its port."""
        self.client.stop_channels()
        self.manager.restart_kernel(now=True)
        self.client = self.manager.blocking_client()
        wait_until_listening(self.client.ip, self.client.shell_port)
        self.client.start_channels(hb=False)

    def reply(self, code):
        """Runs code as far as its reply."""
        self.shell_reply(self.send(code))

    def run(self, code):
        """Runs code to its reply and its idle status; returns seconds and the bytes of stdout that arrived."""
        start = time.perf_counter()
        request = self.send(code)
        printed = self.results = 0
        for message in self.messages_of(request):
            if message["msg_type"] == "stream":
                printed += len(message["content"]["text"])
            self.results += message["msg_type"] == "execute_result"
        self.shell_reply(request)
        if self.idle_came:
            self.last_at = time.perf_counter()
        return self.last_at - start, printed

    def show(self, code):
        """Runs code that has a result, and returns the seconds; RuntimeError where none was shown."""
        seconds, _ = self.run(code)
        if not self.results:
            raise RuntimeError(f"{code!r} has shown nothing")
        return seconds

    def complete(self, code):
        """Asks for completions at the end of the code and waits for the reply; RuntimeError where it has none."""
        if not self.shell_reply(self.client.complete(code))["matches"]:
            raise RuntimeError(f"{code!r} has no completions")

    def inspect(self, name):
        """Asks what a name stands for and waits for the reply; RuntimeError where it has none."""
        if not self.shell_reply(self.client.inspect(name))["found"]:
            raise RuntimeError(f"{name!r} is not found")

    def messages_of(self, request):
        """The iopub messages of a request up to its idle status, where that comes at all."""
        self.idle_came = False
        while True:
            try:
                message = self.client.get_iopub_msg(timeout=QUIET_S)
            except queue.Empty:
                if self.client.shell_channel.msg_ready():
                    return  # a kernel that drops messages has dropped its idle status too
                continue
            self.last_at = time.perf_counter()
            if message["parent_header"].get("msg_id") == request:
                yield message
                if message["content"].get("execution_state") == "idle":
                    self.idle_came = True
                    return

    @property
    def pid(self):
        return self.manager.provisioner.process.pid

    def footprint(self):
        """Proportional memory in bytes of the kernel's process and all below it, and their number."""
        for _ in range(100):
            # petri's sandboxes come and go: one that has gone meanwhile has another in its place.
            with contextlib.suppress(FileNotFoundError):
                sizes = {pid: size for pid in family(self.pid) if (size := pss_bytes(pid))}
                return sum(sizes[pid] for pid in address_spaces(sizes)), len(sizes)
            time.sleep(AGAIN_S)
        raise RuntimeError(f"the processes of {self.name} never stand still")


def pss_bytes(pid):
    """Proportional memory of a process: none where it ends, or has ended and waits for its parent."""
    try:
        lines = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except ProcessLookupError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def address_spaces(pids):
    """One process for each address space: PSS of one that two processes have counts for both. See: kcmp(2)."""
    found = []
    for pid in pids:
        if not any(_libc.syscall(_KCMP, pid, other, _KCMP_VM, 0, 0) == 0 for other in found):
            found.append(pid)
    return found


def stat_fields(pid):
    """The fields of /proc/PID/stat behind the name, from the state on."""
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def parent(pid):
    try:
        return int(stat_fields(pid)[1])
    except (FileNotFoundError, ProcessLookupError):
        return None


def family(*pids):
    """Processes and all their descendants."""
    parents = {int(entry): parent(entry) for entry in os.listdir("/proc") if entry.isdigit()}
    members = list(pids)
    for member in members:
        members += [child for child, its_parent in parents.items() if its_parent == member]
    return members
