"""What /etc/petri/config.json says holds for every user: no file of theirs, request, magic or option is beyond it."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from accounts import copy_etc
from kernels import PETRI, install

# The first argument is the /etc of the command behind it.
OVER = ["unshare", "-m", "sh", "-ec", 'mount --bind "$1" /etc; shift; exec "$@"', "sh"]
POLICY = {
    "locked": ["packages", "writable", "artifacts", "cache"],
    "artifacts": False,
    "profiles": {"notebook": {"timeout": "2m", "ceilings": {"timeout": "3m"}}, "exam": {"based_on": "strict"}},
}


@pytest.fixture(scope="module")
def etc(tmp_path_factory):
    """A copy of /etc, for a mount namespace of the test's own, in which there may be a folder petri."""
    if os.geteuid() != 0:
        (pytest.fail if os.environ.get("PETRI_REQUIRE_LIVE") == "1" else pytest.skip)("only root can mount over /etc")
    folder = tmp_path_factory.mktemp("host") / "etc"
    copy_etc(folder)
    return folder


@pytest.fixture
def operator(etc):
    """Writes the operator's file; returns it."""
    shutil.rmtree(etc / "petri", ignore_errors=True)
    (etc / "petri").mkdir()

    def write(config):
        path = etc / "petri" / "config.json"
        path.write_text(config if isinstance(config, str) else json.dumps(config))
        return path

    yield write
    shutil.rmtree(etc / "petri", ignore_errors=True)


@pytest.fixture
def start_below(etc, start, tmp_path_factory):
    """Starts a kernel, with options of `petri kernel`, for which /etc is the test's."""

    def begin(*options, **how):
        kernel_dir = install(tmp_path_factory.mktemp("prefix"), sys.executable)
        path = kernel_dir / "petri" / "kernel.json"
        spec = json.loads(path.read_text())
        path.write_text(json.dumps({**spec, "argv": [*OVER, str(etc), *spec["argv"], *options]}))
        return start(kernel_dir=kernel_dir, **how)

    return begin


@pytest.fixture
def petri(etc):
    def run(*arguments):
        return subprocess.run([*OVER, etc, PETRI, *arguments], capture_output=True, text=True, check=False)

    return run


def test_ceilings_of_the_operator_hold_against_magic_and_request(operator, config_file, start_below, tmp_path):
    operator(POLICY)
    config_file.write_text('{"profiles": {"notebook": {"timeout": "1m"}}, "history": false}')
    kernel = start_below()
    cell = kernel.good("open('made', 'w').write('x')")
    assert cell.report["limits"]["timeout_ms"] == 60_000
    asked = [kernel.run(code) for code in ("%%limits timeout=4m\n1", "%limits timeout=4m")]
    for refused in [*asked, kernel.ask("1", {"limits": {"timeout": "4m"}})]:
        assert refused.ename == "CellRefused"
        assert "over the ceiling of 180 s in profile notebook" in refused.reply["evalue"]
    assert not (tmp_path / "outputs").exists()


@pytest.mark.parametrize("way", ["found", "named"])
@pytest.mark.parametrize(
    ("config", "why"),
    [
        ({"packages": ["numpy"]}, '"packages" is locked by /etc/petri/config.json'),
        ({"profiles": {"notebook": {"ceilings": {"timeout": "1h"}}}}, "over the ceiling of 180 s that /etc/petri"),
    ],
    ids=["locked", "ceiling"],
)
def test_file_of_the_user_that_asks_for_more_runs_nothing_and_says_why(operator, config_file, start_below, way, config, why):
    operator(POLICY)
    path = config_file if way == "found" else config_file.with_name("other.json")
    path.write_text(json.dumps(config))
    kernel = start_below(*(["--config", str(path)] if way == "named" else []))
    cell = kernel.run("1")
    assert cell.ename == "SandboxError" and why in cell.reply["evalue"] and str(path) in cell.reply["evalue"]


