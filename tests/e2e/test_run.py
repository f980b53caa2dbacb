"""petri run: one cell without Jupyter."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

from kernels import PETRI, ROOT, STUCK_S
from processes import family, name_of

DENY = str(ROOT / "tests" / "e2e" / "deny.py")


def petri_run(tmp_path, *arguments, code=None, stdin=None, prefix=()):
    """The finished process, and the report that it wrote, or None."""
    if code is not None:
        (tmp_path / "cell.py").write_text(code)
        arguments = ["cell.py", *arguments]
    done = subprocess.run(
        [*prefix, PETRI, "run", "--python", sys.executable, *arguments],
        cwd=tmp_path, input=stdin, capture_output=True, text=True, timeout=STUCK_S, check=False,
    )  # fmt: skip
    return done, json.loads(done.stdout) if done.stdout else None


def test_output_of_the_cell_is_in_the_report(tmp_path):
    code = "import sys\nprint('out')\nprint('err', file=sys.stderr)\ndisplay({'a': 1})\n6 * 7"
    done, report = petri_run(tmp_path, code=code)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert (report["outcome"], report["stdout"], report["stderr"]) == ("ok", "out\n", "err\n")
    assert report["result"] == "42"
    assert [display["data"]["text/plain"] for display in report["displays"]] == ["{'a': 1}"]


def test_code_files_and_stdin_are_read_from_the_given_paths(tmp_path):
    (tmp_path / "in.txt").write_text("given")
    (tmp_path / "data.csv").write_text("1,2\n")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "raw.bin").write_bytes(bytes(range(256)))
    code = "import sys; print(sys.stdin.read(), open('t/table.csv').read(), len(open('raw.bin', 'rb').read()))"
    done, report = petri_run(
        tmp_path, "--stdin", "in.txt", "--file", "data.csv:t/table.csv", "--file=sub/raw.bin", "-", stdin=code
    )
    assert done.returncode == 0, done.stderr
    assert report["stdout"] == "given 1,2\n 256\n"
    assert [row["path"] for row in report["inputs"]] == ["t/table.csv", "raw.bin"]
    done, report = petri_run(tmp_path, "--stdin", "-", code="print(input())", stdin="typed\n")
    assert report["stdout"] == "typed\n"


@pytest.mark.check
@pytest.mark.parametrize(
    ("code", "options", "status", "outcome"),
    [
        ("1 / 0", [], 1, "error"),
        ("while True: pass", ["--timeout", "500ms"], 3, "timeout"),
        ("import os; os._exit(0)", [], 3, "crash"),
        ("1", ["--timeout", "2h"], 2, "refused"),
        ("b = [bytearray(1 << 20) for _ in range(900)]", ["--memory", "100M"], 3, "memory"),
        ("1", ["--profile", "strict"], 0, "ok"),
    ],
)
def test_exit_status_follows_the_outcome(tmp_path, code, options, status, outcome):
    done, report = petri_run(tmp_path, *options, code=code)
    assert (done.returncode, report["outcome"]) == (status, outcome), done.stdout + done.stderr


def test_without_a_sandbox_it_exits_with_4(tmp_path):
    done, report = petri_run(tmp_path, code="1", prefix=[sys.executable, DENY, "setns"])
    assert (done.returncode, report["outcome"]) == (4, "sandbox"), done.stderr


# What a cell is told of its host's name, by everything that tells it.
NAMES = """
import pathlib, socket
print(socket.gethostname(), pathlib.Path("/etc/hostname").read_text().strip(), pathlib.Path("/etc/hosts").read_text()
      .split()[2], pathlib.Path("/proc/sys/kernel/hostname").read_text().strip(), socket.gethostbyname(socket.gethostname()))
