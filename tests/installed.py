"""petri as `make install` leaves it, where every user can start it: once for all processes that test at a time."""

import atexit
import contextlib
import fcntl
import functools
import os
import pathlib
import subprocess
import tempfile
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = pathlib.Path(os.environ.get("PETRI_BUILD", ROOT / "build"))


@contextlib.contextmanager
def locked(path):
    """Nobody else has the file at the path locked meanwhile; whoever removes it has it locked."""
    while True:
        with open(path, "a", encoding="ascii") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            try:
                current = os.path.samestat(os.fstat(file.fileno()), os.stat(path))
            except FileNotFoundError:
                current = False
            if current:
                yield
                return


def leave(found, lock, used):
    """Removes the folder, unless another process uses it, too."""
    with locked(lock):
        try:
            fcntl.flock(used, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        gone = f"{found}.gone-{os.getpid()}"
        os.rename(found, gone)
        os.unlink(lock)
    # By a process of its own: it takes seconds, and pytest may end this one meanwhile.
    subprocess.run(["rm", "-rf", gone], check=True)


@functools.cache
def prefix():
    """
    The folder that petri is installed into, outside of the checkout, which may be where others can't read. It is only
    read: what a test changes it has in a folder of its own. It goes with the last process that has asked for it.

    It is there as a whole or not at all, whenever a process that makes or removes it is killed.

    PETRI_INSTALLED is the folder of a script that runs several steps: there it stays for all of them.
    """
    kept = os.environ.get("PETRI_INSTALLED")
    above = kept or ("/srv" if os.access("/srv", os.W_OK) else tempfile.gettempdir())
    # Another checkout, another user and a build that has changed have another one.
    made_of = f"{BUILD} {os.geteuid()} {os.stat(BUILD / 'petri').st_mtime_ns}"
    found = pathlib.Path(above, f"petri-installed-{zlib.crc32(made_of.encode()):08x}")
    lock = f"{found}.lock"
    with locked(lock):
        if not found.exists():
            made = pathlib.Path(tempfile.mkdtemp(prefix=f"{found.name}.made-", dir=above))
            # The folder's path is written nowhere: petri finds its files by its program's place.
            subprocess.run(["cmake", "--install", BUILD, "--prefix", made], check=True, stdout=subprocess.DEVNULL)
            made.chmod(0o755)
            made.rename(found)
        if kept:
            return found
        used = os.open(found, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(used, fcntl.LOCK_SH)
    atexit.register(leave, found, lock, used)
    return found
