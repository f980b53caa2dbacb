"""What petri ps says, and a user who has no other kernels than those of one test."""

import contextlib
import json
import os
import shutil
import subprocess
import time

import pytest

from kernels import PETRI, STUCK_S
from surroundings import make_place, remove_place

NOBODY = 4173  # without an account
AS_NOBODY = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]


def listed(*before):
    """What petri ps --json says, by the pid."""
    done = subprocess.run([*before, PETRI, "ps", "--json"], capture_output=True, text=True, check=True)
    return {row["pid"]: row for row in json.loads(done.stdout)}


def wait_for(condition):
    """Until it holds of a kernel's row: the kernel tells what it does after it has told its client."""
    deadline = time.monotonic() + STUCK_S
    while not (found := condition()):
        assert time.monotonic() < deadline
    return found


@contextlib.contextmanager
def nobodys_place():
    """petri where everybody can start it, and the beginning of a command of this user's there."""
    if os.geteuid() != 0:
        (pytest.fail if os.environ.get("PETRI_REQUIRE_LIVE") == "1" else pytest.skip)("only root can be another user")
    place = make_place()
    try:
        yield place, [*AS_NOBODY, "env", "-i", "PATH=/usr/bin:/bin", f"HOME={place.path}", str(place.petri)]
    finally:
        remove_place(place)
        shutil.rmtree(f"/dev/shm/petri-{NOBODY}", ignore_errors=True)
