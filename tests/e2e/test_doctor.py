"""petri doctor: what a machine gives, and what it says where something is missing. And --help of every command."""

import json
import os
import subprocess
import sys

import pytest

from kernels import PETRI, ROOT, STUCK_S
from surroundings import SYSTEM_PYTHON
from test_refusal import DENY, used_up

PROBES = [
    "linux", "container", "files", "apparmor", "namespaces", "ptrace", "kcmp", "seccomp", "cell", "overlay", "cgroup",
]  # fmt: skip
FINDINGS = ["good", "degraded", "unusable"]  # by exit status

# A command that starts doctor where something is missing, the probe that finds it out, and what it says.
LACKS = {
    "user namespaces used up": (used_up("user"), "namespaces", "making a user namespace failed"),
    "pid namespaces used up": (used_up("pid"), "namespaces", "Raise sysctl user.max_pid_namespaces."),
    "net namespaces used up": (used_up("net"), "cell", "making the namespaces of a sandbox failed"),
    "mount denied": ([sys.executable, DENY, "mount"], "namespaces", "making a mount namespace failed"),
    "setns denied": ([sys.executable, DENY, "setns"], "cell", "entering the sandbox's namespaces failed"),
    "ptrace denied": ([sys.executable, DENY, "ptrace"], "cell", "tracing the worker with ptrace failed"),
    "filters denied": ([sys.executable, DENY, "seccomp"], "seccomp", "filters of system calls are refused"),
    "seccomp denied": ([sys.executable, DENY, "seccomp"], "cell", "installing the seccomp filter failed"),
}

SUDO = "" if os.geteuid() == 0 else "sudo "

# What stands in for an interpreter: it says that it is one and can't start.
BROKEN = """#!/bin/sh
[ "$2" = -c ] && echo "$0" && echo / && echo && exit
echo "no module named encodings" >&2
exit 1
"""

COMMON = {"--help", "--version"}
OPTIONS = {
    "kernel": {"--profile", "--config", "--python", "--artifacts", "--writable"},
    "install": {"--user", "--sys-prefix", "--prefix", "--program", "--python", "--profile", "--config"},
    "uninstall": {"--user", "--sys-prefix", "--prefix", "--python", "--profile"},
    "config": {"--config"},
    "run": {"--profile", "--config", "--python", "--timeout", "--memory", "--stdin", "--file", "--artifacts", "--text"},
    "runs": {"--json", "--limit", "--task", "--outcome", "--session", "--config"},
    "show": {"--json", "--config"},
    "replay": {"--json", "--session", "--config", "--python", "--folder"},
    "ps": {"--json"},
    "doctor": {"--json", "--python", "--seccomp"},
}


def petri(*arguments, prefix=()):
    """The finished process."""
    command = [*prefix, PETRI, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=STUCK_S, check=False)


def doctor(python=sys.executable, prefix=()):
    """The exit status and what was found, as JSON has it."""
    done = petri("doctor", "--json", "--python", python, prefix=prefix)
    assert done.stderr == ""
    return done.returncode, json.loads(done.stdout)


def by_probe(found):
    return {row["probe"]: row for row in found["probes"]}


@pytest.mark.check
def test_where_cells_run_each_probe_has_a_row_and_the_worst_is_the_exit_status():
    status, found = doctor()
    assert status in (0, 1), found
    assert found["finding"] == FINDINGS[status]
    assert found["text"].startswith("cells run here, ")
    assert [row["probe"] for row in found["probes"]] == PROBES
    assert max(FINDINGS.index(row["finding"]) for row in found["probes"]) == status
    assert all(row["needed_for"] and row["text"].endswith(".") for row in found["probes"])
    assert by_probe(found)["cell"]["text"] == f"{sys.executable} was started, captured, and ran a cell."


@pytest.mark.parametrize("prefix", [[], used_up("user")], ids=["cells run", "no cell runs"])
def test_the_text_says_what_the_json_says(prefix):
    status, found = doctor(prefix=prefix)
    done = petri("doctor", "--python", sys.executable, prefix=prefix)
    said, lines = {}, []
    for row in found["probes"]:
        first = said.setdefault(row["text"], row["probe"])
        text = row["text"] if first == row["probe"] else f"the same as {first}."
        lines.append(f"{row['finding']:9} {row['probe']:12} {text}")
    rows, _, to_do = done.stdout.partition("\n\nWhat to do:\n")
    assert rows.rstrip("\n").splitlines() == [f"petri: {found['text']}.", "", *lines]
    assert bool(to_do) == bool(found["remedies"])
    for remedy in found["remedies"]:
        assert f"\nFor {remedy['who']} ({', '.join(remedy['for'])}): {remedy['text']}\n" in to_do
    assert (done.returncode, done.stderr) == (status, "")


