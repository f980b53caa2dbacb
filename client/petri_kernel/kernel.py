"""A petri kernel as a child process, and one client of it, both by jupyter_client.

Everything here runs on one event loop, which is the caller's.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Iterable, Mapping, Sequence
from queue import Empty
from typing import Any, Union

from jupyter_client.asynchronous.client import AsyncKernelClient
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager

import petri_kernel
from petri_kernel.control import ControlRequest
from petri_kernel.errors import BadRequest, KernelDied, ProgramNotFound, SessionError
from petri_kernel.router import Channel, Router

PROFILES = ("notebook", "strict")

# How often a wait for messages looks whether the kernel is still there.
POLL_S = 0.25
# A kernel that is alive and has not said a word for this long will not.
START_S = 120.0
# How much of what a kernel wrote about its end is told.
LAST_WORDS_BYTES = 2000
# The longest path of a UNIX socket, with room for the channel's number. See: unix(7).
SOCKET_PATH_BYTES = 100

Config = Union[Mapping[str, Any], str, "os.PathLike[str]"]


def _own() -> str | None:
    """The program that the wheel has put into this package's folder; None where it came without one."""
    return next(filter(os.path.exists, (os.path.join(folder, "bin", "petri") for folder in petri_kernel.__path__)), None)


def find_program(program: str | os.PathLike[str] | None = None) -> str:
    """The absolute path of the program `petri`: what is given, else $PETRI, else the one that came with this package,
    else `petri` on the PATH.

    Raises ProgramNotFound.
    """
    named = os.fspath(program) if program is not None else os.environ.get("PETRI") or _own() or "petri"
    found = shutil.which(named)
    if found is None:
        raise ProgramNotFound(
            f"there is no program {named!r}; install petri (pip install petri-kernel, or in a checkout pip install . or "
            "make install), or name it: program=, or the environment variable PETRI"
        )
    return os.path.abspath(found)


def kernel_argv(
    program: str | os.PathLike[str] | None,
    profile: str,
    python: str | os.PathLike[str] | None,
    config: str | None,
    writable: bool,
    profiles: Iterable[str] = (),
) -> list[str]:
    """The command line of a kernel; "{connection_file}" stands for the file. Raises BadRequest, ProgramNotFound.

    profiles: those of the configuration.
    """
    if profile not in (*PROFILES, *profiles):
        raise BadRequest(f"there is no profile {profile!r}; there are {' and '.join((*PROFILES, *profiles))}")
    if writable and profile == "strict":
        raise BadRequest("profile 'strict' writes to no folder")
    argv = [find_program(program), "kernel", "{connection_file}", "--profile", profile]
    argv += ["--writable"] if writable else []
    argv += ["--python", os.fspath(python) if python is not None else sys.executable]
    return [*argv, "--config", config] if config is not None else argv


def config_profiles(config: Config | None) -> list[str]:
    """The names of the profiles that a configuration has; of a file that can't be read none, which the kernel says."""
    found: Any = config
    if isinstance(config, (str, os.PathLike)):
        with contextlib.suppress(OSError, ValueError, RecursionError):
            found = json.loads(pathlib.Path(config).read_bytes())
    profiles = found.get("profiles") if isinstance(found, Mapping) else None
    return [str(name) for name in profiles if name not in PROFILES] if isinstance(profiles, Mapping) else []


def config_text(config: Mapping[str, Any]) -> str:
    """A configuration as its file has it. Raises BadRequest."""
    try:
        return json.dumps(config)
    except (TypeError, ValueError, RecursionError) as error:
        raise BadRequest(f"config can't be written as JSON: {error}") from error


class _OneSpec(KernelSpecManager):
    """The one kernelspec that a session needs, without a file."""

    def __init__(self, argv: Sequence[str]) -> None:
        super().__init__()
        self._spec = KernelSpec(argv=list(argv), display_name="petri", language="python", interrupt_mode="message")

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        return self._spec


class TemporaryFolder:
    """An empty folder, which is removed once nobody holds this any more: results hold it for their files."""

    def __init__(self) -> None:
        own = pathlib.Path(tempfile.mkdtemp(prefix="petri-"))
        weakref.finalize(self, shutil.rmtree, own, ignore_errors=True)
        self.path = own / "folder"  # the code sees this path, and no name of others beside it
        self.path.mkdir()

    def __deepcopy__(self, memo: object) -> TemporaryFolder:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return (_no_folder, ())  # another process doesn't keep it


def _no_folder() -> None:
    return None


