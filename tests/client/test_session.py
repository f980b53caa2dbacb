"""Session against petri: state, every outcome, progress, interrupts, kernels that die, and kernels other than petri."""

import copy
import gc
import os
import pathlib
import pickle
import queue
import signal
import subprocess
import sys
import threading
import types

import pytest

import petri_kernel as petri
import petri_kernel.session as module
from conftest import PROGRAM, ROOT
from kernels import STUCK_S
from petri_kernel import errors, kernel, runs
from petri_kernel.errors import failure_class
from processes import open_family, wait_for_end


def test_runs_share_their_state_and_return_their_output(shared):
    assert shared.run("import sys; x = 6").ok
    found = shared.run("print('out'); print('err', file=sys.stderr); x * 7")
    assert (found.outcome, found.rolled_back, found.error) == ("ok", False, None)
    assert (found.stdout, found.stderr, found.result) == ("out\n", "err\n", "42")
    assert found.metrics.stdout_bytes == 4 and found.metrics.wall_ms > 0
    assert found.limits.timeout_ms == 3_600_000
    assert found.report["language"] == "python"
    assert found.session_id == shared.run("1").session_id and found.run_id != shared.run("1").run_id


def test_every_limit_of_the_kernel_has_a_name_here(shared):
    tight = {"runs": 100, "budget": "1h", "task_artifacts": "1G"}
    found = shared.run("1", task="T-limits", limits=tight).raise_for_outcome()
    assert set(found.report["limits"]) <= set(petri.Limits.__dataclass_fields__)
    assert (found.limits.runs, found.limits.budget_ms, found.limits.task_artifacts_bytes) == (100, 3_600_000, 1 << 30)


def test_a_limit_over_its_ceiling_is_refused_with_the_ceiling(shared):
    assert "cpus 10000 is over the ceiling" in shared.run("1", limits={"cpus": 10_000}).error.evalue


def test_displays_come_with_all_their_types(shared):
    found = shared.run("from IPython.display import display, HTML\ndisplay(HTML('<b>x</b>'))\nHTML('<i>y</i>')")
    assert [display.data["text/html"] for display in found.displays] == ["<b>x</b>"]
    assert found.result_data["text/html"] == "<i>y</i>"


OUTCOMES = {
    "error": ("before = 1\n1/0", {}, False),
    "timeout": ("while True: pass", {"timeout": 0.3}, True),
    "cpu": ("while True: pass", {"limits": {"cpu": "300ms"}}, True),
    "memory": ("import os\nfor _ in range(8):\n    if not os.fork():\n        held = b'x' * (40 << 20)\n"
               "        while True: pass\nos.wait()", {"memory": "150M"}, True),
    "crash": ("import os; os._exit(3)", {}, True),
    "refused": ("print('it ran')", {"timeout": "2h"}, True),
}  # fmt: skip


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_each_outcome_is_returned_and_the_session_goes_on(shared, outcome):
    code, asked, rolled_back = OUTCOMES[outcome]
    shared.run("state = 17").raise_for_outcome()
    found = shared.run(code, **asked)
    assert (found.outcome, found.rolled_back, found.ok) == (outcome, rolled_back, False), found.report
    assert found.error.evalue and found.reason.endswith(found.error.evalue)
    with pytest.raises(failure_class(outcome, found.error.ename)) as raised:
        found.raise_for_outcome()
    assert raised.value.result is found
    assert shared.run("state").result == "17"


def test_an_error_says_where_it_was(shared):
    found = shared.run("x = 1\nvalue = x / 0")
    assert (found.error.ename, found.error.line) == ("ZeroDivisionError", 2)
    assert any("value = x / 0" in line for line in found.error.traceback)


def test_run_without_a_sandbox_has_an_outcome_of_its_own(tmp_path, monkeypatch):
    program = tmp_path / "petri"
    deny = ROOT / "tests" / "e2e" / "deny.py"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {deny} unshare {PROGRAM} "$@"\n')
    program.chmod(0o755)
    with petri.Session(program=program) as session:
        found = session.run("print('it ran')")
    assert (found.outcome, found.stdout) == ("sandbox", "")
    with pytest.raises(petri.SandboxError):
        found.raise_for_outcome()


