"""Magics and shell escapes."""

import pytest


@pytest.mark.parametrize("magic", ["%pip install numpy", "%conda install numpy", "%uv pip install numpy"])
def test_installers_are_refused_with_a_reason(worker, magic):
    reply = worker.execute(magic).reply
    assert reply["ename"] == "UsageError"
    assert "no network" in reply["evalue"] and "restart" in reply["evalue"]
    assert magic[1:].split(maxsplit=1)[1] in reply["evalue"]  # the command that does it elsewhere


@pytest.mark.parametrize("magic", ["%pip list", "%pip freeze --all", "%pip show pip", "%pip --version", "%pip list | sort"])
def test_pip_that_only_reads_is_run(worker, magic):
    answer = worker.execute(magic)
    assert answer.reply["status"] == "ok" and "pip" in answer.stdout.lower()


@pytest.mark.parametrize("magic", ["%pip list --outdated", "%pip download x", "%pip"])
def test_pip_that_needs_the_network_is_refused(worker, magic):
    assert worker.execute(magic).reply["ename"] == "UsageError"


def test_shell_escape_prints_and_sets_the_exit_code(worker):
    answer = worker.execute("word = 'hi'\n!echo $word; exit 3")
    assert answer.stdout == "hi\n"
    assert worker.execute("_exit_code").result == "3"


def test_shell_escape_reads_no_stdin(worker):
    assert worker.execute("!cat; echo over").stdout == "over\n"


def test_shell_assignment_gives_a_list_of_lines(worker):
    assert worker.execute("lines = !echo a; echo b\nlines").result == "['a', 'b']"


def test_background_process_is_refused(worker):
    assert worker.execute("!sleep 100 &").reply["ename"] == "OSError"


def test_bash_cell_prints_to_both_streams_and_has_no_stdin(worker):
    threads = len(worker.threads())
    answer = worker.execute("%%bash\necho out\necho err >&2\nread -r x || echo 'no stdin'")
    assert answer.stdout == "out\nno stdin\n"
    assert answer.stderr == "err\n"
    assert len(worker.threads()) == threads


def test_bash_cell_fills_variables_and_raises_on_failure(worker):
    assert worker.execute("%%bash --out o --err e\necho out; echo err >&2").events == []
    assert worker.execute("o, e").result == "('out\\n', 'err\\n')"
    assert worker.execute("%%bash\nexit 4").reply["ename"] == "CalledProcessError"
    assert worker.execute("%%bash --no-raise-error\nexit 4").reply["status"] == "ok"


def test_script_cell_runs_its_program_or_is_a_usage_error(worker):
    assert worker.execute("%%script sh\necho hi").stdout == "hi\n"
    assert worker.execute("%%script no-such-program\n").reply["ename"] == "UsageError"
    assert worker.execute("%%bash --bg\nsleep 1").reply["ename"] == "UsageError"


def test_time_and_timeit_print_times(worker):
    assert "Wall time" in worker.execute("%time sum(range(10))").stdout
    assert "loop" in worker.execute("%timeit -n1 -r1 pass").stdout


def test_env_cd_and_who_do_what_they_say(worker, tmp_path):
    worker.execute("unmistakable = 1")
    assert "unmistakable" in worker.execute("%who").stdout
    assert worker.execute(f"%cd {tmp_path}").stdout.strip() == str(tmp_path)


def test_store_magic_restores_a_variable(new_worker, tmp_path, label):
    worker = new_worker(label, env={"HOME": str(tmp_path)})
    worker.execute("kept = [1, 2]\n%store kept")
    worker.execute("del kept\n%store -r kept")
    assert worker.execute("kept").result == "[1, 2]"


@pytest.mark.parametrize("line", ["%env SET_HERE=a value", "%env SET_HERE a value", "%set_env SET_HERE = a value "])
def test_variable_is_set_told_to_the_kernel_and_not_shown(worker, line):
    answer = worker.execute(line)
    assert answer.stdout == "env: SET_HERE=<hidden>\n"
    assert [(told["name"], told["value"]) for told in answer.of("variable")] == [("SET_HERE", "a value")]
    worker.execute("listed, shown = (get_ipython().run_line_magic('env', line) for line in ('', 'SET_HERE'))")
    assert worker.execute("listed['SET_HERE'], shown").result == "('<hidden>', 'a value')"


@pytest.mark.parametrize("line", ["%env A B=secret", "%env =secret", "%set_env secret"])
def test_variable_that_can_not_be_set_is_refused_without_its_text(worker, line):
    reply = worker.execute(line).reply
    assert reply["ename"] == "UsageError" and "secret" not in reply["evalue"]


@pytest.mark.parametrize("name", ["undo", "redo", "checkpoint", "restore", "timeline", "forget"])
def test_lines_of_the_kernel_are_described_and_refused_beside_code(worker, name):
    assert f"%{name}" in worker.execute(f"print(get_ipython().find_magic('{name}').__doc__)").stdout
    reply = worker.execute(f"x = 1\n%{name}").reply
    assert reply["ename"] == "UsageError" and "only line" in reply["evalue"]
