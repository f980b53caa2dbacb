"""Top-level await, and tasks that outlive their cell."""


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
