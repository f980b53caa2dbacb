"""petri in containers of podman's, as root and as another user: with its defaults, and with the options that petri needs."""

import json
import os
import re
import subprocess

import pytest

import surroundings
from containers import OPTIONS, PROFILE, UNMASKED, doctor, make_seccomp, need_podman, run_cell, run_contained
from kernels import BUILD, ROOT, STUCK_S
from podman import give_up
from surroundings import CANARY, SYSTEM_PYTHON, put

pytestmark = pytest.mark.thorough

USERS = [0, 4321]

CODE = """
import os
print(sorted(os.listdir()), open("own.txt").read(), open("vol/in.txt").read())
open("new.txt", "w").write("new")
open("vol/new.txt", "w").write("new")
"""


@pytest.fixture(scope="module")
def place():
    need_podman()
    place = surroundings.make_place()
    folder = place.path / "nb"
    put(folder / "own.txt", text="own")
    put(place.path / "shown" / "input.txt", text="input")
    folder.chmod(0o777)
    place.write_config(inputs=[str(place.path / "shown" / "input.txt")])
    yield place
    surroundings.remove_place(place)


def make_parted(place):
    """A folder, and one that is to be a volume in it."""
    folder, volume = place.path / "parted", place.path / "volume"
    put(folder / "own.txt", text="own")
    (folder / "vol").mkdir(exist_ok=True)
    put(volume / "in.txt", text="volume")
    for made in (folder, volume):
        made.chmod(0o777)
    return folder, volume


@pytest.mark.parametrize("user", USERS)
def test_cells_of_a_container_see_the_folder_and_the_volume_in_it(place, user):
    folder, volume = make_parted(place)
    report = run_cell(place, CODE, user=user, folder=folder, options=(*OPTIONS, f"--volume={volume}:{folder}/vol"))
    assert (report["outcome"], report["stdout"]) == ("ok", "['own.txt', 'vol'] own volume\n"), report
    assert "something is mounted in this folder" in report["stderr"]
    assert sorted(row["path"] for row in report["artifacts"]) == ["new.txt", "vol/new.txt"]
    assert os.listdir(volume) == ["in.txt"]


@pytest.mark.parametrize("user", USERS)
def test_with_the_options_doctor_finds_nothing_missing_but_groups(place, user):
    rows, _ = doctor(place, user=user, folder=place.path / "nb")
    assert rows["container"]["text"] == "this is podman."
    assert {probe for probe, row in rows.items() if row["finding"] != "good"} <= {"cgroup"}, rows
    assert rows["cgroup"]["finding"] != "unusable"


@pytest.mark.parametrize("user", USERS)
def test_with_masked_proc_no_cell_runs_and_the_sentence_names_the_option(place, user):
    report = run_cell(place, "print('it ran')", user=user, folder=place.path / "nb", options=OPTIONS[1:])
    assert (report["outcome"], report["stdout"]) == ("sandbox", "")
    assert "mounting a fresh /proc failed" in report["error"]["evalue"]
    assert "podman: --security-opt 'unmask=/proc/*'" in report["error"]["evalue"]
    rows, remedies = doctor(place, user=user, folder=place.path / "nb", options=OPTIONS[1:])
    assert rows["cell"]["finding"] == "unusable"
    assert remedies["cell"]["options"].startswith("--security-opt 'unmask=/proc/*' ")


@pytest.mark.parametrize("user", USERS)
def test_with_podmans_own_profile_cells_run_and_kcmp_is_missed(place, user):
    rows, remedies = doctor(place, user=user, folder=place.path / "nb", options=(UNMASKED,))
    assert {probe for probe, row in rows.items() if row["finding"] != "good"} - {"cgroup"} == {"kcmp"}, rows
    assert "seccomp=seccomp.json" in remedies["kcmp"]["options"]
    report = run_cell(place, "import os; print(os.uname().nodename)", user=user, options=(UNMASKED, "--hostname=own"))
    assert report["stdout"] == "own\n", report
    assert report["stderr"].startswith("petri: kcmp is refused here ")


@pytest.mark.parametrize("user", USERS)
def test_limits_hold_in_a_container(place, user):
    where = {"user": user, "folder": place.path / "nb"}
    report = run_cell(place, "x = [bytearray(1 << 20) for _ in range(1 << 20)]", "--memory", "64M", **where)
    assert (report["outcome"], report["rolled_back"]) == ("memory", True) or "MemoryError" in report["error"]["ename"]
    report = run_cell(place, "while True: pass", "--timeout", "300ms", **where)
    assert (report["outcome"], report["rolled_back"]) == ("timeout", True), report


