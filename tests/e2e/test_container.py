"""petri in a container with a volume in the notebook's folder, as root and as another user."""

import json
import os
import resource
import shutil
import subprocess

import pytest

import surroundings
from kernels import STUCK_S
from surroundings import SYSTEM_PYTHON, put

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(os.geteuid() != 0, reason="root makes the container"),
    pytest.mark.skipif(not shutil.which("podman"), reason="there is no podman"),
]

CODE = """
import os
print(sorted(os.listdir()), open("own.txt").read(), open("vol/in.txt").read())
open("new.txt", "w").write("new")
open("vol/new.txt", "w").write("new")
"""


@pytest.fixture
def place():
    place = surroundings.make_place()
    yield place
    surroundings.remove_place(place)


def contained(place, user, volume, folder):
    """The command that a container of this machine's own files runs petri with; its changes are its own."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    return [
        "podman", "--runtime", "runc", "--cgroup-manager", "cgroupfs", "run", "--rm", "--interactive",
        "--network=none", f"--user={user}", f"--ulimit=nofile={most}:{most}", "--ulimit=nproc=4096:4096",
        "--security-opt=seccomp=unconfined", "--security-opt=unmask=ALL", f"--volume={volume}:{folder}/vol",
        f"--workdir={folder}", "--rootfs", "/:O", str(place.petri), "run", "--python", SYSTEM_PYTHON, "-",
    ]  # fmt: skip


@pytest.mark.parametrize("user", [0, 4321])
def test_cells_of_a_container_see_the_folder_and_the_volume_in_it(place, user):
    folder, volume = place.path / "nb", place.path / "volume"
    put(folder / "own.txt", text="own")
    (folder / "vol").mkdir()
    put(volume / "in.txt", text="volume")
    for made in (folder, volume):
        made.chmod(0o777)
    command = contained(place, user, volume, folder)
    done = subprocess.run(command, input=CODE, capture_output=True, text=True, timeout=STUCK_S, check=False)
    assert done.stdout, done.stderr
    report = json.loads(done.stdout)
    assert (report["outcome"], report["stdout"]) == ("ok", "['own.txt', 'vol'] own volume\n"), report
    assert "something is mounted in this folder" in report["stderr"]
    assert sorted(row["path"] for row in report["artifacts"]) == ["new.txt", "vol/new.txt"]
    assert os.listdir(volume) == ["in.txt"]
