"""What cells see of the host, wherever and by whomever the kernel is started, and whatever others do meanwhile."""

import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile

import pytest

import surroundings
from kernels import STUCK_S, WORK
from surroundings import CANARY, exchange, put

pytestmark = [
    pytest.mark.xdist_group("surroundings"),  # one process: the accounts are there once
    pytest.mark.skipif(os.geteuid() != 0, reason="root makes the accounts"),
]


@pytest.fixture(scope="module")
def bob(place):
    user = surroundings.make_user(f"bob{os.getpid()}", place.path / "homes" / "bob")
    yield user
    surroundings.remove_user(user)


@pytest.fixture
def home(bob):
    """Bob's home, with what a home has."""
    home = pathlib.Path(bob.pw_dir)
    put(home / ".ssh" / "id_rsa", bob, 0o600)
    put(home / ".netrc", bob, 0o600)
    put(home / ".cache" / "everybody", bob, 0o644)
    put(home / "notes.txt", bob, 0o600, "bob's own")
    put(home / "project" / "data.csv", bob, 0o600, "1,2")
    put(home / "project" / ".env", bob, 0o644, "of the project")
    yield home
    for entry in home.iterdir():
        shutil.rmtree(entry) if entry.is_dir() else entry.unlink()


def only(user):
    """How root or bob starts the kernel."""
    return {"root": None, "bob": user}


@pytest.mark.in_turn("who")
@pytest.mark.parametrize("who", ["root", "bob"])
def test_hidden_entries_of_a_home_are_not_seen_in_it_nor_above_it(place, bob, home, who):
    user = only(bob)[who]
    for env in ({}, {"HOME": ""}, {"HOME": "/nonexistent"}):
        report = place.run("import os; print(sorted(os.listdir()), open('notes.txt').read())", home, user, env)
        assert report["stdout"] == "['notes.txt', 'project'] bob's own\n", env
    assert place.seek(home, user=user) == []
    assert place.seek(home.parent, user=user) == []
    report = place.run("import os; print(os.listdir('bob'))", home.parent, user)
    assert "notes.txt" in report["stdout"]


@pytest.mark.in_turn("who")
@pytest.mark.parametrize("who", ["root", "bob"])
def test_entries_of_a_folder_in_a_home_are_seen_as_they_are(place, bob, home, who):
    code = "import os; print(sorted(os.listdir()), open('data.csv').read(), open('.env').read())"
    report = place.run(code, home / "project", only(bob)[who])
    assert report["stdout"] == "['.env', 'data.csv'] 1,2 of the project\n"


@pytest.mark.in_turn("who")
@pytest.mark.parametrize("who", ["root", "bob"])
def test_a_hidden_folder_of_a_home_is_seen_only_where_inputs_names_it(place, bob, home, who):
    user, hidden = only(bob)[who], home / ".ssh"
    report = place.run("import os; print(os.listdir())", hidden, user)
    assert report["stdout"] == "[]\n"
    assert "is hidden in a home" in report["stderr"]
    named = place.write_config(inputs=[str(hidden)])
    assert place.seek(hidden, user=user, config=named) == [f"{seen}/id_rsa" for seen in (WORK, hidden)]
    whole = place.write_config(inputs=[str(home)])
    assert place.seek(home / "project", [WORK, home], user=user, config=whole) == []
    report = place.run(f"print(open('{home}/notes.txt').read())", home / "project", bob, config=whole)
    assert report["stdout"] == "bob's own\n"


def test_an_entry_that_is_added_to_a_home_is_hidden_from_the_next_cell(start, home, bob, monkeypatch):
    monkeypatch.setenv("HOME", str(home))
    kernel = start(folder=home)
    hidden = "import os; [name for name in os.listdir() if name[0] == '.']"
    assert kernel.value(hidden) == "[]"
    put(home / ".token", bob, 0o644)
    assert kernel.value(f"os.path.lexists('.token'), {hidden.partition('; ')[2]}") == "(False, [])"
    kernel.good("open('.mine', 'w').close()")
    put(home / ".mine", bob, 0o644)
    assert kernel.value("open('.mine').read(), os.path.lexists('.token')") == "('', False)"