def test_output_over_the_limit_is_counted(shared):
    found = shared.run("print('x' * 5_000_000)", limits={"output": "1M"})
    assert found.outcome == "ok" and len(found.stdout) <= (1 << 20) + 200
    assert found.metrics.dropped_bytes >= 3_900_000


def test_output_over_keep_bytes_is_not_kept():
    with petri.Session(keep_bytes=1000) as session:
        found = session.run("print('x' * 5000)")
    assert (len(found.stdout), found.left_out_bytes, found.metrics.stdout_bytes) == (1000, 4001, 5001)


def test_progress_comes_while_the_code_runs_in_the_callers_thread(shared):
    told, threads = [], set()

    def note(progress):
        told.append((progress.kind, progress.text))
        threads.add(threading.current_thread())

    found = shared.run(
        "import sys\nprint('a', flush=True)\nprint('b', file=sys.stderr, flush=True)\ndisplay({'n': 1})\n'end'",
        on_progress=note,
    )
    assert found.ok
    assert told == [("stdout", "a\n"), ("stderr", "b\n"), ("display", "{'n': 1}"), ("result", "'end'")]
    assert threads == {threading.current_thread()}


def test_progress_that_raises_interrupts_the_run(session):
    def give_up(progress):
        raise LookupError("seen enough")

    with pytest.raises(LookupError, match="seen enough"):
        session.run("state = 'kept'\nprint('started', flush=True)\nwhile True: pass", on_progress=give_up)
    assert session.run("state").result == "'kept'"


def test_interrupt_from_another_thread_ends_the_run_with_its_outcome(session):
    def interrupt(progress):
        thread = threading.Thread(target=session.interrupt)
        thread.start()
        thread.join()

    found = session.run("state = 1\nprint('started', flush=True)\nwhile True: pass", on_progress=interrupt)
    assert (found.outcome, found.rolled_back, found.error.ename) == ("interrupted", False, "KeyboardInterrupt")
    with pytest.raises(petri.CellInterrupted):
        found.raise_for_outcome()
    session.interrupt()
    assert session.run("state").result == "1"


# Python leaves SIGINT ignored where it finds it so: a shell's background jobs begin that way.
CTRL_C = """
import petri_kernel as petri, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
with petri.Session() as session:
    try:
        session.run("state = 1; print('started', flush=True)\\nwhile True: pass",
                    on_progress=lambda progress: print(progress.text, flush=True))
    except KeyboardInterrupt:
        print("interrupted,", session.run("state").result, flush=True)
"""


def test_ctrl_c_interrupts_the_run_and_the_session_goes_on():
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "client")}
    with subprocess.Popen([sys.executable, "-c", CTRL_C], stdout=subprocess.PIPE, text=True, env=environment) as child:
        assert child.stdout.readline() == "started\n"
        child.send_signal(signal.SIGINT)
        assert child.stdout.read().strip() == "interrupted, 1"
    assert child.returncode == 0


@pytest.fixture
def ctrl_c_at_once(monkeypatch):
    """Call it, and Ctrl-C comes as soon as a run has been asked for."""

    class Interrupted(queue.SimpleQueue):
        def get(self):
            raise KeyboardInterrupt

    return lambda: monkeypatch.setattr(module, "queue", types.SimpleNamespace(SimpleQueue=Interrupted))


def test_ctrl_c_before_the_kernel_has_started_prevents_the_run(ctrl_c_at_once, monkeypatch):
    session = petri.Session()
    ctrl_c_at_once()
    with pytest.raises(KeyboardInterrupt):
        session.run("state = 1")
    monkeypatch.undo()
    assert session.run("'state' in globals()").result == "False"
    session.close()


def test_ctrl_c_in_a_waiting_thread_does_not_interrupt_the_run(session, ctrl_c_at_once, monkeypatch):
    started, found = threading.Event(), []
    code = "print('started', flush=True)\nwhile True: pass"
    other = threading.Thread(target=lambda: found.append(session.run(code, on_progress=lambda _: started.set())))
    other.start()
    assert started.wait(STUCK_S)
    ctrl_c_at_once()
    with pytest.raises(KeyboardInterrupt):
        session.run("state = 1")
    monkeypatch.undo()
    assert found == []
    session.interrupt()
    other.join()
    assert found[0].outcome == "interrupted"
    assert session.run("'state' in globals()").result == "False"


