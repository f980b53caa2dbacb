"""Jupyter messaging, "Messages on the stdin channel"."""


def test_input(worker):
    answer = worker.execute("name = input('who? ')\nprint('hello', name)", answers=["w\u00f6rld"])
    (question,) = answer.of("input")
    assert (question["prompt"], question["password"]) == ("who? ", False)
    assert answer.stdout == "hello w\u00f6rld\n"


def test_output_before_the_question_comes_first(worker):
    answer = worker.execute("print('first', end='')\ninput()", answers=["x"])
    assert [event.kind for event in answer.events][:2] == ["stdout", "input"]


def test_getpass(worker):
    answer = worker.execute("import getpass\nprint(len(getpass.getpass('secret: ')))", answers=["hunter2"])
    (question,) = answer.of("input")
    assert (question["prompt"], question["password"]) == ("secret: ", True)
    assert answer.stdout == "7\n"


def test_no_questions_allowed_fails_at_once(worker):
    for code in ("input()", "import getpass; getpass.getpass()"):
        reply = worker.execute(code).reply
        assert reply["ename"] == "StdinNotImplementedError"


def test_interrupt_while_waiting_and_the_late_answer(worker):
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


def test_two_questions(worker):
    assert worker.execute("input() + input()", answers=["a", "b"]).result == "'ab'"
