"""How a worker starts, what it has loaded when it is ready, and how it ends."""

import os
import select
import signal

import pytest

from conftest import INTERPRETERS
from kernel_side import STUCK_S, Worker


def test_hello_says_which_python(worker):
    info = worker.hello["language_info"]
    version = worker.execute("import sys; print('%d.%d.%d' % sys.version_info[:3])").stdout.strip()
    assert info["version"].startswith(version)
    assert info["name"] == "python"
    assert info["file_extension"] == ".py"
    assert version in worker.hello["banner"]


def test_hello_comes_before_ipython_is_imported(label, tmp_path):
    (tmp_path / "IPython").mkdir()
    (tmp_path / "IPython" / "__init__.py").write_text("raise SystemExit('this IPython is broken')")
    with pytest.raises(AssertionError, match="broken"):
        # The greeting is checked first: it has come when the import fails.
        Worker(INTERPRETERS[label], env={"PYTHONPATH": str(tmp_path)})


def test_ready_worker_has_not_loaded_what_a_first_cell_does_not_need(new_worker, label):
    code = "import sys; print([m for m in ('jedi', 'prompt_toolkit', 'matplotlib', 'numpy') if m in sys.modules])"
    assert new_worker(label).execute(code).stdout == "[]\n"


def test_ready_worker_has_one_thread(new_worker, label):
    worker = new_worker(label)
    assert len(worker.threads()) == 1
    worker.execute("import threading; threading.Thread(target=print).start()")
    worker.execute("for i in range(20_000): print(i)")
    assert len(worker.threads()) == 1


def test_nothing_is_written_to_home(new_worker, tmp_path, label):
    worker = new_worker(label, env={"HOME": str(tmp_path)})
    worker.execute("1/0")
    assert list(tmp_path.iterdir()) == []


def test_petri_site_is_not_in_the_environment_of_cells(new_worker):
    worker = new_worker("venv")
    assert worker.execute("import os; print(os.environ.get('PETRI_SITE'))").stdout == "None\n"


def test_closed_socket_ends_the_worker(new_worker, label):
    assert new_worker(label).close() == 0


def test_stack_is_written_on_the_signal_while_code_runs(new_worker, label):
    read_end, write_end = os.pipe()
    worker = new_worker(label, env={"PETRI_TRACE_FD": str(write_end)})
    os.close(write_end)

    def ask_then_interrupt():
        os.kill(worker.pid, signal.SIGRTMAX - 1)
        while "<module>" not in "".join(stack):
            assert select.select([read_end], [], [], STUCK_S)[0]
            stack.append(os.read(read_end, 1 << 16).decode())
        worker.interrupt()

    stack = []
    code = "def spin():\n    print('spinning')\n    while True: pass\nspin()"
    answer = worker.execute(code, on={"spinning": ask_then_interrupt})
    assert answer.reply["ename"] == "KeyboardInterrupt"
    assert "in spin" in "".join(stack)
    os.close(read_end)


def test_warm_loads_what_errors_and_completions_need(new_worker, label):
    worker = new_worker(label)
    loaded = "import sys; print([m in sys.modules for m in ('stack_data', 'pygments.lexers.python', 'jedi.api')])"
    assert worker.request({"type": "warm", "portion": "errors"}).reply == {"status": "ok"}
    assert worker.execute(loaded).stdout.startswith("[True, True, ")
    assert worker.request({"type": "warm", "portion": "completions"}).reply == {"status": "ok"}
    assert worker.execute(loaded).stdout == "[True, True, True]\n"
    assert worker.execute("sys.last_type if hasattr(sys, 'last_type') else None").of("execute_result") == []


# What a start, a preload and a check may import, were it there for everybody to be found.
IMPORTED = ("jedi", "parso", "pygments", "stack_data", "executing", "pure_eval", "asttokens", "jsonschema")


@pytest.fixture
def planted(tmp_path, monkeypatch):
    """A notebook's folder with modules that say when they are imported."""
    for name in IMPORTED:
        (tmp_path / f"{name}.py").write_text(f"import os\nos.mkdir({str(tmp_path / 'imported')!r})\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_what_petri_runs_by_itself_imports_nothing_from_the_folder(new_worker, label, planted):
    worker = new_worker(label)
    for portion in ("errors", "completions"):
        assert worker.request({"type": "warm", "portion": portion}).reply == {"status": "ok"}
    worker.request({"type": "check", "what": "result_json_schema", "schema": {}, "data": {"text/plain": "1"}})
    assert not (planted / "imported").exists()
    assert worker.execute("import sys; sys.path.count('')").result == "1"


def test_cell_imports_from_the_folder_before_what_is_installed_and_after_the_standard_library(
    new_worker, label, tmp_path, monkeypatch
):
    """As in ipykernel, where a csv.py beside the notebook doesn't break pandas."""
    for name in ("wave", "pygments"):
        (tmp_path / f"{name}.py").write_text("mine = 1")
    monkeypatch.chdir(tmp_path)
    code = "import sys; sys.modules.pop('pygments', None); import wave, pygments; hasattr(wave, 'mine'), hasattr(pygments, 'mine')"
    assert new_worker(label).execute(code).result == "(False, True)"
