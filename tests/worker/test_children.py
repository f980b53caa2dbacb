"""Commands: what they write is what the cell prints, and nothing of it is lost."""

import pathlib

import pytest

RUN = "from petri_worker import children\nout, err = [], []\n"


@pytest.mark.parametrize(
    ("command", "result"),
    {
        "printf 'a\\nb'": "(0, 'a\\nb', '')",
        "echo out; echo err >&2; exit 3": "(3, 'out\\n', 'err\\n')",
        "kill -9 $$": "(-9, '', '')",
        "exec >&-; echo err >&2; exit 1": "(1, '', 'err\\n')",
        "printf 'a\\377b'": "(0, 'a\ufffdb', '')",
        "printf '\\303'": "(0, '\ufffd', '')",
        "printf '\\303'; sleep 0.05; printf '\\244'": "(0, 'ä', '')",
        "sleep 100 & printf over": "(0, 'over', '')",
    }.items(),
)
def test_command(worker, command, result):
    code = f"{RUN}status = children.run(['sh', '-c', {command!r}], out.append, err.append)\n"
    assert worker.execute(f"{code}(status, ''.join(out), ''.join(err))").result == result


def test_input_and_output_larger_than_pipes(worker):
    code = f"{RUN}text = b'0123456789abcde\\n' * 100_000\nstatus = children.run(['cat'], out.append, text=text)\n"
    assert worker.execute(f"{code}(status, ''.join(out).encode() == text)").result == "(0, True)"


def test_input_that_is_not_read(worker):
    code = f"{RUN}status = children.run(['true'], out.append, text=b'x' * 1_000_000)\n"
    assert worker.execute(f"{code}(status, out)").result == "(0, [])"


def test_interrupted_command_is_killed(worker, tmp_path):
    pid = tmp_path / "pid"
    answer = worker.execute(f"!echo $$ > {pid}; echo on; exec sleep 1000", on={"on\n": worker.interrupt})
    assert answer.reply["ename"] == "KeyboardInterrupt"
    assert not pathlib.Path("/proc", pid.read_text().strip()).exists()


def test_shell_is_the_users(worker):
    shell = "from petri_worker import children; import os; {}; children.shell()"
    assert worker.execute(shell.format("os.environ['SHELL'] = '/bin/bash'")).result == "'/bin/bash'"
    assert worker.execute(shell.format("os.environ['SHELL'] = '/no/such'")).result == "'/bin/sh'"
    assert worker.execute(shell.format("os.environ.pop('SHELL', 0)")).result == "'/bin/sh'"
