"""What petri ps says; and a user, and a list of kernels, that have no others than those of one test."""

import contextlib
import json
import os
import shutil
import subprocess

import pytest

from kernels import PETRI
from surroundings import make_place, remove_place

NOBODY = 4173  # without an account
AS_NOBODY = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]


def listed(*before):
    """What petri ps --json says, by the pid."""
    done = subprocess.run([*before, PETRI, "ps", "--json"], capture_output=True, text=True, check=True)
    return {row["pid"]: row for row in json.loads(done.stdout)}


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


PLACES = [f"/run/user/{os.geteuid()}/petri", f"/run/petri-{os.geteuid()}", f"/dev/shm/petri-{os.geteuid()}"]
COVER = 'for place; do mount -t tmpfs -o mode=700 petri "$place" || exit; done; echo covered; exec cat'


@contextlib.contextmanager
def own_list(folder):
    """The beginning of a command of this user's that sees none of the kernels that others start, nor they it: with empty
    folders in the place of those of kernel/roster/place.c. It runs in the folder.
    """
    if os.geteuid() != 0:
        (pytest.fail if os.environ.get("PETRI_REQUIRE_LIVE") == "1" else pytest.skip)("only root can mount")
    places = [place for place in PLACES if os.path.isdir(place)]
    if not places:  # as the first kernel does it
        places = [place for place in PLACES if os.path.isdir(os.path.dirname(place))][:1]
        os.mkdir(places[0], mode=0o700)
    cover = ["unshare", "--mount", "--propagation=private", "sh", "-c", COVER, "cover", *places]
    with subprocess.Popen(cover, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline() == "covered\n"
        yield ["nsenter", f"--mount=/proc/{holder.pid}/ns/mnt", "sh", "-c", 'cd "$0" && exec "$@"', str(folder)]
        holder.stdin.close()
