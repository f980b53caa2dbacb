"""petri install for who makes a package, and the interpreter that petri is installed for."""

import json
import os
import subprocess
import sys

import pytest

from kernels import PETRI, STUCK_S
from surroundings import SYSTEM_PYTHON

NAMES = ["petri", "petri-strict", "petri-writable"]


def petri(*arguments, **options):
    command = [PETRI, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=STUCK_S, check=False, **options)


def interpreter_of_a_run(*arguments):
    done = petri("run", "--text", *arguments, "-", input="import sys; print(sys.executable)")
    return done.stdout.strip()


@pytest.mark.parametrize("python", [[], ["--python", "/opt/absent/python3"]])
def test_a_package_s_kernelspecs_name_what_is_given_though_nothing_of_it_is_there(python, tmp_path):
    program = "{resource_dir}/../../../../bin/petri"
    done = petri("install", "--program", program, *python, "--prefix", tmp_path)
    assert done.returncode == 0, done.stderr
    kernels = tmp_path / "share" / "jupyter" / "kernels"
    assert sorted(path.name for path in kernels.iterdir()) == NAMES
    for name in NAMES:
        argv = json.loads((kernels / name / "kernel.json").read_text())["argv"]
        assert argv[:3] == [program, "kernel", "{connection_file}"]
        assert argv[5:7] == python or ("--python" not in argv and not python), argv


@pytest.mark.parametrize(
    ("options", "environment", "place"),
    [
        (["--prefix", "{0}/p"], {}, "p/share/jupyter"),
        (["--program", "/usr/bin/petri", "--prefix", "{0}/p"], {}, "p/share/jupyter"),
        (["--user"], {}, "home/.local/share/jupyter"),
        (["--user"], {"JUPYTER_DATA_DIR": "{0}/data"}, "data"),
    ],
)
def test_jupyterlab_s_extension_is_beside_the_kernels(options, environment, place, tmp_path):
    own = {"HOME": f"{tmp_path}/home", **{name: value.format(tmp_path) for name, value in environment.items()}}
    kept = {name: os.environ[name] for name in ("PATH",)}
    done = petri("install", *(option.format(tmp_path) for option in options), env={**kept, **own})
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in (tmp_path / place / "kernels").iterdir()) == NAMES
    extension = tmp_path / place / "labextensions" / "petri-timeline"
    package = json.loads((extension / "package.json").read_text())
    assert package["name"] == extension.name
    assert (extension / package["jupyterlab"]["_build"]["load"]).is_file()


def test_uninstall_leaves_nothing_of_petri_and_all_that_is_others(tmp_path):
    data = tmp_path / "share" / "jupyter"
    config = tmp_path / "class.json"
    config.write_text('{"profiles": {"exam": {"based_on": "strict"}}}')
    installed = ["--prefix", tmp_path, "--profile", "exam"]
    assert petri("install", *installed, "--config", config).returncode == 0
    (data / "kernels" / "other").mkdir()
    assert sorted(path.name for path in (data / "kernels").iterdir()) == ["other", "petri", "petri-exam", *NAMES[1:]]
    done = petri("uninstall", *installed)
    assert (done.returncode, done.stdout.count(" is removed\n")) == (0, 5), done.stdout + done.stderr
    assert {path.relative_to(data).as_posix() for path in data.rglob("*")} == {
        "kernels",
        "kernels/other",
        "labextensions",
    }
    again = petri("uninstall", *installed)
    assert (again.returncode, again.stdout) == (0, f"petri: nothing of petri is in {data}\n")


def test_uninstall_of_a_user_takes_what_install_has_written_for_them(tmp_path):
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    assert petri("install", env=env).returncode == 0
    assert petri("uninstall", env=env).returncode == 0
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
    del env["HOME"]
    assert "--prefix" in petri("uninstall", env=env).stderr


def test_uninstall_keeps_a_folder_that_has_a_file_of_others_and_says_so(tmp_path):
    assert petri("install", "--prefix", tmp_path).returncode == 0
    kernel = tmp_path / "share" / "jupyter" / "kernels" / "petri"
    (kernel / "kernel.js").write_text("")
    done = petri("uninstall", "--prefix", tmp_path)
    assert done.returncode == 1 and f"{kernel}: Directory not empty" in done.stderr
    assert [path.name for path in kernel.iterdir()] == ["kernel.js"]
    assert not (tmp_path / "share/jupyter/labextensions/petri-timeline").exists()


def test_uninstall_refuses_a_profile_that_is_a_path(tmp_path):
    done = petri("uninstall", "--prefix", tmp_path, "--profile", "x/../../other")
    assert done.returncode == 2 and "no profile" in done.stderr


def test_a_package_s_kernelspecs_need_a_prefix(tmp_path):
    done = petri("install", "--program", "/usr/bin/petri", env={"HOME": str(tmp_path)})
    assert (done.returncode, list(tmp_path.iterdir())) == (2, [])
    assert "and --prefix" in done.stderr


@pytest.mark.parametrize("spelling", ["{0}/../{1}/bin/python3", "{0}/./{1}/bin/python3", "{0}//{1}/bin/python3"])
def test_an_interpreter_s_path_may_be_spelled_in_any_way(spelling, place):
    environment = place.path / "environment"
    if not environment.exists():
        subprocess.run([SYSTEM_PYTHON, "-m", "venv", "--without-pip", environment], check=True)
    python = spelling.format(environment if ".." in spelling else place.path, environment.name)
    done = petri("run", "--text", "--python", python, "-", input="import sys; print(sys.prefix)")
    assert done.returncode == 0 and os.path.normpath(done.stdout.strip()) == str(environment), done.stderr


def test_cells_get_the_interpreter_that_petri_is_installed_for_unless_another_is_given(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("PETRI_PYTHON", SYSTEM_PYTHON)
    assert interpreter_of_a_run() == SYSTEM_PYTHON
    assert interpreter_of_a_run("--python", sys.executable) == sys.executable
    monkeypatch.setenv("PETRI_PYTHON", "/opt/absent/python3")
    done = petri("run", "-", input="1")
    assert done.returncode == 4 and "/opt/absent/python3" in done.stdout, done.stdout
