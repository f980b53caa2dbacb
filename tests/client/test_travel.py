"""Going back to earlier states: what comes of it against petri, and what is made of a kernel's answers without one."""

import asyncio
import sys
import threading

import pytest

import petri_kernel as petri
from conftest import ROOT
from kernels import STUCK_S
from petri_kernel import control
from petri_kernel.timeline import answered, make_timeline

SLOW = "print('started', flush=True)\nwhile True: pass"


def test_restore_goes_to_checkpoints_numbers_ids_images_and_the_beginning(session):
    begun = session.checkpoint("begun")
    assert (begun.image, begun.names, begun.parent, begun.execution_count) == ("first", ("begun",), None, None)
    one = session.run("x = [1]; open('f', 'w').write('1')", checkpoint="one")
    two = session.run("x.append(2); open('f', 'w').write('2')")
    assert (one.image, one.parent, one.committed, one.checkpoint) == (one.run_id, "first", True, "one")
    assert (two.parent, two.checkpoint) == (one.image, None)
    [image] = [image for image in session.timeline().images if image.execution_count == 1]
    for to in ("one", 1, one.run_id, image):
        went = session.restore(to)
        assert (went.image, went.execution_count) == (one.image, 1)
        assert session.run("x, open('f').read()", commit=False).result == "([1], '1')"
        session.restore(two.image)
    assert session.run("x, open('f').read()").result == "([1, 2], '2')"
    assert session.restore("first").detail.startswith("back at the beginning: 3 cells (from ")
    assert session.run("'x' in globals()").result == "False"


def test_undo_and_redo_say_what_they_change(session):
    for n in (1, 2, 3):
        session.run(f"x = {n}")
    assert session.undo().detail.startswith("back before [3]: 1 cell")
    assert session.undo(2).image == "first"
    assert session.redo(2).execution_count == 2
    assert session.run("x", commit=False).result == "2"
    session.redo()
    with pytest.raises(petri.UnknownImage, match="nothing to redo"):
        session.redo()
    session.undo(100)
    with pytest.raises(petri.UnknownImage, match="nothing to undo"):
        session.undo()


def test_the_timeline_is_a_tree_with_the_present_state(session):
    one = session.run("x = 1\ny = 2", checkpoint="a")
    two = session.run("x = 2")
    session.restore("a")
    other = session.run("x = 3")
    timeline = session.timeline()
    rows = [(image.image, image.parent, image.execution_count, image.names) for image in timeline.images]
    assert rows == [
        ("first", None, None, ()),
        (one.image, "first", 1, ("a",)),
        (two.image, one.image, 2, ()),
        (other.image, one.image, 2, ()),
    ]
    assert timeline.current == timeline.images[3] and timeline.bytes_kept > 0
    assert (timeline.images[1].code_first_line, timeline.images[1].kept) == ("x = 1", True)
    session.forget("a")
    assert session.timeline().images[1].names == ()
    with pytest.raises(petri.UnknownImage, match='no checkpoint is called "a"'):
        session.forget("a")


def test_names_and_states_that_are_not_there_are_errors_and_change_nothing(session):
    session.run("x = 1")
    with pytest.raises(petri.UnknownImage) as raised:
        session.restore("nowhere")
    assert "nowhere" in str(raised.value) and isinstance(raised.value, (petri.PetriError, LookupError))
    for name in ("a b", "7", "first"):
        with pytest.raises(petri.BadRequest, match=f'the name "{name}"'):
            session.checkpoint(name)
    for bad in (0, -1, True, 1.5, None, "", b"x"):
        with pytest.raises(petri.BadRequest, match="^to has to be a checkpoint's name, an execution count"):
            session.restore(bad)
    with pytest.raises(petri.BadRequest, match="at most 64"):
        session.restore("x" * 65)
    for bad in (0, True, "1", "x"):
        for method in (session.undo, session.redo):
            with pytest.raises(petri.BadRequest, match="n is how many cells, 1 or more, and not"):
                method(bad)
    for bad in ("", 3, None):
        for method in (session.checkpoint, session.forget):
            with pytest.raises(petri.BadRequest, match="a text of 1 to 64 bytes, and not"):
                method(bad)
    assert session.run("x").result == "1"


def test_arguments_that_name_nothing_are_errors_before_a_kernel_starts():
    async def main():
        session = petri.AsyncSession()
        bad = [
            session.restore(0),
            session.restore(""),
            session.undo(0),
            session.undo("x"),
            session.redo(0),
            session.checkpoint(""),
            session.forget(""),
            session.branch(0),
            session.run("1", from_=0),
        ]
        for asked in bad:
            with pytest.raises(petri.BadRequest):
                await asked
        assert session.pid is None

    asyncio.run(main())