def test_bound_of_all_kernels_is_the_operators_and_no_file_of_a_user_raises_it(operator, config_file, petri, start_below):
    operator({"kernels": {"number": 1}})
    config_file.write_text('{"kernels": {"number": 2}}')
    done = petri("config", "check")
    assert done.returncode == 2
    assert '"kernels", "number" is over the bound of 1 that /etc/petri/config.json sets for every user' in done.stderr
    config_file.write_text('{"kernels": {"processes": 5000}}')
    assert "  kernels.number: /etc/petri/config.json, the most that another file can set" in petri(
        "config", "check"
    ).stdout.splitlines()
    start_below()
    refused = start_below(wait=False).run("1")
    assert "/etc/petri/config.json, which holds for every user of this machine, allows no more than 1" in (
        refused.reply["evalue"]
    )


@pytest.mark.parametrize("option", ["--writable", "--artifacts"])
def test_option_that_turns_on_what_is_locked_off_runs_nothing(operator, config_file, start_below, option, tmp_path):
    operator(POLICY)
    kernel = start_below(*([option] if option == "--writable" else [option, str(tmp_path / "copies")]))
    cell = kernel.run("open('made', 'w').write('x')")
    assert cell.ename == "SandboxError" and "/etc/petri/config.json" in cell.reply["evalue"]
    assert option in cell.reply["evalue"] and f'locks "{option.strip("-")}"' in cell.reply["evalue"]
    assert list(tmp_path.rglob("made")) == []


def test_request_for_the_cache_is_not_answered_from_it_if_the_operator_locks_it(operator, config_file, start_below):
    locked = {"locked": ["cache"]}
    for policy, cached in [({}, True), (locked, False), ({**locked, "cache": {"ttl": "1h"}}, True)]:
        operator(policy)
        kernel = start_below()
        code = f"import time; time.time_ns(), {policy!r}"
        replies = [kernel.ask(code, {"fresh": True, "cache": "1h"}).report for _ in range(2)]
        assert bool(replies[1].get("cached")) == cached, policy


def test_file_of_the_operator_that_cannot_be_trusted_or_read_runs_nothing(operator, config_file, petri, tmp_path):
    (tmp_path / "code.py").write_text("1")
    path = operator({})
    os.chown(path, 12345, 12345)
    done = petri("run", tmp_path / "code.py")
    assert done.returncode == 2 and "no cell runs until it and its folder belong to root" in done.stderr
    path.unlink()
    path.symlink_to("nowhere")
    done = petri("run", tmp_path / "code.py")
    assert done.returncode == 2 and "/etc/petri/config.json can't be read" in done.stderr
    path.unlink()
    assert petri("run", tmp_path / "code.py").returncode == 0


def test_check_says_which_file_a_key_comes_from_and_what_is_locked(operator, config_file, petri):
    operator(POLICY)
    config_file.write_text('{"profiles": {"notebook": {"timeout": "1s"}}, "history": false}')
    done = petri("config", "check")
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and lines[:2] == [
        f"The configuration {config_file} is good.",
        "The configuration /etc/petri/config.json is good. It holds for every user of this machine, and the other is "
        "read over it.",
    ]
    assert f"  profiles.notebook.timeout: {config_file}, instead of /etc/petri/config.json" in lines
    assert "  profiles.notebook.ceilings.timeout: /etc/petri/config.json, the most that another file can set" in lines
    assert "  artifacts: /etc/petri/config.json, locked" in lines and "  packages: the default, locked" in lines
    assert f"  history: {config_file}" in lines


def test_check_tells_what_is_wrong_in_both_files_once(operator, config_file, petri):
    operator('{"profiles": {\n"exam": {"based_on": "strict", "timeout": "9h"}},\n"locked": ["all"]}')
    config_file.write_text('{"unheard": 1,\n"profiles": {"quiz": {"based_on": "exam"}}}')
    done = petri("config", "check")
    places = [line.removeprefix("petri: ").split(": ")[0] for line in done.stderr.splitlines()]
    assert (done.returncode, places) == (2, ["/etc/petri/config.json:2", "/etc/petri/config.json:3", f"{config_file}:1"])


def test_file_of_the_operator_that_is_named_is_not_held_against_itself(operator, config_file, petri):
    operator({"locked": True, "history": False})
    config_file.unlink(missing_ok=True)
    assert petri("config", "check", "/etc/petri/config.json").returncode == 0
