"""SIGINT: KeyboardInterrupt in the user's code, and never half a frame."""

import os
import signal

import pytest


def test_interrupted_loop_is_a_keyboard_interrupt(worker):
    # One statement: between two of them the interrupt would be IPython's.
    answer = worker.execute("if True:\n    print('on')\n    while True: pass", on={"on\n": worker.interrupt})
    assert answer.reply["ename"] == "KeyboardInterrupt"
    assert len(answer.of("error")) == 1
    shown = "".join(answer.reply["traceback"])
    assert "while" in shown and "petri_worker" not in shown


def test_interrupted_sleep_is_a_keyboard_interrupt(worker):
    answer = worker.execute("import time\nprint('on')\nwhile True: time.sleep(1000)", on={"on\n": worker.interrupt})
    assert answer.reply["ename"] == "KeyboardInterrupt"


def test_interrupted_await_is_a_keyboard_interrupt(worker):
    code = "import asyncio\nif True:\n    print('on')\n    await asyncio.sleep(1000)"
    answer = worker.execute(code, on={"on\n": worker.interrupt})
    assert answer.reply["ename"] == "KeyboardInterrupt"
    assert "asyncio" in "".join(answer.reply["traceback"])
    assert worker.execute("asyncio.all_tasks() - {asyncio.current_task()}").result == "set()"


def test_interrupted_busy_coroutine_is_a_keyboard_interrupt(worker):
    code = "import asyncio\nawait asyncio.sleep(0)\nprint('on')\nwhile True: pass"
    answer = worker.execute(code, on={"on\n": worker.interrupt})
    assert answer.reply["ename"] == "KeyboardInterrupt"
    assert worker.execute("1 + 1").result == "2"


def test_interrupt_can_be_caught(worker):
    code = "try:\n    print('on')\n    while True: pass\nexcept KeyboardInterrupt: print('caught')"
    answer = worker.execute(code, on={"on\n": worker.interrupt})
    assert answer.reply["status"] == "ok"
    assert answer.stdout == "on\ncaught\n"


def test_interrupt_between_requests_is_ignored(worker):
    for _ in range(20):
        worker.interrupt()
        assert worker.execute("1 + 1").reply["status"] == "ok"
        assert worker.execute("2 + 2").result == "4"


@pytest.mark.parametrize("early", [True, False])
def test_interrupt_that_the_request_missed_is_raised_by_the_second_signal(worker, early):
    for _ in range(20):
        if early:
            worker.interrupt()
        answer = worker.execute("if True:\n    print('on')\n    while True: pass", on={"on\n": worker.second_signal})
        assert answer.reply["ename"] == "KeyboardInterrupt"
        assert len(answer.of("error")) == 1
        assert worker.execute("2 + 2").result == "4"


@pytest.mark.parametrize(
    "before",
    [
        "try:\n    print('on')\n    while True: pass\nexcept KeyboardInterrupt: pass\n",
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\n",
        "signal.signal(signal.SIGINT, lambda *args: None)\n",
        "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}); os.kill(os.getpid(), signal.SIGINT)\n",
    ],
    ids=["heard", "ignored", "handled", "pending"],
)
def test_second_signal_without_a_missed_interrupt_raises_nothing(new_worker, label, before):
    # Of signals that wait Python sees the one with the greatest number last: once that is seen, the other was, too.
    def second_signal():
        worker.second_signal()
        os.kill(worker.pid, signal.SIGRTMAX)

    worker = new_worker(label)
    code = (
        "import os, signal\n"
        "seen = []\n"
        "signal.signal(signal.SIGRTMAX, lambda *args: seen.append(args))\n"
        f"{before}"
        "print('signal')\n"
        "while not seen: pass\n"
    )
    answer = worker.execute(code, on={"on\n": worker.interrupt, "signal\n": second_signal})
    assert answer.reply["status"] == "ok"


def test_interrupt_while_ipython_prepares_is_raised_at_the_first_statement(worker):
    # IPython shows what its callbacks raise, and goes on.
    worker.execute(
        "import os, signal\n"
        "def prepare(info):\n"
        "    get_ipython().events.unregister('pre_run_cell', prepare)\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    for _ in range(1000): pass\n"
        "get_ipython().events.register('pre_run_cell', prepare)\n"
    )
    answer = worker.execute("print('begun')")
    assert (answer.reply["status"], answer.reply.get("ename")) == ("error", "KeyboardInterrupt")
    assert answer.stdout == ""


def test_interrupted_child_is_a_keyboard_interrupt(worker):
    answer = worker.execute("!echo on; sleep 1000", on={"on\n": lambda: os.killpg(worker.pid, signal.SIGINT)})
    assert answer.reply["ename"] == "KeyboardInterrupt"


def test_user_handler_of_sigint_holds_for_its_cell_only(worker):
    code = (
        "import signal, os\n"
        "signal.signal(signal.SIGINT, lambda *args: print('mine'))\n"
        "os.kill(os.getpid(), signal.SIGINT)\nprint('goes on')"
    )
    assert worker.execute(code).stdout == "mine\ngoes on\n"
    answer = worker.execute("print('on')\nwhile True: pass", on={"on\n": worker.interrupt})
    assert answer.reply["ename"] == "KeyboardInterrupt"