"""


OWN_NAME = os.uname().nodename


@pytest.mark.parametrize(
    ("refused", "name"), [("acct", "petri"), ("sethostname", OWN_NAME), ("unshare:0=0x4000000", OWN_NAME)]
)
def test_host_name_is_the_machines_where_it_may_not_be_set(tmp_path, refused, name):
    done, report = petri_run(tmp_path, code=NAMES, prefix=[sys.executable, DENY, refused])
    assert (done.returncode, report["outcome"]) == (0, "ok"), done.stderr
    assert report["stdout"].split() == [name] * 4 + ["127.0.0.1"]


def test_name_of_the_machines_domain_is_not_the_cells(tmp_path, skip_or_fail):
    if os.geteuid() != 0:
        skip_or_fail("root gives a domain's name, in a namespace of its own")
    named = 'echo canary.example >/proc/sys/kernel/domainname && exec "$0" "$@"'
    code = "print(open('/proc/sys/kernel/domainname').read())"
    done, report = petri_run(tmp_path, code=code, prefix=["unshare", "--uts", "sh", "-c", named])
    assert (done.returncode, report["stdout"].strip()) == (0, "(none)"), done.stderr


def test_cell_is_told_where_copies_of_a_descriptor_will_part(tmp_path):
    done, report = petri_run(tmp_path, code="pass", prefix=[sys.executable, DENY, "kcmp"])
    assert (done.returncode, report["outcome"]) == (0, "ok"), done.stderr
    assert report["stderr"].startswith("petri: kcmp is refused here (Operation not permitted), so copies of a descriptor")


# What a cell is told of a port that nobody listens on.
CONNECT = """
import errno, socket
print(errno.errorcode[socket.socket().connect_ex(("127.0.0.1", 9))])
"""


@pytest.mark.parametrize(("refused", "answer"), [("acct", "ECONNREFUSED"), ("ioctl:1=0x8914", "ENETUNREACH")])
def test_cell_runs_without_a_loopback_where_it_may_not_be_raised(tmp_path, refused, answer):
    done, report = petri_run(tmp_path, code=CONNECT, prefix=[sys.executable, DENY, refused])
    assert (done.returncode, report["outcome"], report["stdout"]) == (0, "ok", answer + "\n"), (done.stderr, report)


# Calls that are refused, and one that is told of though it is let through.
REFUSED = """
import ctypes, errno, socket
libc = ctypes.CDLL(None, use_errno=True)
print(libc.ptrace(0, 0, 0, 0), errno.errorcode[ctypes.get_errno()], end=" ")
print(errno.errorcode[socket.socket().connect_ex(("192.0.2.1", 9))])
"""


@pytest.mark.parametrize(("prefix", "how"), [("acct", "are reported"), ("acct:listen", "go unreported")])
def test_calls_are_refused_where_another_filter_has_the_listener(tmp_path, prefix, how):
    done, report = petri_run(tmp_path, code=REFUSED, prefix=[sys.executable, DENY, prefix])
    assert (done.returncode, report["stdout"]) == (0, "-1 EPERM ENETUNREACH\n"), (done.stderr, report)
    assert report["isolation"]["seccomp"] == f"filter that allows what is listed; refused calls {how}"
    assert bool(report["denied"]) is (how == "are reported")


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["none.py"], "none.py: No such file or directory"),
        ([], "petri run needs FILE.py|-"),
        (["--profile", "lax", "cell.py"], "there is no profile lax"),
        (["--file", "none.csv", "cell.py"], "none.csv: No such file or directory"),
        (["--artifacts", "cell.py/a", "cell.py"], "cell.py/a, can't be made: Not a directory"),
        (["--stdin", "-", "-"], "standard input can be the code or its input, not both"),
        (["--stdin", "latin1.txt", "cell.py"], "latin1.txt is not UTF-8"),
    ],
)
def test_a_wrong_command_line_exits_with_2(tmp_path, arguments, why):
    (tmp_path / "cell.py").write_text("print('it ran')")
    (tmp_path / "latin1.txt").write_bytes(b"\xe4")
    done, report = petri_run(tmp_path, *arguments, stdin="")
    assert done.returncode == 2
    assert why in done.stderr
    assert report is None


def test_a_request_over_the_cap_of_a_message_is_an_error_and_not_waited_for(tmp_path):
    """Four files of 50 MiB are 267 MiB in base64, more than the 256 MiB that the kernel takes; they hold no bytes."""
    with open(tmp_path / "large.bin", "wb") as file:
        file.truncate(50 << 20)
    files = [f"--file=large.bin:{n}.bin" for n in range(4)]
    done, report = petri_run(tmp_path, *files, code="1")
    assert (done.returncode, report) == (2, None), done.stderr
    assert done.stderr == "petri: asking the kernel: Message too long\n"


@pytest.mark.parametrize("arguments", [["config", "schema"], ["doctor", "--json"], ["run", "cell.py"]])
def test_json_that_cannot_be_written_is_an_error(tmp_path, arguments):
    (tmp_path / "cell.py").write_text("1")
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run(
            [PETRI, *arguments], cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode != 0
    assert "could not be written: No space left on device" in done.stderr


def wait_until_busy(process):
    """Until the cell has started its sleep, which nothing tells from outside; returns all processes that there are."""
    while process.poll() is None:
        members = family(process.pid)
        if "sleep" in map(name_of, members):
            return members
        time.sleep(0.05)
    pytest.fail(f"it ended: {process.communicate()}")


def test_ctrl_c_ends_the_cell_and_the_report_says_so(patient, tmp_path):
    # Kept by a name: an interrupt in a finalizer is ignored.
    (tmp_path / "cell.py").write_text("import subprocess; p = subprocess.Popen(['sleep', '1000'])\nwhile True: pass")
    command = [PETRI, "run", "--python", sys.executable, "cell.py"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    members = wait_until_busy(process)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=STUCK_S)
    assert process.returncode == 1, out + err
    report = json.loads(out)
    assert (report["outcome"], report["error"]["ename"]) == ("interrupted", "KeyboardInterrupt")
    assert not [pid for pid in members if os.path.exists(f"/proc/{pid}")]


def test_ctrl_c_while_the_kernel_starts_interrupts_the_cell(patient, tmp_path):
    (tmp_path / "cell.py").write_text("while True: pass")
    command = [PETRI, "run", "--python", sys.executable, "cell.py"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while process.poll() is None and len(family(process.pid)) < 2:
        time.sleep(0.001)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=STUCK_S)
    assert process.returncode == 1, out + err
    assert json.loads(out)["error"]["ename"] == "KeyboardInterrupt"


def test_files_of_the_cell_are_copied_to_the_given_folder(tmp_path):
    (tmp_path / "to").mkdir()
    code = "open('a.txt', 'w').write('x')"
    done, report = petri_run(tmp_path, "--artifacts", "to", code=code)
    assert report["artifacts"][0]["copied_to"] == str(tmp_path / "to" / "a.txt"), done.stderr
    assert (tmp_path / "to" / "a.txt").read_text() == "x"
    done, report = petri_run(tmp_path, code=code)
    assert report["artifacts"][0]["refused"] == "copying is off"
    assert not (tmp_path / "outputs").exists()


def run_as_text(folder, code, *arguments):
    (folder / "cell.py").write_text(code)
    command = [PETRI, "run", "--text", *arguments, "cell.py"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_text_is_the_codes_output_and_one_line_about_the_run(tmp_path):
    code = "import sys\nprint('out')\nprint('err', file=sys.stderr)\nopen('a.txt', 'w').write('x')\n6 * 7"
    done = run_as_text(tmp_path, code, "--artifacts", "new/folder")
    assert (done.returncode, done.stdout) == (0, "out\n42\n")
    err, saved, closing = done.stderr.splitlines()
    assert (err, saved) == ("err", f"Saved to {tmp_path}/new/folder/: a.txt")
    assert re.fullmatch(r"petri: ok, \d+\.\d\d s, \d+ MiB", closing)
    assert (tmp_path / "new" / "folder" / "a.txt").read_text() == "x"


def test_text_of_a_run_that_fails_has_its_error_and_exit_status(tmp_path):
    done = run_as_text(tmp_path, "print('before')\n1 / 0")
    assert (done.returncode, done.stdout) == (1, "before\n")
    assert "ZeroDivisionError: division by zero" in done.stderr and "\x1b" not in done.stderr
    assert done.stderr.splitlines()[-1].startswith("petri: error, ")
    done = run_as_text(tmp_path, "while True: pass", "--timeout", "300ms")
    assert done.returncode == 3 and "CellTimeout" in done.stderr
    assert re.match(r"petri: timeout, \d+\.\d\d s", done.stderr.splitlines()[-1])


def test_text_to_a_pipe_keeps_the_bytes_and_to_a_terminal_is_made_safe(tmp_path):
    code = "print('\x1b]0;title\x07')"
    assert run_as_text(tmp_path, code).stdout == "\x1b]0;title\x07\n"
    ours, theirs = os.openpty()
    subprocess.run([PETRI, "run", "--text", "cell.py"], cwd=tmp_path, stdout=theirs, stderr=subprocess.DEVNULL, check=True)
    os.close(theirs)
    assert os.read(ours, 1000) == b"?]0;title?\r\n"
    os.close(ours)


def test_displays_are_without_the_kernels_own_note(tmp_path):
    code = "from IPython.display import HTML, display\ndisplay(HTML('<b>x</b>'))\nopen('a.txt', 'w').write('x')"
    done, report = petri_run(tmp_path, "--artifacts", "to", code=code)
    assert [list(shown["data"]) for shown in report["displays"]] == [["text/plain", "text/html"]], done.stderr
    assert report["notes"] == [f"Saved to {tmp_path}/to/: a.txt"]