@pytest.mark.parametrize("folder", ["/etc", "/etc/ssl", "/etc/ssl/private", "/var/lib", "/var", "/usr", "/"])
def test_what_root_keeps_from_others_in_a_folder_of_the_systems_is_not_seen(place, folder):
    if not os.path.isdir(folder):
        pytest.skip(f"there is no {folder}")
    files = [pathlib.Path(within) / f"petri-test-{os.getpid()}" for within in ("/etc/ssl/private", "/var/lib")]
    try:
        for file in files:
            put(file, mode=0o600)
        assert place.seek(folder, [WORK, "/etc", "/var"]) == []
    finally:
        for file in files:
            file.unlink()


def test_what_everybody_may_write_to_shows_what_everybody_may_read(place):
    folder = place.path / "shared"
    put(folder / "private", mode=0o600)
    put(folder / "public", text="for all")
    folder.chmod(0o1777)
    assert place.seek(folder) == []
    assert place.run("print(open('public').read())", folder)["stdout"] == "for all\n"


def test_a_group_that_is_not_its_owners_gives_nothing(place, bob):
    """root's mapping never widens what the folder's owner could read."""
    folder = place.path / "given"
    put(folder / "roots", mode=0o640)
    put(folder / "bobs", bob, 0o600, "bob's own")
    os.chown(folder, bob.pw_uid, 0)
    assert place.seek(folder) == []
    report = place.run("print(open('bobs').read()); open('roots', 'a')", folder)
    assert (report["stdout"], report["error"]["ename"]) == ("bob's own\n", "PermissionError")


@pytest.mark.thorough
def test_a_folder_that_is_exchanged_while_petri_starts_shows_nothing_of_the_other(place, bob):
    """The owner of its parent has another name for root's folder, and exchanges the two all the time."""
    parent, roots = place.path / "parent", place.path / "roots"
    put(roots / "canary", mode=0o600)
    put(roots / "listed", text="for all")
    put(parent / "nb" / "own", bob, 0o600, "bob's own")
    os.chown(parent, bob.pw_uid, bob.pw_gid)
    (parent / "link").symlink_to(roots)
    folder = os.open(parent / "nb", os.O_RDONLY)
    racer = subprocess.Popen(
        [sys.executable, "-c", f"import surroundings as s\nwhile True: s.exchange('{parent}/nb', '{parent}/link')"],
        cwd=pathlib.Path(__file__).parent,
    )
    try:
        for _ in range(16):
            code = f"import os; print(os.listdir('{WORK}'), open('{WORK}/own').read())"
            seen = place.run(code, f"/proc/self/fd/{folder}")
            assert seen["stdout"] == "['own'] bob's own\n", seen
    finally:
        racer.kill()
        racer.wait()
        os.close(folder)


def test_outputs_go_to_the_folder_that_was_opened_whatever_its_name_leads_to(start, place, bob):
    parent, roots = place.path / "outside", place.path / "owned"
    put(parent / "nb" / "own", text="x")
    roots.mkdir()
    os.chown(parent, bob.pw_uid, bob.pw_gid)
    kernel = start(folder=parent / "nb")
    kernel.good("open('one.txt', 'w').write('1')")
    os.rename(parent / "nb", parent / "moved")
    (parent / "nb").symlink_to(roots)
    kernel.good("open('two.txt', 'w').write('2')")
    assert list(roots.iterdir()) == []
    assert sorted(os.listdir(parent / "moved" / "outputs")) == [".petri-sha256", "one.txt", "two.txt"]


@pytest.fixture(scope="module")
def venv_home(place):
    """A home that is itself a virtual environment, with a socket in it."""
    user = surroundings.make_user(f"eve{os.getpid()}", place.path / "homes" / "eve")
    home = pathlib.Path(user.pw_dir)
    subprocess.run([surroundings.SYSTEM_PYTHON, "-m", "venv", "--without-pip", home], check=True)
    put(home / ".netrc", user, 0o644)
    put(home / "diary.txt", user, 0o644)
    yield user
    surroundings.remove_user(user)