def test_a_result_stands_for_the_state_that_its_run_has_left(session):
    first = session.run("x = 1")
    session.run("x = 2")
    assert session.run("x", from_=first, commit=False).result == "1"
    assert session.restore(first).image == first.image
    assert session.run("x").result == "1"
    lost = session.run("import os; os._exit(1)")
    with pytest.raises(petri.BadRequest, match=r"to: that run \(crash\) has left no state"):
        session.restore(lost)


def test_run_from_an_earlier_state_and_one_that_leaves_nothing(session):
    first = session.run("x = 1", checkpoint="one")
    session.run("x = 2")
    aside = session.run("x += 10; x", from_="one", commit=False)
    assert (aside.result, aside.image, aside.parent, aside.committed) == ("11", None, first.image, False)
    assert session.run("x", commit=False).result == "2"
    there = session.run("x += 20; x", from_=1, checkpoint="branch")
    assert (there.result, there.parent, there.committed) == ("21", first.image, True)
    assert session.run("x").result == "21"
    lost = session.run("print('it ran')", from_="nowhere")
    assert (lost.outcome, lost.stdout, lost.image, lost.committed) == ("refused", "", None, False)
    with pytest.raises(petri.UnknownImage) as raised:
        lost.raise_for_outcome()
    assert isinstance(raised.value, petri.CellRefused) and raised.value.result is lost


@pytest.mark.parametrize("begins", [False, True], ids=["after a run", "at the beginning"])
def test_an_attempt_is_undone_unless_it_is_kept(session, begins):
    if not begins:
        session.run("x = 1")
    before = session.timeline().current
    with session.attempt() as trial:
        session.run("x = 2; y = 3")
        session.run("x = 4", timeout="2s")
    assert (trial.image, trial.kept) == (before.image, False)
    assert session.timeline().current == before
    with pytest.raises(LookupError, match="on the way"), session.attempt():
        session.run("x = 2")
        raise LookupError("on the way")
    assert session.timeline().current == before
    with session.attempt() as trial:
        kept = session.run("x = 5")
        trial.keep()
    assert session.timeline().current.image == kept.image


def test_an_attempt_without_runs_ends_well():
    with petri.Session() as session, session.attempt():
        pass


def test_attempts_in_one_another_are_undone_each_for_itself(session):
    with session.attempt() as outer:
        session.run("x = 1")
        with session.attempt():
            session.run("x = 2")
        assert session.run("x").result == "1"
        outer.keep()
    assert session.run("x").result == "1"


@pytest.mark.parametrize("end", ["restart", "close"])
def test_an_attempt_whose_kernel_was_ended_has_nothing_to_undo(session, end):
    session.run("x = 1")
    with session.attempt():
        getattr(session, end)()


def test_an_attempt_of_more_runs_than_states_are_kept_is_undone():
    with petri.Session(config={"profiles": {"notebook": {"history": 4}}}) as session:
        session.run("x = 0")
        with session.attempt():
            for n in range(8):
                session.run(f"x = {n}")
            assert [name for image in session.timeline().images for name in image.names] != []
        assert session.run("x").result == "0"
        assert [name for image in session.timeline().images for name in image.names] == []


def test_an_attempt_whose_state_made_room_says_so():
    with petri.Session(config={"profiles": {"notebook": {"history": 2}}}) as session:
        session.run("x = 0")
        with pytest.raises(petri.UnknownImage, match=r"the state after \[1\] is gone"), session.attempt():
            for n in range(4):
                session.run(f"x = {n}")
        assert session.run("x").result == "3"


def test_restore_waits_for_the_run_before_it(session):
    session.run("x = 1")
    started = threading.Event()
    other = threading.Thread(target=session.run, args=[SLOW], kwargs={"on_progress": lambda _: started.set()})
    other.start()
    assert started.wait(STUCK_S)
    assert session.timeline().current.execution_count == 1  # beside it
    waits = threading.Thread(target=session.restore, args=["first"])
    waits.start()
    waits.join(0.3)
    assert waits.is_alive()
    session.interrupt()
    for thread in (other, waits):
        thread.join(STUCK_S)
    assert session.timeline().current.image == "first"


class Interrupted:
    """A future in whose waiting thread Ctrl-C comes at once."""

    def __init__(self, future):
        self.cancel = future.cancel

    def result(self):
        raise KeyboardInterrupt


def test_ctrl_c_while_a_restore_waits_prevents_it(session, monkeypatch):
    session.run("x = 1")
    started = threading.Event()
    other = threading.Thread(target=session.run, args=[SLOW], kwargs={"on_progress": lambda _: started.set()})
    other.start()
    assert started.wait(STUCK_S)
    submit = session._submit
    monkeypatch.setattr(session, "_submit", lambda coroutine: Interrupted(submit(coroutine)))
    with pytest.raises(KeyboardInterrupt):
        session.restore("first")
    monkeypatch.undo()
    session.interrupt()
    other.join(STUCK_S)
    assert session.run("x").result == "1"


