"""Random surroundings around random starts: each ends in cells that run and see no canary, or in a sentence.

A failure prints its seed: PETRI_SEED=SEED repeats it in the first of these tests. PETRI_SURROUNDINGS=1000 goes on for long.
"""

import os
import pathlib
import random
import re
import shlex
import shutil
import socket
import subprocess

import pytest

import surroundings
from kernels import WORK
from surroundings import CANARY, put

SEED = int(os.environ.get("PETRI_SEED", random.SystemRandom().randrange(1 << 32)))
STARTS = int(os.environ.get("PETRI_SURROUNDINGS", 0))

pytestmark = [
    pytest.mark.xdist_group("surroundings-random"),
    pytest.mark.skipif(os.geteuid() != 0, reason="root makes the accounts"),
]

NAMES = ["data", "a b", "a,b:c", "back\\slash", "ünï", "-dash", "x" * 200, "new\nline", "lib", "bin", "%s", "'quoted'"]
HIDDEN = [".ssh", ".netrc", ".config", ".local", ".a,b:c", "..double", "." + "y" * 200]


@pytest.fixture(scope="module")
def users(place):
    """Two accounts; the home of the one lies in a folder of the other's."""
    ann = surroundings.make_user(f"ann{os.getpid()}", place.path / "tree" / "ann")
    ben = surroundings.make_user(f"ben{os.getpid()}", place.path / "tree" / "ann" / "shared" / "ben")
    yield [ann, ben]
    for user in (ann, ben):
        surroundings.remove_user(user)


class World:
    """One tree, in a home and around it, of which each file says in itself whether a cell may see it."""

    def __init__(self, place, users, seed):
        self.random = random.Random(seed)
        self.place, self.users = place, users
        self.top = place.path / "tree"
        self.mounts = []
        self.sockets = []
        self.folders = [self.top]
        self.files = []

    def build(self):
        ann, ben = self.users
        for user in (ann, ben):
            home = pathlib.Path(user.pw_dir)
            home.mkdir(parents=True, exist_ok=True)
            os.chown(home, user.pw_uid, user.pw_gid)
            self.folders.append(home)
            for name in self.random.sample(HIDDEN, 3):
                hidden = home / name / "canary" if self.random.random() < 0.5 else home / name
                put(hidden, user, self.random.choice([0o600, 0o644]))
        for _ in range(self.random.randrange(4, 12)):
            self.add()

    def add(self):
        """Something in one of the folders that there are."""
        folder = self.random.choice(self.folders)
        path = folder / self.random.choice(NAMES)
        owner = self.random.choice([None, *self.users])
        if os.path.lexists(path):
            return
        kind = self.random.choice(["file", "file", "file", "folder", "folder", "link", "fifo", "socket", "mount", "huge"])
        if kind == "file":
            self.files.append(put(path, owner, self.random.choice([0o644, 0o600, 0o000, 0o444]), "plain"))
        elif kind == "huge":
            put(path, owner, text="plain")
            os.truncate(path, 1 << 40)
        elif kind == "link":
            targets = [self.top / "ann" / ".ssh", "/etc/shadow", "/root", path, "../..", "/proc/1/root", "missing"]
            path.symlink_to(self.random.choice(targets))
        elif kind == "fifo":
            os.mkfifo(path, 0o666)
        elif kind == "socket":
            self.listen(path)
        else:
            path.mkdir(mode=self.random.choice([0o755, 0o700, 0o777, 0o1777, 0o500]))
            if owner:
                os.chown(path, owner.pw_uid, owner.pw_gid)
            if kind == "mount":
                put(path / "covered")
                self.mounts.append(path)
            self.folders.append(path)

    def put_canaries(self, folder, user):
        """Into each file that its owner keeps from whoever runs cells: that is who starts the kernel, and where root
        does so the folder's owner, if the folder isn't everybody's."""
        st = folder.stat()
        runs = user.pw_uid if user else None if st.st_uid < 1000 and st.st_mode & 0o002 else st.st_uid
        for file in self.files:
            kept = file.stat()
            if kept.st_uid != runs and not kept.st_mode & 0o004:
                file.write_text(CANARY)

    def listen(self, path):
        listener = socket.socket(socket.AF_UNIX)
        here = os.open(path.parent, os.O_PATH)
        try:
            # By a short name: that of a socket has 107 bytes at most, the name of a file 255.
            listener.bind(f"/proc/self/fd/{here}/socket")
            os.rename(path.parent / "socket", path)
            listener.listen(1)
            self.sockets.append(listener)
        finally:
            os.close(here)

    def script(self, folder):
        """Mounts what is to be mounted, and goes on as petri in the folder."""
        lines = []
        for mount in self.mounts:
            quoted = shlex.quote(str(mount))
            lines += [f"mkdir -p -- {quoted}", f"mount -t tmpfs random {quoted}", f"echo mounted > {quoted}/in.txt"]
        there = shlex.quote(str(folder))
        return "\n".join([*lines, f"mkdir -p -- {there}", f"cd -- {there}", 'exec "$@"'])

    def end(self):
        for listener in self.sockets:
            listener.close()
        for entry in self.top.iterdir():
            entry.unlink() if entry.is_symlink() or not entry.is_dir() else shutil.rmtree(entry)


SENTENCE = re.compile(r"There is no sandbox for the cell, so it was not run: .+\.")


def check(place, world, folder, user, env):
    before = ["unshare", "-m", "sh", "-ec", world.script(folder), "sh"]
    report = place.run(
        surroundings.SEEK % ([WORK, str(world.top), "/home", "/root"],), folder, user, env, before=before
    )
    if report["outcome"] == "sandbox":
        assert SENTENCE.fullmatch(report["error"]["evalue"]), report["error"]
        return report["error"]["evalue"]
    assert report["outcome"] == "ok", report
    assert report["stdout"] == "[]\n", report["stdout"]
    return "ok"


def start_once(place, users, seed):
    print(f"PETRI_SEED={seed}")
    world = World(place, users, seed)
    try:
        world.build()
        folder = world.random.choice(world.folders)
        user = world.random.choice([None, *users])
        env = world.random.choice([{}, {"HOME": ""}, {"HOME": str(folder)}, {"HOME": users[0].pw_dir}])
        if user is not None and not can_enter(folder, user):
            user = None
        world.put_canaries(folder, user)
        print(check(place, world, folder, user, env))
    finally:
        world.end()


def can_enter(folder, user):
    """Whether a user could have been started there."""
    become = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--init-groups"]
    return subprocess.run([*become, "test", "-x", folder], check=False).returncode == 0


# The numbers are the same in all processes of a run, the seeds are not.
@pytest.mark.parametrize("number", range(STARTS or 4))
def test_random_surroundings_end_in_cells_that_see_no_canary(place, users, number):
    start_once(place, users, SEED + number)


@pytest.mark.thorough
@pytest.mark.parametrize("number", range(1000, 1040, 10))
def test_many_random_surroundings_end_in_cells_that_see_no_canary(place, users, number):
    for n in range(10):
        start_once(place, users, SEED + number + n)
