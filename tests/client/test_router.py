"""Router: each message reaches the run that it is about, and what ends the reading ends every run. Without a kernel."""

import asyncio

import pytest

from petri_kernel import control
from petri_kernel.control import ControlRequest
from petri_kernel.errors import KernelDied, SessionError
from petri_kernel.router import CHANNELS, Router


class Channels:
    """What a kernel has said, by channel; an exception in it is raised."""

    def __init__(self):
        self.said = {channel: asyncio.Queue() for channel in CHANNELS}

    def say(self, request, text, channel="iopub"):
        self.said[channel].put_nowait({"parent_header": {"msg_id": request}, "text": text})

    def tell(self, request, content, channel):
        self.said[channel].put_nowait({"parent_header": {"msg_id": request}, "content": content})

    async def receive(self, channel):
        said = await self.said[channel].get()
        if isinstance(said, Exception):
            raise said
        return said


class Listener:
    """It ends with the text "end", and can't read "nonsense"."""

    def __init__(self):
        self.ended = asyncio.get_running_loop().create_future()
        self.taken = []

    def take(self, channel, message):
        self.taken.append((channel, message["text"]))
        if message["text"] == "nonsense":
            raise ValueError("it can't be read")
        if message["text"] == "end":
            self.ended.set_result(None)

    def fail(self, error):
        if not self.ended.done():
            self.ended.set_exception(error)


def routed(test):
    """Runs a test with what a kernel says and a router of that; nothing may be left of it."""

    async def main():
        channels = Channels()
        router = Router(channels.receive)
        await test(channels, router)
        await router.stopped()
        assert asyncio.all_tasks() == {asyncio.current_task()} and not router._listeners

    asyncio.run(main())


def test_messages_reach_the_run_that_they_are_about_in_their_order():
    async def test(channels, router):
        one, two = Listener(), Listener()
        router.add("one", one)
        router.add("two", two)
        for request, text in [("one", "a"), ("two", "b"), ("another", "c"), ("one", "d"), ("one", "end")]:
            channels.say(request, text)
        await one.ended
        channels.say("one", "too late")
        channels.say("two", "reply", "shell")
        channels.say("two", "end", "shell")
        await two.ended
        assert one.taken == [("iopub", "a"), ("iopub", "d"), ("iopub", "end")]
        assert two.taken == [("iopub", "b"), ("shell", "reply"), ("shell", "end")]

    routed(test)


def test_a_message_that_a_run_cannot_read_ends_that_run_alone():
    async def test(channels, router):
        one, two = Listener(), Listener()
        router.add("one", one)
        router.add("two", two)
        channels.say("one", "nonsense")
        channels.say("two", "end")
        with pytest.raises(ValueError, match="can't be read"):
            await one.ended
        await two.ended

    routed(test)


def test_an_end_of_the_kernel_ends_every_run_with_an_error_of_its_own():
    async def test(channels, router):
        both = [Listener(), Listener()]
        for number, listener in enumerate(both):
            router.add(str(number), listener)
        channels.said["shell"].put_nowait(KernelDied("the kernel has ended"))
        errors = await asyncio.gather(*(listener.ended for listener in both), return_exceptions=True)
        assert [repr(error) for error in errors] == ["KernelDied('the kernel has ended')"] * 2
        assert errors[0] is not errors[1]

    routed(test)


def test_a_run_that_comes_while_the_others_fail_is_read_for():
    async def test(channels, router):
        failed, next_one = Listener(), Listener()
        router.add("failed", failed)
        failed.fail = lambda error: (Listener.fail(failed, error), router.add("next", next_one))
        channels.said["iopub"].put_nowait(KernelDied("the kernel has ended"))
        with pytest.raises(KernelDied):
            await failed.ended
        channels.say("next", "reply", "shell")
        channels.say("next", "end")
        await next_one.ended

    routed(test)


def test_control_requests_that_wait_at_once_get_each_its_own_reply():
    async def test(channels, router):
        names = ["one", "two", "three"]
        asked = {name: ControlRequest("petri_restore_request") for name in names}
        for name in names:
            router.add(name, asked[name])
        waits = {name: asyncio.create_task(asked[name].reply()) for name in names}
        for name in reversed(names):
            channels.tell(name, {"execution_state": "idle"}, "iopub")
            channels.tell(name, {"detail": name}, "control")
        assert {name: await waits[name] for name in names} == {name: {"detail": name} for name in names}

    routed(test)


def test_a_control_request_whose_waiter_is_cancelled_goes_on_to_its_reply():
    async def test(channels, router):
        asked = ControlRequest("petri_restore_request")
        router.add("one", asked)
        waits = asyncio.create_task(asked.reply())
        await asyncio.sleep(0)
        waits.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waits
        assert not asked.ended.done()
        channels.tell("one", {"detail": "there"}, "control")
        await asyncio.wait({asked.ended})
        assert await asked.reply() == {"detail": "there"}

    routed(test)


def test_an_end_of_the_kernel_ends_what_waits_for_a_reply():
    async def test(channels, router):
        asked = ControlRequest("petri_restore_request")
        router.add("one", asked)
        router.fail(KernelDied("the kernel has ended"))
        with pytest.raises(KernelDied):
            await asked.reply()

    routed(test)


def test_a_control_request_without_a_reply_is_given_up_after_its_idle(monkeypatch):
    monkeypatch.setattr(control, "REPLY_S", 0.05)

    async def test(channels, router):
        asked = ControlRequest("petri_restore_request")
        router.add("one", asked)
        channels.tell("one", {"execution_state": "busy"}, "iopub")
        channels.tell("one", {"execution_state": "idle"}, "iopub")
        with pytest.raises(SessionError, match="the kernel does not answer petri_restore_request"):
            await asked.reply()

    routed(test)
