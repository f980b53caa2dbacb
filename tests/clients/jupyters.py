"""Where clients find a kernel called `python3`, which is petri or ipykernel, and nothing else of this machine."""

import dataclasses
import json
import os
import pathlib
import shutil
import sys

from kernels import BUILD, install

PETRI = "petri"
IPYKERNEL = "ipykernel"

CLIENTS = BUILD / "clients"


def install_petri(prefix):
    """petri's kernelspecs, and a third by the name that clients ask for when nobody says which."""
    specs = install(prefix, sys.executable)
    shutil.copytree(specs / "petri", specs / "python3")
    config = prefix / "user" / "petri"
    config.mkdir(parents=True)
    # A first traceback takes longer than the usual 2 s on a busy machine.
    (config / "config.json").write_text('{"interrupt_grace": "1m"}')


def install_ipykernel(prefix, name="python3"):
    folder = prefix / "share" / "jupyter" / "kernels" / name
    folder.mkdir(parents=True)
    spec = {
        "argv": [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
        "display_name": "Python 3 (ipykernel)",
        "language": "python",
    }
    (folder / "kernel.json").write_text(json.dumps(spec))


_INSTALL = {PETRI: install_petri, IPYKERNEL: install_ipykernel}


@dataclasses.dataclass
class Jupyter:
    """A Jupyter of its own below `folder`. kernel: PETRI or IPYKERNEL."""

    kernel: str
    folder: pathlib.Path

    def __post_init__(self):
        _INSTALL[self.kernel](self.folder)
        # Commands that ask for a profile's place want it to be there; ipykernel makes it, petri writes nothing.
        (self.folder / "ipython" / "profile_default").mkdir(parents=True)

    @property
    def env(self):
        """What differs from this process' environment."""
        return {
            "JUPYTER_PATH": str(self.folder / "share" / "jupyter"),
            "JUPYTER_DATA_DIR": str(self.folder / "data"),
            "JUPYTER_CONFIG_DIR": str(self.folder / "config"),
            "JUPYTER_RUNTIME_DIR": str(self.folder / "runtime"),
            "IPYTHONDIR": str(self.folder / "ipython"),
            "XDG_DATA_HOME": str(self.folder / "share"),
            "XDG_CONFIG_HOME": str(self.folder / "user"),
            "JUPYTER_PLATFORM_DIRS": "1",
        }

    @property
    def whole_env(self):
        return {**os.environ, **self.env}