@pytest.mark.parametrize("lack", LACKS)
def test_where_no_sandbox_can_be_made_it_exits_with_2_and_says_what_is_missing(lack):
    prefix, probe, why = LACKS[lack]
    status, found = doctor(prefix=prefix)
    assert (status, found["finding"], found["text"]) == (2, "unusable", "no cell can run here")
    row = by_probe(found)[probe]
    assert row["finding"] == "unusable"
    assert why in row["text"]
    assert by_probe(found)["cell"]["finding"] == "unusable"
    assert [row["probe"] for row in found["probes"]] == PROBES


def test_where_another_filter_has_the_listener_reports_are_degraded():
    status, found = doctor(prefix=[sys.executable, DENY, "acct:listen"])
    assert (status, by_probe(found)["seccomp"]["finding"]) == (1, "degraded")
    assert by_probe(found)["seccomp"]["text"].startswith("filters, but refused calls go unreported: ")
    assert by_probe(found)["cell"]["finding"] == "good"


@pytest.mark.parametrize("kind", [0, 1, 7], ids=["open files", "memory", "epolls"])
def test_where_kcmp_is_refused_what_it_tells_is_degraded(kind):
    status, found = doctor(prefix=[sys.executable, DENY, f"kcmp:2={kind}"])
    assert (status, by_probe(found)["kcmp"]["finding"]) == (1, "degraded")
    assert by_probe(found)["kcmp"]["text"].startswith("it is refused (Operation not permitted). ")
    assert by_probe(found)["cell"]["finding"] == "good"


@pytest.mark.parametrize(
    ("runtime", "option"),
    [("podman", "--security-opt 'unmask=/proc/*'"), ("docker", "systempaths=unconfined"), ("lxc", "nesting=true")],
)
def test_what_a_container_refuses_is_answered_with_its_runtimes_options(monkeypatch, runtime, option):
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.setenv("container", runtime)
    _, found = doctor(prefix=[sys.executable, DENY, "mount"])
    rows = by_probe(found)
    name = {"docker": "Docker", "lxc": "LXC"}.get(runtime, runtime)
    assert rows["container"]["text"] == f"this is {name}."
    [remedy] = found["remedies"]
    assert (remedy["who"], remedy["for"]) == ("whoever starts this container", ["namespaces", "cell", "cgroup"])
    assert f"The defaults of {name} " in remedy["text"] and option in remedy["options"]


def test_where_user_namespaces_are_switched_off_it_says_how_to_switch_them_on():
    _, found = doctor(prefix=used_up("user"))
    [remedy] = [remedy for remedy in found["remedies"] if "namespaces" in remedy["for"]]
    assert remedy["who"] == "the administrator of this machine"
    path = "/etc/sysctl.d/60-petri-user-namespaces.conf"
    assert remedy["file"] == {"path": path, "content": "user.max_user_namespaces = 10000\n"}
    assert remedy["commands"][0] == f"{SUDO}sysctl --load={path}"


def test_what_a_folder_refuses_is_not_answered_with_a_containers_options(monkeypatch, place, skip_or_fail):
    if os.geteuid() != 0:
        skip_or_fail("root starts it in a folder that is closed to who runs it")
    monkeypatch.setenv("container", "podman")
    closed = place.path / "closed"
    closed.mkdir(mode=0o700)
    become = ["setpriv", "--reuid=4321", "--regid=4321", "--clear-groups"]
    command = [*become, str(place.petri), "doctor", "--json", "--python", SYSTEM_PYTHON]
    done = subprocess.run(command, cwd=closed, capture_output=True, text=True, timeout=STUCK_S, check=False)
    found = json.loads(done.stdout)
    assert "Permission denied" in by_probe(found)["namespaces"]["text"]
    assert not [remedy for remedy in found["remedies"] if "namespaces" in remedy["for"]]