def test_ctrl_c_in_a_fresh_run_of_an_on_progress_ends_both_runs(session, ctrl_c_at_once, monkeypatch):
    """Where the kernel has no place for it, the fresh run begins only after the end of the run around it."""

    def ask(progress):
        ctrl_c_at_once()
        session.run("while True: pass", fresh=True)

    with pytest.raises(KeyboardInterrupt):
        session.run("state = 1\nprint('started', flush=True)\nwhile True: pass", on_progress=ask)
    monkeypatch.undo()
    assert session.run("state").result == "1"


def test_process_that_ends_without_close_ends_its_kernel():
    code = "import petri_kernel as petri; session = petri.Session(); print(session.run('1').result, session.pid)"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "client")}
    printed = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, env=environment, timeout=STUCK_S
    )
    result, pid = printed.stdout.split()
    assert (result, printed.stderr) == ("1", "")
    assert not pathlib.Path(f"/proc/{pid}").exists()


FORK = """
import os, petri_kernel as petri
session = petri.Session().start()
if os.fork() == 0:
    try:
        session.run("1")
    except petri.SessionClosed as error:
        print(error, flush=True)
else:
    os.wait()
    print(session.run("6 * 7").result, flush=True)
"""


def test_a_forked_child_leaves_its_parents_session_alone():
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "client")}
    printed = subprocess.run(
        [sys.executable, "-c", FORK], check=True, capture_output=True, text=True, env=environment, timeout=STUCK_S
    )
    assert printed.stdout.splitlines() == ["it is another process's session", "42"]


def test_session_that_is_no_longer_referenced_ends_its_kernel():
    session = petri.Session().start()
    pid = session.pid
    assert pathlib.Path(f"/proc/{pid}").exists()
    del session
    gc.collect()
    assert not pathlib.Path(f"/proc/{pid}").exists()


