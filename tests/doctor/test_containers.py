"""What petri doctor says in containers of podman's: as it makes them by itself, and with what docs/containers.md asks for."""

import pathlib
import re
import sys

import pytest

import golden

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

import surroundings  # noqa: E402
from containers import OPTIONS, need_podman, run_contained  # noqa: E402

pytestmark = [pytest.mark.thorough, pytest.mark.xdist_group("golden-containers")]

USERS = {"root": 0, "user": 4321}
WAYS = {"podman": (), "podman-options": OPTIONS}

# What is this machine's doing, and not the container's.
OF_THE_MACHINE = [
    (re.compile(r"\bLinux \d+\.\d+"), "Linux N.N"),
    (re.compile(r"not restricted by Yama\.|kernel\.yama\.ptrace_scope is [012]\b[^.]*\."), "(of this machine's Yama)."),
    (re.compile(r"\bversion [12](?=, but|; cells)"), "version N"),
    (re.compile(r"\bcgroup v[12]\b"), "cgroup vN"),
]


@pytest.fixture(scope="module")
def place():
    need_podman()
    place = surroundings.make_place()
    (place.path / "nb").mkdir()
    (place.path / "nb").chmod(0o777)
    yield place
    surroundings.remove_place(place)


@pytest.mark.parametrize("form", golden.FORMS)
@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("way", WAYS)
def test_in_a_container_doctor_says_what_its_golden_file_says(place, way, user, form):
    command = [place.petri, "doctor", *([form] if form == "--json" else []), "--python", surroundings.SYSTEM_PYTHON]
    done = run_contained(command, options=WAYS[way], user=USERS[user], folder=place.path / "nb")
    assert done.stderr == ""
    masks = [*OF_THE_MACHINE, (re.compile(re.escape(str(place.petri.parents[1]))), "/usr/local")]
    assert golden.difference(f"{way}-{user}", form, done.stdout, done.returncode, masks) == ""