@pytest.mark.parametrize(
    ("python", "why"),
    [("/bin/true", "/bin/true is no Python 3"), ("/none/python3", "/none/python3 can't be run: is it an interpreter?")],
)
def test_a_program_that_is_no_interpreter_exits_with_2_and_says_so(python, why):
    done = petri("doctor", "--python", python)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"petri: {why}\n")


def test_without_any_interpreter_all_else_is_still_looked_at(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    done = petri("doctor", "--json")
    found = json.loads(done.stdout)
    assert done.returncode == 2
    assert by_probe(found)["cell"]["text"] == "there is no Python 3 to try with."
    [remedy] = [remedy for remedy in found["remedies"] if remedy["for"] == ["cell"]]
    assert remedy["who"] == "you" and "petri doctor --python PATH" in remedy["text"]
    assert [row["probe"] for row in found["probes"]] == PROBES


def test_an_interpreter_that_ends_while_it_starts_is_quoted(tmp_path):
    python = tmp_path / "venv" / "bin" / "python3"
    python.parent.mkdir(parents=True)
    (tmp_path / "venv" / "pyvenv.cfg").touch()  # an environment, which the sandbox shows
    python.write_text(BROKEN)
    python.chmod(0o755)
    status, found = doctor(python)
    assert (status, by_probe(found)["cell"]["finding"]) == (2, "unusable")
    why = "the interpreter ended while it was starting: no module named encodings."
    assert by_probe(found)["cell"]["text"] == f"{why} Mend it, or name another with --python."
    assert by_probe(found)["namespaces"]["finding"] == "good"


def test_an_interpreter_whose_path_is_not_utf8_has_its_row(tmp_path):
    folder = os.fsencode(tmp_path) + b"/\xff"
    os.mkdir(folder)
    os.symlink(SYSTEM_PYTHON, folder + b"/python3")
    _, found = doctor(folder + b"/python3")
    assert [row["probe"] for row in found["probes"]] == PROBES
    assert "/\ufffd/python3" in by_probe(found)["cell"]["text"]


def test_it_writes_the_seccomp_profile_for_containers():
    done = petri("doctor", "--seccomp")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == json.loads((ROOT / "containers" / "seccomp.json").read_text())


def test_help_names_every_command():
    done = petri("--help")
    assert (done.returncode, done.stderr) == (0, "")
    names = [line.split()[0] for line in done.stdout.splitlines() if line.startswith("  ")]
    assert names == list(OPTIONS)
    assert petri("-h").stdout == done.stdout


@pytest.mark.parametrize("command", OPTIONS)
def test_help_of_a_command_names_its_options_and_no_others(command):
    done = petri(command, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"Usage: petri {command} ")
    names = [line.split()[0] for line in done.stdout.splitlines() if line.startswith("  --")]
    assert set(names) == OPTIONS[command] | COMMON
    assert len(names) == len(set(names))


@pytest.mark.parametrize("command", OPTIONS)
def test_help_of_a_command_says_what_its_exit_status_means(command):
    _, _, exits = petri(command, "--help").stdout.partition("\nExit status:\n")
    meanings = dict(line.split(maxsplit=1) for line in exits.splitlines())
    assert {"0", "1", "2"} <= set(meanings)
    assert list(meanings) == sorted(meanings, key=int)


def test_every_command_has_a_source_for_its_manual_page():
    sources = {path.stem for path in (ROOT / "docs" / "man").glob("*.h2m")}
    assert sources == {"petri", *OPTIONS}


def test_the_version_is_the_same_with_each_command():
    done = petri("--version")
    assert (done.returncode, done.stderr) == (0, "")
    name, version = done.stdout.split()
    assert (name, version.count(".")) == ("petri", 2)
    for command in OPTIONS:
        again = petri(command, "--version")
        assert (again.returncode, again.stdout, again.stderr) == (0, done.stdout, "")


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ([], "it needs a command"),
        (["heal"], "there is no command heal"),
        (["doctor", "--profile", "strict"], "petri doctor has no option --profile"),
        (["doctor", "me"], "petri doctor does not know what to do with me"),
        (["doctor", "--json=yes"], "--json takes no value"),
        (["doctor", "--python"], "--python needs a value: PATH"),
    ],
)
def test_a_command_line_that_is_wrong_exits_with_2_and_names_the_help(arguments, why):
    done = petri(*arguments)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"petri: {why}; see petri --help\n")