def test_runs_from_several_threads_take_their_turns(session):
    session.run("x = 0")
    found = []
    threads = [
        threading.Thread(target=lambda n=n: found.append(session.run(f"x += {n}; print({n})"))) for n in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(int(result.stdout) for result in found) == list(range(8))
    assert session.run("x").result == "28"


def kill_the_kernel(session):
    return lambda progress: os.kill(session.pid, signal.SIGKILL)


def test_a_kernel_that_dies_while_code_runs_is_an_error_until_restart(session):
    with pytest.raises(petri.KernelDied, match="the kernel has ended"):
        session.run("print('started', flush=True)\nwhile True: pass", on_progress=kill_the_kernel(session))
    with pytest.raises(petri.KernelDied):
        session.run("1")
    session.restart()
    assert session.run("'state' in globals(), 6 * 7").result == "(False, 42)"


def test_a_kernel_that_dies_between_runs_is_an_error(session):
    members = open_family(session.pid)
    os.kill(session.pid, signal.SIGKILL)
    assert wait_for_end(members, STUCK_S) == 0, "the process that answers dies after the one that was killed"
    with pytest.raises(petri.KernelDied):
        session.run("1")


def test_restart_and_close_end_the_current_run(session):
    for end in (session.restart, session.close):
        thread = None

        def start_the_end(progress, end=end):
            nonlocal thread
            thread = threading.Thread(target=end)
            thread.start()

        with pytest.raises((petri.KernelDied, petri.SessionClosed)):
            session.run("print('started', flush=True)\nwhile True: pass", on_progress=start_the_end)
        thread.join(STUCK_S)
        assert not thread.is_alive()


def test_restart_forgets_the_state(session):
    session.run("x = 1")
    before = session.pid
    session.restart()
    assert session.pid != before
    assert session.run("'x' in globals()").result == "False"


def test_closed_session_refuses_every_call():
    session = petri.Session()
    session.close()
    session.close()
    for method in (lambda: session.run("1"), session.start, session.restart, session.interrupt):
        with pytest.raises(petri.SessionClosed):
            method()


def test_a_temporary_folder_goes_with_the_session():
    with petri.Session() as session:
        folder = session.folder
        assert folder.is_dir() and list(folder.iterdir()) == []
    assert not folder.parent.exists()


def test_artifacts_can_be_read_after_the_session_as_long_as_their_result_is_held():
    with petri.Session() as session:
        found = session.run("open('a.txt', 'w').write('kept')")
        folder = session.folder
    [artifact] = found.artifacts
    assert artifact.read_bytes() == b"kept" and copy.deepcopy(found) == found
    assert pickle.loads(pickle.dumps(artifact)).sha256 == artifact.sha256
    del found, artifact
    gc.collect()
    assert not folder.parent.exists()


def test_displays_are_the_codes_and_notes_the_kernels(shared):
    code = (
        "from IPython.display import display, publish_display_data\n"
        "publish_display_data({'text/plain': 'mine'}, transient={'petri': 'note'})\nopen('n.txt', 'w').write('x')"
    )
    found = shared.run(code)
    assert [shown.data["text/plain"] for shown in found.displays] == ["mine"]
    [note] = found.notes
    assert note.startswith("Saved to outputs/: n.txt")


def test_result_shows_itself_as_its_cell(shared):
    found = shared.run("import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()\nprint('drawn')")
    assert found.png.startswith(b"\x89PNG") and found._repr_png_() == found.png
    assert found.text.startswith("drawn\n<Figure") and "image/png" in found._repr_mimebundle_()
    table = shared.run("import pandas\npandas.DataFrame({'a': [1]})")
    assert "<table" in table.html and table._repr_html_() == table.html and table.markdown is None
    assert shared.run("1 + 1")._repr_mimebundle_() == {"text/plain": "2"}
    failed = shared.run("1 / 0")
    assert "ZeroDivisionError" in failed.text and failed.png is failed.html is None
    assert "ZeroDivisionError" in failed._repr_mimebundle_()["text/plain"]


def test_missing_module_names_the_interpreter_that_lacks_it(session):
    found = session.run("import surely_not_there")
    assert f"{sys.executable} -m pip install" in found.error.traceback[-1]


def test_the_program_that_came_with_the_package_is_found_before_the_one_on_the_path(tmp_path, monkeypatch):
    (tmp_path / "bin").mkdir()
    program = script(tmp_path / "bin", "exit 0").rename(tmp_path / "bin" / "petri")
    monkeypatch.delenv("PETRI")
    monkeypatch.setenv("PATH", str(PROGRAM.parent))
    monkeypatch.setattr(petri, "__path__", [*petri.__path__, str(tmp_path)])
    assert kernel.find_program() == str(program)
    program.unlink()
    assert kernel.find_program() == str(PROGRAM)


def test_the_folder_is_read_and_not_written(tmp_path):
    (tmp_path / "in.txt").write_text("from the host")
    with petri.Session(folder=tmp_path) as session:
        found = session.run("print(open('in.txt').read())")
        assert found.stdout == "from the host\n"
        assert [given.path for given in found.inputs] == ["in.txt"] and found.inputs_complete
        assert session.run("open('in.txt', 'w').write('changed')").ok
    assert (tmp_path / "in.txt").read_text() == "from the host"


def test_the_profile_and_the_configuration_hold(tmp_path):
    with petri.Session("strict") as session:
        assert session.run("1").limits.timeout_ms == 5000
    config = {"profiles": {"notebook": {"timeout": "7s"}}}
    with petri.Session(config=config) as session:
        assert session.run("1").limits.timeout_ms == 7000
    (tmp_path / "config.json").write_text('{"profiles": {"notebook": {"timeout": "8s"}}}')
    with petri.Session(config=tmp_path / "config.json") as session:
        assert session.run("1").limits.timeout_ms == 8000


def test_invalid_configuration_is_an_error_that_names_the_key(tmp_path):
    with pytest.raises(petri.SessionError, match="nonsense"):
        petri.Session(config={"nonsense": 1}).start()


def test_bad_arguments_fail_before_anything_starts(shared, tmp_path):
    with pytest.raises(petri.BadRequest, match="no profile 'lax'; there are notebook and strict"):
        petri.Session("lax")
    with pytest.raises(petri.BadRequest, match="config can't be written as JSON"):
        petri.Session(config={"redact": {"a", "set"}})
    with pytest.raises(petri.BadRequest, match="there is no folder"):
        petri.Session(folder=tmp_path / "absent")
    numbers = [int(shared.run("In[-1] and len(In)").result)]
    for asked in ({"timeout": "soon"}, {"memory": -1}, {"files": {"../x": ""}}, {"task": ""}):
        with pytest.raises(petri.BadRequest):
            shared.run("1", **asked)
    with pytest.raises(TypeError):
        shared.run(b"1")
    with pytest.raises(petri.BadRequest, match="code is not Unicode"):
        shared.run("'\udcff'")
    numbers.append(int(shared.run("In[-1] and len(In)").result))
    assert numbers[1] == numbers[0] + 1


def test_the_program_is_found_by_argument_environment_and_path(tmp_path, monkeypatch):
    assert kernel.find_program() == str(PROGRAM)
    monkeypatch.setenv("PETRI", str(tmp_path / "absent"))
    with pytest.raises(petri.ProgramNotFound, match=r"absent'; install petri"):
        petri.Session()
    assert kernel.find_program(PROGRAM) == str(PROGRAM)
    monkeypatch.delenv("PETRI")
    monkeypatch.setenv("PATH", str(PROGRAM.parent))
    assert kernel.find_program() == str(PROGRAM)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(petri.ProgramNotFound):
        petri.Session()


def script(folder, text):
    path = folder / "program"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_program_that_ends_at_once_is_an_error_with_its_stderr(tmp_path):
    with pytest.raises(petri.KernelDied, match="the kernel has ended: it was not to be"):
        petri.Session(program=script(tmp_path, "echo 'it was not to be' >&2; exit 1")).start()


def test_a_program_that_never_answers_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(kernel, "START_S", 0.5)
    with pytest.raises(petri.SessionError, match="the kernel has not answered"):
        petri.Session(program=script(tmp_path, "exec sleep 1000")).start()


def test_kernel_other_than_petri_is_an_error(tmp_path):
    program = script(tmp_path, f'exec {sys.executable} -m ipykernel_launcher -f "$2"')
    with petri.Session(program=program) as session:
        with pytest.raises(petri.SessionError, match="is the kernel really petri"):
            session.run("1")


HOSTILE = {
    "bad_signature": "a message of the kernel can't be read: Invalid Signature",
    "garbage": "a message of the kernel can't be read",
    "no_report": r"the reply \(aborted\) has no run report",
    "no_room": "^there is no room for it$",
    "no_idle": "has replied and not said that it is idle",
}


@pytest.mark.parametrize("way", HOSTILE)
def test_a_kernel_that_answers_what_it_should_not_is_an_error(tmp_path, monkeypatch, way):
    if way == "no_idle":
        monkeypatch.setattr(runs, "IDLE_S", 0.5)
    fake = ROOT / "tests" / "client" / "fake_kernel.py"
    with petri.Session(program=script(tmp_path, f'exec {sys.executable} {fake} {way} "$@"')) as session:
        with pytest.raises(petri.SessionError, match=HOSTILE[way]):
            session.run("1")


def test_report_with_malformed_parts_is_read_as_far_as_possible(tmp_path):
    fake = ROOT / "tests" / "client" / "fake_kernel.py"
    with petri.Session(program=script(tmp_path, f'exec {sys.executable} {fake} odd_report "$@"')) as session:
        found = session.run("1")
    assert (found.outcome, found.artifacts, found.error, found.metrics) == ("ok", [], None, petri.Metrics())
    assert found.report["artifacts"] == 3


def test_session_with_a_deep_temporary_folder_runs(tmp_path, monkeypatch):
    """UNIX sockets have short paths; then the channels are TCP."""
    deep = tmp_path / ("x" * 100)
    deep.mkdir()
    monkeypatch.setattr(kernel.tempfile, "tempdir", str(deep))
    with petri.Session() as session:
        assert session.run("6 * 7").result == "42"


def test_every_exception_is_a_petri_error():
    raised = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, Exception)]
    assert len(raised) > 10 and all(issubclass(value, petri.PetriError) for value in raised)


def test_profile_of_the_configuration_can_be_named():
    config = {"profiles": {"exam": {"based_on": "strict", "timeout": "2s"}}}
    with petri.Session("exam", config=config) as session:
        found = session.run("1")
    assert (found.report["profile"], found.limits.timeout_ms) == ("exam", 2000)
    with pytest.raises(petri.BadRequest, match="notebook and strict and exam"):
        petri.Session("lax", config=config)
