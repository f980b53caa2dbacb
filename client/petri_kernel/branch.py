"""Branch: runs from a state of a session, beside the session; and the best of several pieces of code."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import inspect
import numbers
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from petri_kernel.collect import OnProgress, Progress
from petri_kernel.errors import BadRequest, KeyFailed, UnknownImage, inside_error
from petri_kernel.limits import Duration, LimitValue, Size
from petri_kernel.request import Expect, FileContent, Request, unicode_bytes
from petri_kernel.result import Result
from petri_kernel.timeline import Restored

if TYPE_CHECKING:
    from petri_kernel.aio import AsyncSession
    from petri_kernel.kernel import Kernel
    from petri_kernel.session import Session

Key = Callable[[Result], Any]
"""What is compared of a result: the greatest is the best, as with max(); nan is less than all."""

CODES = 64


@dataclasses.dataclass(frozen=True)
class BestOf:
    """What came of several pieces of code that ran at once, each from the same state.

    results: in the order of the codes. index: the place of the best one among them; None where none succeeded, or none
    has a key that is a number.
    """

    results: tuple[Result, ...]
    index: int | None

    @property
    def best(self) -> Result | None:
        """The best one; None where there is none. Its `image` is what Session.restore() goes to."""
        return None if self.index is None else self.results[self.index]


def check_code(code: object) -> None:
    """Raises TypeError or BadRequest where it is none."""
    if not isinstance(code, str):
        raise TypeError(f"code has to be a str, not {type(code).__name__}")
    unicode_bytes("code", code)


def check_codes(codes: Sequence[str]) -> tuple[str, ...]:
    """The codes, once for all. Raises TypeError, BadRequest."""
    if isinstance(codes, (str, bytes)):
        raise TypeError("codes has to be several texts, and not one")
    all_codes = tuple(codes)
    for code in all_codes:
        check_code(code)
    if not 1 <= len(all_codes) <= CODES:
        raise BadRequest(f"codes: 1 to {CODES} can run at once, and not {len(all_codes)}")
    return all_codes


def check_key(key: object) -> None:
    """Raises TypeError where it can't be called with a result."""
    if key is not None and (not callable(key) or inspect.iscoroutinefunction(key)):
        raise TypeError(f"key has to be a function that takes a Result and returns what is compared, and not {key!r}")


def _is_nan(value: object) -> bool:
    """Whether it is no number, or has one in it that is none: then > says nothing about it."""
    if isinstance(value, (tuple, list)):
        return any(map(_is_nan, value))
    return isinstance(value, numbers.Number) and value != value


def best_of(results: Sequence[Result], key: Key | None) -> BestOf:
    """The best of those that are ok, the first one of several that are equal; never one whose key is nan.

    Raises KeyFailed.
    """
    best: int | None = None
    greatest: Any = None
    for index, result in enumerate(results):
        if not result.ok:
            continue
        try:
            value = key(result) if key is not None else 0
            if not _is_nan(value) and (best is None or value > greatest):
                best, greatest = index, value
        except Exception as error:
            raise KeyFailed(
                f"key failed for result {index}: {type(error).__name__}: {error}; the error has the results of all codes",
                tuple(results),
                index,
            ) from error
    return BestOf(tuple(results), best)


@contextlib.contextmanager
def keeping(found: BestOf) -> Iterator[None]:
    """Inside of it the best one's state becomes the session's; where that has gone, the results come with the error."""
    try:
        yield
    except UnknownImage as error:
        error.results = found.results
        raise


