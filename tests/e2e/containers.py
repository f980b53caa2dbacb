"""petri in a container of podman's, whose root is this machine's own files; what it changes there is its own."""

import json
import subprocess
import sys

from kernels import ROOT, STUCK_S
from podman import PODMAN, ULIMITS, need
from surroundings import SYSTEM_PYTHON

sys.path.insert(0, str(ROOT / "containers"))
import make_seccomp  # noqa: E402, F401 - for tests

PROFILE = ROOT / "containers" / "seccomp.json"
UNMASKED = "--security-opt=unmask=/proc/*"
# What docs/containers.md has podman start it with.
OPTIONS = (UNMASKED, f"--security-opt=seccomp={PROFILE}")


def need_podman():
    need("podman", "runc")


def contained(program, options=OPTIONS, user=0, folder="/"):
    """The command that has a container run a program, as this user, in this folder."""
    where = [f"--user={user}", f"--workdir={folder}", "--rootfs", "/:O"]
    return [*PODMAN, "run", "--rm", "--interactive", "--network=none", *ULIMITS, *options, *where, *map(str, program)]


def run_contained(program, code=None, timeout_s=STUCK_S, **where):
    """The finished process."""
    return subprocess.run(
        contained(program, **where), input=code, capture_output=True, text=True, timeout=timeout_s, check=False
    )


def run_cell(place, code, *options, **where):
    """The report of a cell that `petri run` runs in a container."""
    done = run_contained([place.petri, "run", "--python", SYSTEM_PYTHON, *options, "-"], code=code, **where)
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


def doctor(place, **where):
    """What `petri doctor` finds in a container, and what it says to do, both by probe."""
    done = run_contained([place.petri, "doctor", "--json", "--python", SYSTEM_PYTHON], **where)
    assert done.stdout, done.stderr
    report = json.loads(done.stdout)
    rows = {row["probe"]: row for row in report["probes"]}
    return rows, {probe: remedy for remedy in report["remedies"] for probe in remedy["for"]}