# A cell that looks for the secret of another process of the container, in what /proc shows of it, and tries to reach it.
PRY = f"""
import ctypes, os
found = []
for name in os.listdir("/proc"):
    for what in ("cmdline", "environ", "status", "mountinfo") if name.isdigit() else ():
        try:
            if {CANARY[:6]!r} + {CANARY[6:]!r} in open(f"/proc/{{name}}/{{what}}").read():
                found.append((name, what))
        except OSError:
            pass
libc = ctypes.CDLL(None, use_errno=True)
refused = [libc.ptrace(16, pid, 0, 0) for pid in range(1, 100) if pid != os.getpid()]
refused += [libc.unshare(0x10000000), libc.mount(b"none", b"/tmp", b"tmpfs", 0, None), libc.setns(0, 0)]
print(found, set(refused), os.readlink("/proc/self") == str(os.getpid()))
try:
    os.kill(-1, 9)
except OSError:
    pass
"""

# Beside a secretive process: petri, and then whether that process is still there.
BESIDE = """
SECRET={secret} sh -c 'sleep 1000; : {secret}' &
{petri} run --python {python} - && kill -0 $! && echo alive >&2
kill $!
"""


@pytest.mark.parametrize("user", USERS)
def test_cell_neither_sees_nor_reaches_the_containers_other_processes(place, user):
    script = BESIDE.format(secret=CANARY, petri=place.petri, python=SYSTEM_PYTHON)
    done = run_contained(["sh", "-c", script], code=PRY, user=user, folder=place.path / "nb")
    assert done.stdout, done.stderr
    assert json.loads(done.stdout)["stdout"] == "[] {-1} True\n", done.stdout
    assert done.stderr.endswith("alive\n"), done.stderr


@pytest.mark.parametrize("way", ["user", "root"])
def test_hostile_cells_are_contained_in_a_container(way):
    need_podman()
    tests = ["tests/hostile/test_corpus.py", "--few", f"--way={way}"]
    program = [BUILD / "venv" / "bin" / "python", "-m", "pytest", "-q", "--rootdir=tests", *tests]
    environment = [f"--env=PETRI_BUILD={BUILD}", "--env=PETRI_REQUIRE_LIVE=1"]
    done = run_contained(program, folder=ROOT, options=(*OPTIONS, *environment), timeout_s=5 * STUCK_S)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) > 50, done.stdout


def test_profile_is_podmans_default_with_what_petri_needs():
    need_podman()
    version = subprocess.run(
        ["dpkg-query", "--show", "--showformat=${Version}", "golang-github-containers-common"],
        capture_output=True, text=True, check=False,
    ).stdout  # fmt: skip
    if not version.startswith("0.50."):
        give_up(f"the profile is made of that of containers-common 0.50, and here is {version or 'none'}")
    default = json.loads(make_seccomp.DEFAULT.read_text())
    assert json.loads(PROFILE.read_text()) == make_seccomp.make(default), "run containers/make_seccomp.py"


# Looks for what is missing, and runs a cell that is shown a file and a volume: the file on a file system of its own, by
# which cells can't lock it.
LOOK = """
{petri} doctor --json --python {python}
echo "import os; assert os.stat('{shown}').st_dev != $(stat -c %d {shown})" |
    {petri} run --config {config} --python {python} - >/dev/null && echo ran
"""


def works(place, profile):
    """Whether nothing is missing in a container that has this profile."""
    files = {"shown": place.path / "shown" / "input.txt", "config": place.path / "config.json"}
    script = LOOK.format(petri=place.petri, python=SYSTEM_PYTHON, **files)
    folder, volume = make_parted(place)
    options = (UNMASKED, f"--security-opt=seccomp={profile}", f"--volume={volume}:{folder}/vol")
    done = run_contained(["sh", "-c", script], user=4321, folder=folder, options=options)
    assert done.stdout or done.returncode not in (125, 126, 127), done.stderr  # podman's own failures
    if not done.stdout.endswith("ran\n"):
        return False
    found, _ = json.JSONDecoder().raw_decode(done.stdout)
    return all(row["finding"] == "good" for row in found["probes"] if row["probe"] != "cgroup")


def test_each_rule_of_the_profile_is_needed(place, tmp_path):
    whole = json.loads(PROFILE.read_text())
    profile = tmp_path / "seccomp.json"
    assert works(place, PROFILE)
    needless = []
    for rule in make_seccomp.additions():
        rules = [other for other in whole["syscalls"] if other != rule]
        assert len(rules) == len(whole["syscalls"]) - 1
        profile.write_text(json.dumps(whole | {"syscalls": rules}))
        if works(place, profile):
            needless.append(rule)
    assert works(place, PROFILE)
    assert not needless