def test_files_that_were_copied_out_stay_when_their_run_is_undone(tmp_path):
    with petri.Session(folder=tmp_path) as session:
        session.run("open('a.txt', 'w').write('made')")
        assert session.undo().image == "first"
        assert session.run("import os; os.path.exists('a.txt')").result == "False"
    assert (tmp_path / "outputs" / "a.txt").read_text() == "made"


def test_async_requests_at_once_get_each_its_own_answer():
    async def main():
        async with petri.AsyncSession() as session:
            await session.run("x = 1")
            names = [f"n{n}" for n in range(5)]
            found = await asyncio.gather(*(session.checkpoint(name) for name in names), session.timeline())
            assert all(image.image == found[-1].current.image for image in found[:-1])
            assert [name in image.names for name, image in zip(names, found)] == [True] * 5
            async with session.attempt():
                await session.run("x = 2")
            went = await session.restore("n3")
            assert went.detail == "nothing changes: this is the state after [1]"
            return (await session.run("x")).result

    assert asyncio.run(main()) == "1"


def test_async_progress_may_look_at_the_timeline_and_not_go_back():
    async def main():
        seen = []

        async def look(progress):
            seen.append((await session.timeline()).current.image)
            with pytest.raises(petri.SessionError, match="can't wait for the end of its own run"):
                await session.undo()
            await session.interrupt()

        async with petri.AsyncSession() as session:
            assert (await session.run(SLOW, on_progress=look)).outcome == "interrupted"
        return seen

    assert asyncio.run(main()) == ["first"]


def test_async_restore_cancelled_while_it_waits_changes_nothing():
    async def main():
        async with petri.AsyncSession() as session:
            await session.run("x = 1")
            started = asyncio.Event()
            runs = asyncio.create_task(session.run(SLOW, on_progress=lambda _: started.set()))
            await started.wait()
            restores = asyncio.create_task(session.restore("first"))
            await asyncio.sleep(0)
            restores.cancel()
            await session.interrupt()
            await runs
            with pytest.raises(asyncio.CancelledError):
                await restores
            return (await session.run("x")).result

    assert asyncio.run(main()) == "1"


def test_a_session_that_is_closed_goes_nowhere():
    session = petri.Session()
    session.close()
    for method in (session.undo, session.redo, session.timeline, lambda: session.restore("first")):
        with pytest.raises(petri.SessionClosed):
            method()


def test_a_kernel_that_does_not_know_the_requests_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(control, "REPLY_S", 0.2)
    program = tmp_path / "program"
    fake = ROOT / "tests" / "client" / "fake_kernel.py"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {fake} stays_mute "$@"\n')
    program.chmod(0o755)
    with petri.Session(program=program) as session:
        with pytest.raises(petri.SessionError, match="does not answer petri_timeline_request"):
            session.timeline()


REPLY = {
    "status": "ok",
    "images": [
        {"image": "first", "parent": None, "run_id": "first", "names": ["a", "b"], "kept": True, "a_new_one": 1},
        {"image": "r", "parent": "first", "run_id": "r", "execution_count": 1, "names": []},
    ],
    "current": "r",
    "bytes_kept": 7,
}


def test_a_timeline_is_made_of_what_a_kernel_says():
    timeline = make_timeline(REPLY)
    assert timeline.images[0] == petri.Image("first", None, "first", names=("a", "b"), kept=True)
    assert (timeline.current, timeline.bytes_kept) == (timeline.images[1], 7)
    assert make_timeline({**REPLY, "state": "r"}) == timeline
    changed = make_timeline({**REPLY, "state": "changed since it has a name"}).current
    assert (changed.image, changed.run_id) == ("changed since it has a name", "r")
    with pytest.raises(petri.SessionError, match="has no image 'x'"):
        make_timeline({**REPLY, "current": "x"})


@pytest.mark.parametrize(
    ("reply", "kind", "sentence"),
    [
        ({"status": "error", "ename": "UnknownImage", "evalue": "it is gone"}, petri.UnknownImage, "it is gone"),
        ({"status": "error", "ename": "BadName", "evalue": "a number"}, petri.BadRequest, "a number"),
        ({"status": "error", "ename": "BadRequest", "evalue": "no text"}, petri.BadRequest, "no text"),
        ({"status": "error", "ename": "SandboxError", "evalue": "no memory"}, petri.SessionError, "no memory"),
        ({"status": "error"}, petri.SessionError, "does not say why"),
        ({}, petri.SessionError, "does not say why"),
    ],
)
def test_a_failed_answer_is_an_exception_with_the_kernels_sentence(reply, kind, sentence):
    with pytest.raises(kind, match=sentence):
        answered(reply)
