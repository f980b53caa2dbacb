"""Folders, accounts and programs of the host that are odd but real, and petri started among them."""

import ctypes
import dataclasses
import json
import os
import pathlib
import pwd
import shutil
import subprocess
import tempfile

import installed
from kernels import STUCK_S, WORK

SYSTEM_PYTHON = "/usr/bin/python3"
CANARY = "canary-of-the-host"

AT_FDCWD = -100
RENAME_EXCHANGE = 2

# Prints, in a cell, which files below the given folders hold the canary, and by which names.
SEEK = f"""
import os
found = []
for top in %r:
    for folder, folders, names in os.walk(top):
        for name in names:
            path = os.path.join(folder, name)
            try:
                if os.path.isfile(path) and {CANARY[:6]!r} + {CANARY[6:]!r} in open(path, errors="replace").read(100):
                    found.append(path)
            except OSError:
                pass
print(found)
"""


@dataclasses.dataclass
class Place:
    """A tree of the host's that every user can get into, and petri as everybody can start it."""

    path: pathlib.Path
    petri: pathlib.Path

    def run(self, code, folder, user=None, env=None, python=SYSTEM_PYTHON, config=None, before=()):
        """One cell, as `petri run` does it, by root or another user; the report."""
        become = [] if user is None else ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--init-groups"]
        options = [] if config is None else ["--config", str(config)]
        everything = {"PATH": os.environ["PATH"], "HOME": "/root" if user is None else user.pw_dir, **(env or {})}
        done = subprocess.run(
            [*before, *become, str(self.petri), "run", "--python", str(python), *options, "-"],
            cwd=folder, env=everything, input=code, capture_output=True, text=True, timeout=STUCK_S, check=False,
        )  # fmt: skip
        assert done.stdout, done.stderr
        return json.loads(done.stdout)

    def seek(self, folder, tops=None, **options):
        """The files with a canary that a cell there finds, below these folders: WORK and the folder itself."""
        tops = [WORK, str(folder)] if tops is None else [str(top) for top in tops]
        report = self.run(SEEK % (tops,), folder, **options)
        assert report["outcome"] == "ok", report
        return eval(report["stdout"])  # noqa: S307 - a list of names, of a cell of ours

    def write_config(self, **keys):
        file = self.path / "config.json"
        file.write_text(json.dumps(keys))
        file.chmod(0o644)
        return file


def make_place():
    path = pathlib.Path(tempfile.mkdtemp(prefix="petri-place-", dir="/srv"))
    path.chmod(0o755)
    return Place(path, installed.prefix() / "bin" / "petri")


def remove_place(place):
    shutil.rmtree(place.path)


def make_user(name, home):
    """An account with a home of its own, which root makes and ends with remove_user()."""
    home.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["useradd", "--no-create-home", "--home-dir", home, name], check=True)
    home.mkdir(mode=0o755)
    user = pwd.getpwnam(name)
    os.chown(home, user.pw_uid, user.pw_gid)
    return user


def remove_user(user):
    subprocess.run(["userdel", user.pw_name], check=True)


def put(path, owner=None, mode=0o644, text=CANARY, group=None):
    """A file, with the folders on its way, all of one owner's."""
    missing = [folder for folder in reversed(path.parents) if not folder.exists()]
    for folder in missing:
        folder.mkdir(mode=0o755)
    path.write_text(text)
    path.chmod(mode)
    if owner is not None:
        for made in (*missing, path):
            os.chown(made, owner.pw_uid, owner.pw_gid if group is None else group)
    return path


def exchange(one, other):
    """What two names lead to changes places, in one step."""
    libc = ctypes.CDLL(None, use_errno=True)
    names = os.fsencode(one), os.fsencode(other)
    if libc.renameat2(AT_FDCWD, names[0], AT_FDCWD, names[1], RENAME_EXCHANGE):
        raise OSError(ctypes.get_errno(), "renameat2")