def test_interrupts_while_frames_are_sent_leave_them_whole(worker):
    # A child sends a SIGINT for each byte that it is given, after a while that differs each time;
    # meanwhile frames larger than the socket's buffer go out, and handshakes between the streams.
    code = (
        "import os, sys\n"
        "rounds, big, parent = 30, 'x' * 300_000, os.getpid()\n"
        "reader, writer = os.pipe()\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    for i in range(rounds):\n"
        "        os.read(reader, 1)\n"
        "        for _ in range(i * 677 % 20_000): pass\n"
        "        os.kill(parent, 2)\n"
        "    os._exit(0)\n"
        "caught = 0\n"
        "for i in range(rounds):\n"
        "    try:\n"
        "        os.write(writer, b'x')\n"
        "        while True:\n"
        "            display({'text/plain': big}, raw=True)\n"
        "            print('out'); print('err', file=sys.stderr)\n"
        "    except KeyboardInterrupt: caught += 1\n"
        "os.waitpid(pid, 0)\n"
        "print('caught', caught)\n"
    )
    answer = worker.execute(code)
    assert answer.stdout.endswith("caught 30\n")
    assert all(content["data"]["text/plain"] == "x" * 300_000 for content in answer.of("display_data"))
    assert worker.execute("1 + 1").result == "2"


def test_alarm_that_raises_while_frames_are_sent_leaves_them_whole(worker):
    # With a second thread, which receives what the main thread does not.
    code = (
        "import signal, threading, time\n"
        "over = threading.Event()\n"
        "threading.Thread(target=over.wait).start()\n"
        "class Alarm(Exception): pass\n"
        "def ring(*args): raise Alarm\n"
        "signal.signal(signal.SIGALRM, ring)\n"
        "rung = 0\n"
        "for i in range(40):\n"
        "    try:\n"
        "        signal.setitimer(signal.ITIMER_REAL, 0.0002 * (1 + i % 20))\n"
        "        while True: display({'text/plain': 'x' * 300_000}, raw=True)\n"
        "    except Alarm: rung += 1\n"
        "over.set()\n"
    )
    answer = worker.execute(code)
    assert all(len(content["data"]["text/plain"]) == 300_000 for content in answer.of("display_data"))
    assert worker.execute("rung").result == "40"


def test_alarm_that_raises_during_a_flood_leaves_the_streams_whole(worker):
    # The helper that flushes a flood's last text is changed for a new one every few milliseconds.
    code = (
        "import signal\n"
        "class Alarm(Exception): pass\n"
        "def ring(*args): raise Alarm\n"
        "signal.signal(signal.SIGALRM, ring)\n"
        "rung = 0\n"
        "for i in range(300):\n"
        "    try:\n"
        "        signal.setitimer(signal.ITIMER_REAL, 0.003 + 0.00037 * (i % 31))\n"
        "        while True: print(i)\n"
        "    except Alarm: rung += 1\n"
        "print('rung', rung)\n"
    )
    assert worker.execute(code).stdout.endswith("rung 300\n")
    assert worker.execute("1 + 1").result == "2"


def test_signal_handlers_read_back_as_they_were_set(worker):
    code = (
        "import signal\n"
        "def mine(*args): print('rung', args[0])\n"
        "before = signal.signal(signal.SIGUSR1, mine)\n"
        "print(before is signal.SIG_DFL, signal.getsignal(signal.SIGUSR1) is mine)\n"
        "signal.raise_signal(signal.SIGUSR1)\n"
        "print(signal.signal(signal.SIGUSR1, before) is mine, signal.getsignal(signal.SIGUSR1) is before)\n"
    )
    answer = worker.execute(code)
    assert answer.stdout.splitlines() == ["True True", "rung 10", "True True"]


def test_handler_of_sigint_is_that_of_python_and_still_interrupts_when_it_has_been_put_back(worker):
    code = (
        "import signal\n"
        "was = signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "print(was is signal.default_int_handler, signal.getsignal(signal.SIGINT) is signal.SIG_IGN)\n"
        "signal.signal(signal.SIGINT, was)\n"
        "print('on')\n"
        "while True: pass\n"
    )
    answer = worker.execute(code, on={"on\n": worker.second_signal})
    assert answer.stdout == "True True\non\n"
    assert answer.reply["ename"] == "KeyboardInterrupt"


def test_handler_that_raises_all_the_time_still_lets_the_reply_through(new_worker, label):
    code = (
        "import signal\n"
        "def ring(*args): raise ValueError('ring')\n"
        "signal.signal(signal.SIGALRM, ring)\n"
        "signal.setitimer(signal.ITIMER_REAL, 0.005, 0.005)\n"
        "while True: pass\n"
    )
    assert new_worker(label).execute(code).reply["status"] == "error"