@pytest.mark.in_turn("who")
@pytest.mark.parametrize("who", ["root", "bob"])
def test_home_that_is_a_virtual_environment_shows_only_what_python_needs(place, bob, venv_home, who):
    home = pathlib.Path(venv_home.pw_dir)
    folder = place.path / f"nb-{who}"
    put(folder / "own", only(bob)[who], text="x")
    report = place.run(f"import os, sys; print(sys.prefix, sorted(os.listdir('{home}')))", folder, only(bob)[who],
                       python=home / "bin" / "python")  # fmt: skip
    assert report["stdout"] == f"{home} ['bin', 'include', 'lib', 'lib64', 'pyvenv.cfg']\n", report
    assert place.seek(folder, [WORK, home], user=only(bob)[who], python=home / "bin" / "python") == []


def test_root_with_the_home_of_another_user_takes_no_configuration_from_it_and_leaves_nothing_there(place, bob, home):
    """As sudo does it that keeps HOME."""
    folder = place.path / "nb-sudo"
    put(folder / "own", text="x")
    put(home / ".config" / "petri" / "config.json", bob, text=json.dumps({"inputs": ["/etc"], "records": {"keep_days": 1}}))
    env = {"PATH": os.environ["PATH"], "HOME": str(home)}
    shutil.rmtree(home / ".local", ignore_errors=True)  # of kernels that bob has run

    def run(*options):
        command = [place.petri, "run", "--python", surroundings.SYSTEM_PYTHON, *options, "-"]
        return subprocess.run(command, cwd=folder, env=env, input="6 * 7", capture_output=True, text=True, check=False)

    refused = run()
    assert refused.stdout == "" and f"config.json is not used: its folder belongs to another user (uid {bob.pw_uid})" in refused.stderr
    for mode in (0o755, 0o700):
        home.chmod(mode)
        done = run("--config", home / ".config" / "petri" / "config.json")
        report = json.loads(done.stdout)
        assert (report["result"], report["record"]) == ("42", False)
        assert f"the folder {home} belongs to another user; start petri with a HOME of your own" in done.stderr
        assert not (home / ".local").exists()
    home.chmod(0o755)


# Tries each socket and FIFO below a folder: how far it gets.
CALL = """
import os, socket
for folder, folders, names in os.walk(%r):
    for name in names:
        path = os.path.join(folder, name)
        try:
            if name.endswith(".socket"):
                socket.socket(socket.AF_UNIX).connect(path)
            elif name.endswith(".fifo"):
                os.open(path, os.O_WRONLY | os.O_NONBLOCK)
            else:
                continue
            print("reached", path)
        except OSError as error:
            print(type(error).__name__)
"""


# Something mounted in a folder with more entries than are taken apart, as the runtimes of graphics cards do it: Linux
# lets no overlay lie over it, so that the host's inodes have to be shown.
CROWD = """
cd "$1"; shift
mkdir mnt; mount -t tmpfs other mnt; touch $(seq 300)
exec "$@"
"""


@pytest.mark.parametrize("crowded", [False, True], ids=["overlay", "hosts"])
def test_sockets_and_fifos_of_the_host_lead_nowhere(place, crowded):
    top = place.path / f"calls-{crowded}"
    venv = top / "venv"
    subprocess.run([surroundings.SYSTEM_PYTHON, "-m", "venv", "--without-pip", venv], check=True)
    put(top / "nb" / "own", text="x")
    os.mkfifo(venv / "lib" / "in.fifo", 0o666)
    reader = os.open(venv / "lib" / "in.fifo", os.O_RDONLY | os.O_NONBLOCK)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(venv / "lib" / "in.socket"))
        listener.listen(1)
        (venv / "lib" / "in.socket").chmod(0o777)
        before = ["unshare", "-m", "sh", "-ec", CROWD, "sh", str(venv / "lib"), "env", "-C", top / "nb"] if crowded else ()
        report = place.run(CALL % str(venv), top / "nb", python=venv / "bin" / "python", before=before)
    os.close(reader)
    assert report["outcome"] == "ok", report
    assert "reached" not in report["stdout"]
    assert len(report["stdout"].split()) == 2