class Kernel:
    """One kernel process. start() has to come first, close() last; no method may be called from another loop.

    argv: as kernel_argv() makes it, without --config where config is a text. folder: the session's; None for an
    empty one, which stays as long as a result has files in it.
    """

    def __init__(self, argv: Sequence[str], folder: pathlib.Path | None, config: str | None) -> None:
        self._own = pathlib.Path(tempfile.mkdtemp(prefix="petri-"))
        self.temporary = TemporaryFolder() if folder is None else None
        self.folder = self.temporary.path if self.temporary else pathlib.Path(folder or "")
        self._argv = list(argv)
        if config is not None:
            (self._own / "config.json").write_text(config)
            self._argv += ["--config", str(self._own / "config.json")]
        self._manager: AsyncKernelManager | None = None
        self._client: AsyncKernelClient | None = None
        self.router = Router(self.receive)

    async def start(self) -> None:
        """Starts the process and waits until it answers. Raises SessionError; then it is closed."""
        try:
            await self._check_config()
            await self._launch()
            await asyncio.wait_for(self._ready(), START_S)
        except asyncio.TimeoutError:
            await self.close(now=True)
            raise SessionError(f"the kernel has not answered for {START_S:.0f} seconds") from None
        except BaseException:
            await self.close(now=True)
            raise

    async def _check_config(self) -> None:
        """Raises SessionError where a configuration of the caller's can't be used: no run would be."""
        if "--config" not in self._argv:
            return
        checked = await asyncio.create_subprocess_exec(
            self._argv[0], "config", "check", self._argv[-1], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        _, words = await checked.communicate()
        if checked.returncode != 0:
            raise SessionError(words.decode(errors="replace").strip())

    async def _launch(self) -> None:
        manager = AsyncKernelManager(
            kernel_name="petri", kernel_spec_manager=_OneSpec(self._argv), connection_file=str(self._own / "k.json")
        )
        socket = self._own / "k"
        if len(os.fsencode(socket)) <= SOCKET_PATH_BYTES:
            # Not to be reached by other users, and no port that somebody else may take.
            manager.transport, manager.ip = "ipc", str(socket)
        self._manager = manager
        with open(self._own / "stderr", "wb") as stderr:
            try:
                await manager.start_kernel(cwd=str(self.folder), stderr=stderr)
            except OSError as error:
                raise SessionError(f"the kernel could not be started: {error}") from error
        self._client = manager.client()
        self._client.start_channels(hb=False)

    async def _ready(self) -> None:
        """Until both channels speak: a subscription that is on its way misses messages."""
        answered = heard = False
        while not (answered and heard):
            self.client.kernel_info()
            answered = await self.receive("shell") is not None or answered
            heard = answered and await self.receive("iopub") is not None

    @property
    def client(self) -> AsyncKernelClient:
        """The client of a kernel that was started."""
        assert self._client is not None
        return self._client

    @property
    def pid(self) -> int | None:
        """The kernel's process, or None where there is none."""
        provisioner = self._manager.provisioner if self._manager else None
        return getattr(provisioner, "pid", None)

    async def is_alive(self) -> bool:
        """Whether the process is there."""
        return self._manager is not None and bool(await self._manager.is_alive())

    async def check_alive(self) -> None:
        """Raises KernelDied where the process is gone, with its last words."""
        if not await self.is_alive():
            words = self._last_words()
            raise KernelDied(f"the kernel has ended{': ' + words if words else ''}")

    def _last_words(self) -> str:
        try:
            data = (self._own / "stderr").read_bytes()
        except FileNotFoundError:
            return ""
        return data[-LAST_WORDS_BYTES:].decode(errors="replace").strip()

    def send(self, msg_type: str, content: dict[str, Any], metadata: dict[str, Any]) -> str:
        """Sends a request on the shell channel; returns its id."""
        message = self.client.session.msg(msg_type, content, metadata=metadata)
        self.client.shell_channel.send(message)
        return str(message["header"]["msg_id"])

    def ask(self, msg_type: str, content: dict[str, Any], metadata: dict[str, Any] | None = None) -> ControlRequest:
        """Sends a request on the control channel. Several may be on their way."""
        message = self.client.session.msg(msg_type, content, metadata=metadata or {})
        self.client.control_channel.send(message)
        asked = ControlRequest(msg_type)
        self.router.add(str(message["header"]["msg_id"]), asked)
        return asked

    async def receive(self, channel: Channel) -> dict[str, Any] | None:
        """The next message of a channel, or None where there is none for POLL_S. Raises SessionError, KernelDied."""
        get = getattr(self.client, f"get_{channel}_msg")
        try:
            message: dict[str, Any] = await get(timeout=POLL_S)
        except Empty:
            await self.check_alive()
            return None
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise SessionError(f"a message of the kernel can't be read: {error}") from error
        return message

    async def interrupt(self, request: str | None = None) -> None:
        """Interrupts what runs, and waits until the kernel has heard it; nothing where nothing runs.

        request: the id of the execute_request whose run is meant; None for all.
        """
        metadata = {"petri": {"request": request}} if request is not None else {}
        if await self.is_alive() and self._client is not None:
            with contextlib.suppress(KernelDied):
                await self.ask("interrupt_request", {}, metadata).reply()

    async def kill(self) -> None:
        """Ends the process at once; what waits for it raises KernelDied."""
        if self._manager is not None and await self.is_alive():
            await self._manager.signal_kernel(signal.SIGKILL)

    async def close(self, now: bool = False) -> None:
        """Ends the process and removes its files; now: without asking it first. For when every run has ended."""
        manager, self._manager = self._manager, None
        client, self._client = self._client, None
        self.router.fail(KernelDied("the kernel has ended"))  # what is asked on the control channel, if anything
        await self.router.stopped()
        try:
            if client is not None:
                client.stop_channels()
            if manager is not None:
                alive = bool(await manager.is_alive())
                await manager.shutdown_kernel(now=now or not alive)
        finally:
            shutil.rmtree(self._own, ignore_errors=True)
            self.temporary = None
