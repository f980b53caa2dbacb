"""Jupyter messaging, "Messages on the stdin channel", and what comes with the request instead."""


def test_input_is_asked_and_answered(worker):
    answer = worker.execute("name = input('who? ')\nprint('hello', name)", answers=["w\u00f6rld"])
    (question,) = answer.of("input")
    assert (question["prompt"], question["password"]) == ("who? ", False)
    assert answer.stdout == "hello w\u00f6rld\n"


def test_output_before_the_question_comes_first(worker):
    answer = worker.execute("print('first', end='')\ninput()", answers=["x"])
    assert [event.kind for event in answer.events][:2] == ["stdout", "input"]


def test_getpass_asks_for_a_password(worker):
    answer = worker.execute("import getpass\nprint(len(getpass.getpass('secret: ')))", answers=["hunter2"])
    (question,) = answer.of("input")
    assert (question["prompt"], question["password"]) == ("secret: ", True)
    assert answer.stdout == "7\n"


def test_input_where_stdin_is_not_allowed_fails_at_once(worker):
    for code in ("input()", "import getpass; getpass.getpass()"):
        reply = worker.execute(code).reply
        assert reply["ename"] == "StdinNotImplementedError"


def test_interrupt_while_input_waits_drops_the_late_answer(worker):
    late = []

    def interrupt_instead(question):
        late.append(question["seq"])
        worker.interrupt()

    answer = worker.execute("input()", answers=[interrupt_instead])
    assert answer.reply["ename"] == "KeyboardInterrupt"

    def answer_late_first(question):
        worker.wire.send({"type": "input_reply", "seq": late[0], "value": "late"})
        worker.wire.send({"type": "no_such_type", "seq": question["seq"]})
        worker.wire.send({"type": "input_reply", "seq": question["seq"], "value": "in time"})

    assert worker.execute("input()", answers=[answer_late_first]).result == "'in time'"


def test_two_questions_get_their_answers_in_order(worker):
    assert worker.execute("input() + input()", answers=["a", "b"]).result == "'ab'"


def test_stdin_of_the_request_is_read_by_input_and_sys_stdin(worker):
    code = """
import getpass, sys
print([input("? "), getpass.getpass("secret: ")], next(sys.stdin), sys.stdin.read())
try:
    input()
except EOFError:
    print("end")
"""
    answer = worker.execute(code, stdin="one\ntw\u00f6\nthree\nfour\n\x00five", allow_stdin=True)
    assert answer.stdout == "? secret: ['one', 'tw\u00f6'] three\n four\n\x00five\nend\n"
    assert not answer.of("input")


def test_stdin_is_there_for_children_and_gone_afterwards(worker):
    code = "import subprocess, sys\nprint(subprocess.run(['cat'], capture_output=True).stdout)\nprint(sys.stdin.read())"
    assert worker.execute(code, stdin="given").stdout == "b'given'\n\n"
    assert worker.execute("!cat", stdin="given").stdout == "given"
    code = "import os\nprint(os.readlink('/proc/self/fd/0'))\ninput()"
    answer = worker.execute(code, answers=["x"], allow_stdin=True)
    assert answer.stdout.startswith("/dev/null")
    assert len(answer.of("input")) == 1


def test_stdin_of_no_bytes_is_at_its_end(worker):
    assert worker.execute("import sys; print(repr(sys.stdin.read()))", stdin="").stdout == "''\n"


def test_stdin_that_code_has_closed_is_back_afterwards(worker):
    worker.execute("import os, sys; sys.stdin.close(); os.close(0)", stdin="given")
    assert worker.execute("print(os.readlink('/proc/self/fd/0'))").stdout == "/dev/null\n"


def test_stdin_is_given_to_a_cell_whose_predecessors_have_closed_theirs(new_worker, label):
    worker = new_worker(label)
    worker.execute("import os; os.close(0)")
    assert worker.execute("print(input())", stdin="given").stdout == "given\n"
    worker.execute("os.close(0)")
    assert worker.execute("!cat", stdin="given").stdout == "given"
    assert worker.execute("print(os.readlink('/proc/self/fd/0'))").stdout == "/dev/null\n"


def test_environment_variables_of_the_request_hold_for_one_cell(worker):
    worker.execute("import os; os.environ['KEPT'] = 'before'")
    code = "print(os.environ['KEPT'], os.environ['NEW']); os.environ['KEPT'] = 'x'; del os.environ['NEW']"
    assert worker.execute(code, env={"KEPT": "within", "NEW": "n\u00e4"}).stdout == "within n\u00e4\n"
    assert worker.execute("print(os.environ['KEPT'], 'NEW' in os.environ)").stdout == "before False\n"


def test_debugger_is_ipythons_and_an_interrupt_ends_it(worker):
    prompts = []

    def interrupt(question):
        prompts.append(question["prompt"])
        worker.interrupt()

    answer = worker.execute("x = 7; import pdb; pdb.set_trace()", answers=[interrupt])
    assert prompts == ["ipdb> "]
    assert answer.reply["status"] == "ok" or answer.reply["ename"] == "KeyboardInterrupt"
    assert worker.execute("x").result == "7"


def test_debugger_is_ipythons_even_after_pdb_was_searched_for(new_worker, label):
    worker = new_worker(label)
    worker.execute("import importlib.util; importlib.util.find_spec('pdb')")
    assert worker.execute("import pdb; pdb.set_trace.__module__").result == "'IPython.core.debugger'"


def test_debugger_answers_what_it_is_asked(worker):
    answer = worker.execute("def f():\n    y = 41\n    breakpoint()\n    return y\nf()", answers=["p y + 1", "c"])
    assert "42" in answer.stdout
    assert answer.result == "41"