# A volume in the notebook's folder, as containers have them.
VOLUME = """
mount -t tmpfs volume "$1"/vol; shift
echo -n mounted > vol/in.txt
mkdir -p deep/er/mnt; mount -t tmpfs other deep/er/mnt; echo -n deep > deep/er/mnt/in.txt
chown -R --reference=. vol deep
exec "$@"
"""

USE_VOLUME = """
import os
assert sorted(os.listdir()) == ["big.bin", "deep", "link", "sub", "top.txt", "vol"], os.listdir()
assert open("top.txt").read() == open("link").read() == "top" and open("sub/in.txt").read() == "sub"
assert open("vol/in.txt").read() == "mounted" and open("deep/er/mnt/in.txt").read() == "deep"
for path in ("top.txt", "sub/in.txt", "sub/a,b:c/in.txt", "vol/in.txt", "deep/er/mnt/in.txt", "vol/new.txt", "new.txt"):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    open(path, "w").write("written")
os.remove("sub/gone.txt")
assert os.path.getsize("big.bin") == 5 << 20
try:
    open("big.bin", "a")
except OSError as error:
    print(type(error).__name__, error.strerror)
"""


@pytest.mark.in_turn("who")
@pytest.mark.parametrize("who", ["root", "bob"])
def test_a_folder_with_something_mounted_in_it_runs_cells(place, bob, who):
    user, folder = only(bob)[who], place.path / f"volume-{who}"
    for name, text in {"top.txt": "top", "sub/in.txt": "sub", "sub/gone.txt": "gone", "vol/below": CANARY,
                       "deep/er/mnt/below": CANARY, "sub/a,b:c/old": "", "big.bin": "x" * (5 << 20)}.items():  # fmt: skip
        put(folder / name, user or None, text=text)
    (folder / "link").symlink_to("top.txt")
    for made in [folder, *folder.rglob("*")]:
        if user:
            os.chown(made, user.pw_uid, user.pw_gid, follow_symlinks=False)
    before = ["unshare", "-m", "sh", "-ec", VOLUME, "sh", str(folder)]
    report = place.run(USE_VOLUME, folder, user, before=before)
    assert (report["outcome"], report["stdout"]) == ("ok", "OSError Read-only file system\n"), report
    assert "something is mounted in this folder" in report["stderr"]
    assert "1 of them can only be read" in report["stderr"]
    assert {row["path"]: row["action"] for row in report["artifacts"]} == {
        "top.txt": "changed", "sub/in.txt": "changed", "sub/a,b:c/in.txt": "created", "vol/in.txt": "changed",
        "deep/er/mnt/in.txt": "changed", "vol/new.txt": "created", "new.txt": "created", "sub/gone.txt": "deleted",
    }  # fmt: skip
    assert place.seek(folder, user=user, before=before) == [], "what a mount covers is not uncovered"


@pytest.fixture
def start_with_volume(start, kernel_dirs, tmp_path):
    """Starts a kernel in a folder in which a volume is mounted, with sub/ beside it."""

    def start_kernel(name="petri"):
        folder = tmp_path / "nb"
        put(folder / "sub" / "in.txt", text="host's")
        (folder / "vol").mkdir()
        spec = json.loads((kernel_dirs["venv"] / name / "kernel.json").read_text())
        spec["argv"] = ["unshare", "-m", "sh", "-ec", VOLUME, "sh", str(folder), *spec["argv"]]
        wrapped = tmp_path / "kernels" / name
        wrapped.mkdir(parents=True)
        (wrapped / "kernel.json").write_text(json.dumps(spec))
        return start(kernel_dir=wrapped.parent, folder=folder, name=name)

    return start_kernel


