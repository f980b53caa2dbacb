"""Top-level await, tasks that outlive their cell, and context variables."""

import sys

import pytest


def test_top_level_await_runs(worker):
    answer = worker.execute("import asyncio\nawait asyncio.sleep(0)\n'slept'")
    assert answer.result == "'slept'"


def test_await_result_is_shown(worker):
    worker.execute("async def f(): return 42")
    assert worker.execute("await f()").result == "42"


def test_error_in_an_await_is_the_error_of_the_cell(worker):
    assert worker.execute("async def f(): 1/0\nawait f()").reply["ename"] == "ZeroDivisionError"


def test_cancelled_await_is_a_cancelled_error(worker):
    code = "import asyncio\nt = asyncio.create_task(asyncio.sleep(1000)); t.cancel()\nawait t"
    assert worker.execute(code).reply["ename"] == "CancelledError"


def test_task_of_a_cell_without_await_starts_in_it(new_worker, label):
    code = "import asyncio\nasync def f(): print('started')\ntask = asyncio.create_task(f())\nprint('cell')"
    assert new_worker(label).execute(code).stdout == "cell\nstarted\n"


def test_task_goes_on_in_later_cells(worker):
    worker.execute(
        "import asyncio\nsteps = []\ngo = asyncio.Event()\n"
        "async def f():\n    steps.append(1); await go.wait(); steps.append(2); print('from the task')\n"
        "task = asyncio.create_task(f())"
    )
    started = worker.cell
    assert worker.execute("steps").result == "[1]"
    answer = worker.execute("go.set(); await task; steps")
    assert answer.result == "[1, 2]"
    assert [event.frame["parent"] for event in answer.frames("stream")] == [started]


def test_all_cells_have_the_same_event_loop(worker):
    worker.execute("import asyncio\nloop = asyncio.get_running_loop()")
    assert worker.execute("await asyncio.sleep(0)\nasyncio.get_running_loop() is loop").result == "True"


def test_run_in_executor_gives_its_result(worker):
    code = "import asyncio, time\nawait asyncio.get_running_loop().run_in_executor(None, sum, [1, 2, 3])"
    assert worker.execute(code).result == "6"


# Context variables go on from cell to cell, as in ipykernel; there not from one that awaits.

SETS = "import contextvars\nseen = contextvars.ContextVar('seen', default='nothing')\nseen.set({value!r})\n"


@pytest.mark.parametrize(
    "before, last",
    [
        ("", ""),
        ("", "1 / 0"),
        ("import asyncio", ""),
        ("import asyncio", "1 / 0"),
        ("import asyncio", "await asyncio.sleep(0)"),
        ("import asyncio", "await asyncio.sleep(0)\n1 / 0"),
        ("import asyncio", "raise asyncio.CancelledError"),
    ],
)
def test_context_variable_that_a_cell_sets_is_seen_in_the_next(new_worker, label, before, last):
    worker = new_worker(label)
    worker.execute(before)
    worker.execute(SETS.format(value="first") + last)
    assert worker.execute("seen.get()").result == "'first'"
    worker.execute("import asyncio\nawait asyncio.sleep(0)")
    assert worker.execute("seen.get()").result == "'first'"
    assert worker.execute("await asyncio.sleep(0)\nseen.get()").result == "'first'"


def test_context_variable_outlives_the_interrupt_of_its_cell(worker):
    code = "import asyncio\n" + SETS.format(value="kept") + "print('waits')\nawait asyncio.sleep(1000)"
    assert worker.execute(code, on={"waits": worker.interrupt}).reply["ename"] == "KeyboardInterrupt"
    assert worker.execute("seen.get()").result == "'kept'"


def test_decimal_precision_goes_on_with_asyncio_loaded(worker):
    worker.execute("import asyncio, decimal\ndecimal.setcontext(decimal.Context(prec=5))")
    assert worker.execute("str(decimal.Decimal(1) / 3)").result == "'0.33333'"


@pytest.mark.skipif(sys.version_info < (3, 11), reason="tasks share a context from Python 3.11 on")
def test_token_of_one_cell_resets_the_variable_in_another(venv_worker):
    venv_worker.execute("import asyncio\n" + SETS.format(value=1) + "token = seen.set(2)")
    assert venv_worker.execute("await asyncio.sleep(0)\nseen.reset(token); seen.get()").result == "1"


def test_task_has_a_copy_of_the_context_variables(worker):
    worker.execute("import asyncio\n" + SETS.format(value="of the cell"))
    worker.execute("async def f(): seen.set('of the task'); return seen.get()\ntask = asyncio.create_task(f())")
    assert worker.execute("await task, seen.get()").result == "('of the task', 'of the cell')"


def test_hook_and_expression_see_the_context_variables(worker):
    worker.execute("import asyncio\n" + SETS.format(value="seen"))
    worker.execute("hooked = []\ndef hook(): hooked.append(seen.get())\n")
    worker.execute("get_ipython().events.register('post_execute', hook)")
    expressions = {"e": "seen.get()"}
    answer = worker.execute("get_ipython().events.unregister('post_execute', hook)", user_expressions=expressions)
    assert answer.reply["user_expressions"]["e"]["data"]["text/plain"] == "'seen'"
    assert worker.execute("hooked").result == "['seen']"
