"""The ways in which petri is run here: as an ordinary user, as root without a cgroup to write to, and as root."""

import dataclasses
import json
import os
import pathlib
import shutil
import tempfile

import installed
from kernels import Interpreter, install, interpreters

SYSTEM = Interpreter("system", "/usr/bin/python3")

# Nobody's: what an account of this number would own does not exist. Outside petri's own ranges. Where tests run side by
# side each process has a number of its own, since Linux counts some things by user.
ORDINARY_UID = 58431 + int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))

# Run as root: gives the connection file, third of petri's arguments, to the user, and becomes the user for good.
BECOME = (
    f'chown {ORDINARY_UID} "$3" && '
    f'exec setpriv --reuid={ORDINARY_UID} --regid={ORDINARY_UID} --clear-groups --no-new-privs "$@"'
)

# In a mount namespace of the kernel's own; nobody else's cgroups are hidden.
COVER_CGROUPS = 'mount -t tmpfs -o ro,size=4k none /sys/fs/cgroup && exec "$@"'


@dataclasses.dataclass(frozen=True)
class Way:
    name: str
    lacks: str  # why it can't be tried here, or ""
    interpreter: Interpreter
    prefix: tuple = ()  # the command that starts the kernel in this way
    watched: bool = False  # certainly without a cgroup


def _all_interpreters():
    return {python.label: python for python in interpreters()}


def _user():
    if os.geteuid() != 0:
        return Way("user", "", _all_interpreters()["venv"])
    lacks = "" if os.path.exists(SYSTEM.path) else "there is no system's python3, and root's is not for others to read"
    return Way("user", lacks, SYSTEM, ("sh", "-c", BECOME, "sh"))


def _without_cgroup():
    lacks = "" if os.geteuid() == 0 else "only root can cover /sys/fs/cgroup"
    command = ("unshare", "--mount", "--propagation", "private", "sh", "-c", COVER_CGROUPS, "sh")
    return Way("root, no cgroup", lacks, _all_interpreters()["venv"], command, watched=True)


def _root():
    return Way("root", "" if os.geteuid() == 0 else "not root", _all_interpreters()["venv"])


# In the order of trust: who could do the most damage comes last.
WAYS = [_user(), _without_cgroup(), _root()]


class Installed:
    """A kernelspec of installed petri for each way, and folders, below a folder that every user can read."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="petri-hostile-"))
        self.folder.chmod(0o755)

    def kernel_dir(self, way):
        """The folder with the kernelspecs that start petri in this way."""
        program = installed.prefix() / "bin" / "petri"
        target = self.folder / "ways" / way.name
        if not target.exists():
            directory = install(target, way.interpreter.path, program=program)
            for path in directory.glob("*/kernel.json"):
                spec = json.loads(path.read_text())
                spec["argv"] = [*way.prefix, *spec["argv"]]
                path.write_text(json.dumps(spec))
        return target / "share" / "jupyter" / "kernels"

    def new_folder(self, name):
        """A notebook's folder."""
        folder = self.folder / name
        folder.mkdir()
        folder.chmod(0o755)
        return folder

    def remove(self):
        shutil.rmtree(self.folder)