@pytest.mark.parametrize("before", [[], ["own.txt", "deep/own.txt"]], ids=["absent", "present"])
@pytest.mark.parametrize("profile", ["petri", "petri-strict", "petri-writable"])
def test_outputs_of_a_folder_with_something_mounted_in_it_are_hidden_as_elsewhere(
    start_with_volume, tmp_path, profile, before
):
    name = "outputs-aside" if profile == "petri-writable" else "outputs"
    outputs = tmp_path / "nb" / name
    for own in before:
        put(outputs / own, text="own")
    kernel = start_with_volume(profile)
    first = kernel.good("open('a.txt', 'w').write('a')")
    assert (f"is not written: cells don't see it as it is; files that they make are copied to {name}." in str(first)) == (
        profile == "petri-writable"
    )
    cell = kernel.ask("open('b.txt', 'w').write('b')", {"fresh": True})
    assert cell.ok and {"a.txt", "b.txt"} <= set(os.listdir(outputs)), str(cell)
    look = f"import os; os.path.exists({name!r}), [name for _, _, names in os.walk({name!r}) for name in names]"
    write = f"os.makedirs({name!r}, exist_ok=True); open('{name}/b.txt', 'w').write('b')"
    for petri in ({"fresh": True}, {}) if profile != "petri" or not before else ({"fresh": True},):
        assert kernel.ask(look, petri).result == f"({bool(before)}, [])", petri
        cell = kernel.ask(f"import os; {write}", petri)
        assert [(row["path"], row["action"]) for row in cell.report["artifacts"]] == [(f"{name}/b.txt", "created")], petri


def test_files_of_a_folder_with_something_mounted_in_it_carry_on_and_are_rolled_back(start_with_volume):
    kernel = start_with_volume()
    kernel.good("open('sub/in.txt', 'w').write('one'); open('vol/new.txt', 'w').write('one')")
    lost = kernel.run("open('sub/in.txt', 'w').write('two'); import os; os.remove('vol/new.txt'); os._exit(1)")
    assert lost.ename == "CellCrashed"
    assert kernel.value("import os; open('sub/in.txt').read(), sorted(os.listdir('vol'))") == (
        "('one', ['in.txt', 'new.txt'])"
    )
    kernel.good("os.rename('vol/new.txt', 'vol/newer.txt'); import shutil; os.makedirs('sub/a/b'); shutil.rmtree('sub/a')")
    assert kernel.value("sorted(os.listdir('vol')), os.listdir('sub')") == "(['in.txt', 'newer.txt'], ['in.txt'])"


def test_modules_in_the_folder_are_not_imported_outside_of_a_sandbox(place):
    """petri asks an interpreter what it is; that must not be told by whoever made the folder."""
    folder, mark = place.path / "modules", place.path / "mark"
    for name in sorted(sys.stdlib_module_names - {"this", "antigravity"}):
        put(folder / f"{name}.py", text=f"open({str(mark)!r}, 'a').write({name!r})")
    options = {"cwd": folder, "capture_output": True, "check": False, "timeout": STUCK_S}
    for arguments in (["install", "--prefix", place.path / "other"], ["doctor"], ["run", "-"]):
        done = subprocess.run([place.petri, *arguments], input=b"6 * 7", **options)
        assert done.returncode == 0, done.stdout + done.stderr
        assert not mark.exists(), f"petri {arguments[0]}: {mark.read_text()}"


def test_a_folder_whose_way_is_a_link_in_the_sandbox_is_seen_at_its_own_path(start):
    """/var/tmp is a link to /tmp there; no cell ran."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="petri-test-", dir="/var/tmp"))
    try:
        (folder / "in.txt").write_text("in")
        kernel = start(folder=folder)
        assert kernel.value(f"open({str(folder / 'in.txt')!r}).read(), open('{WORK}/in.txt').read()") == "('in', 'in')"
        assert kernel.value("import os; os.getcwd()") == repr(str(folder))
    finally:
        shutil.rmtree(folder)