class AsyncBranch:
    """Runs beside a session, each from the state that the one before it has left; the async twin of Branch.

        async with await session.branch() as branch:
            await branch.run("numbers.sort()")
            await branch.keep()

    AsyncSession.branch() makes it.
    """

    def __init__(self, session: AsyncSession, kernel: Kernel, image: str) -> None:
        self._session = session
        self._kernel = kernel
        self._image = image
        self._turn = asyncio.Lock()
        self._holder: asyncio.Task[Any] | None = None

    @contextlib.asynccontextmanager
    async def _in_turn(self) -> AsyncIterator[None]:
        """Inside of it no other run of this branch begins. Raises SessionError where it would wait for ever."""
        if self._holder is not None and self._holder is asyncio.current_task():
            raise inside_error()
        async with self._turn:
            self._holder = asyncio.current_task()
            try:
                yield
            finally:
                self._holder = None

    @property
    def image(self) -> str:
        """The id of the state that the next run begins with: that of the last run that has left one."""
        return self._image

    async def run(
        self,
        code: str,
        *,
        files: Mapping[str, FileContent] | None = None,
        stdin: str | None = None,
        env: Mapping[str, str] | None = None,
        timeout: Duration | None = None,
        memory: Size | None = None,
        limits: Mapping[str, LimitValue] | None = None,
        task: str | None = None,
        expect: Expect | Mapping[str, Any] | None = None,
        inline_bytes: int | None = None,
        checkpoint: str | None = None,
        on_progress: OnProgress | None = None,
    ) -> Result:
        """Runs code as Branch.run() does. on_progress may be a coroutine function; it can't wait for this branch."""
        asked = Request(
            files, stdin, env, timeout, memory, limits, task,
            expect=expect, inline_bytes=inline_bytes, checkpoint=checkpoint,
        )  # fmt: skip
        return await self.run_request(code, asked, on_progress)

    async def run_request(self, code: str, asked: Request, on_progress: OnProgress | None = None) -> Result:
        """run() with what it asks for in one object."""
        async with self._in_turn():
            here = dataclasses.replace(asked, from_=self._image, branch=True)
            result = await self._session.run_request(code, here, on_progress, self._kernel)
            if result.image is not None:
                self._image = result.image
            return result

    async def keep(self) -> Restored:
        """Makes the branch's state the session's, as Branch.keep() does."""
        async with self._in_turn():
            return await self._session.go(self._kernel, self._image)

    async def branch(self) -> AsyncBranch:
        """A branch that begins where this one is."""
        async with self._in_turn():
            return AsyncBranch(self._session, self._kernel, self._image)

    async def __aenter__(self) -> AsyncBranch:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing is to be done: what keep() has not made the session's makes room for newer states."""


class Branch:
    """Runs beside a session, each from the state that the one before it has left.

        with session.branch() as branch:
            if branch.run("numbers.sort()").ok:
                branch.keep()

    Session.branch() makes it. The session and other branches see nothing of it until keep(): its files and its memory
    are its own. Runs of one branch that are asked for at once follow each other; those of several branches, from
    several threads, run beside each other and beside the session's own run, as many as the limit cpus allows (limits of
    the session).

    Each of its states is one of the session's timeline(), where restore() goes to it too, and makes room for newer ones
    as they do (limits history and history_memory). The end of a `with` block changes nothing of that.
    """

    def __init__(self, session: Session, branch: AsyncBranch) -> None:
        self._session = session
        self._branch = branch

    @property
    def image(self) -> str:
        """The id of the state that the next run begins with: that of the last run that has left one."""
        return self._branch.image

    def run(
        self,
        code: str,
        *,
        files: Mapping[str, FileContent] | None = None,
        stdin: str | None = None,
        env: Mapping[str, str] | None = None,
        timeout: Duration | None = None,
        memory: Size | None = None,
        limits: Mapping[str, LimitValue] | None = None,
        task: str | None = None,
        expect: Expect | Mapping[str, Any] | None = None,
        inline_bytes: int | None = None,
        checkpoint: str | None = None,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> Result:
        """Runs code in the branch's state, and returns what came of it, whatever the outcome.

        The parameters are those of Session.run(). Result.image is the id of the state that it has left, and the branch
        goes on from there; where that is None, as of a run that was rolled back, or where something is raised here, the
        branch is where it was. checkpoint is a name for what the run leaves.

        Raises as Session.run() does; KernelDied also where the session was restarted, with which the branch has gone.
        A state that has made room for newer ones is an outcome, "refused" (FromUnknownImage).
        """
        asked = Request(
            files, stdin, env, timeout, memory, limits, task,
            expect=expect, inline_bytes=inline_bytes, checkpoint=checkpoint,
        )  # fmt: skip
        return self._session.run_request(self._branch, code, asked, on_progress)

    def keep(self) -> Restored:
        """Makes the branch's state the session's, as Session.restore() would: what the session did meanwhile is left.

        The branch may go on. Waits for runs of the branch and of the session that were asked for before. With writable,
        what the branch has written is in the session and, once its next run has ended, in the folder itself.

        Raises UnknownImage where that state has made room for newer ones; KernelDied where the session was restarted.
        """
        return self._session.wait_for(self._branch.keep())

    def branch(self) -> Branch:
        """A branch that begins where this one is, and of which this one sees nothing. Waits for this one's runs."""
        return Branch(self._session, self._session.wait_for(self._branch.branch()))

    def __enter__(self) -> Branch:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing is to be done: what keep() has not made the session's makes room for newer states."""
