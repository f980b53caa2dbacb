"""What can go wrong, as exceptions.

Two families: SessionError where no result can be had, CellFailed where there is
one and Result.raise_for_outcome() was asked to raise it.
"""

from __future__ import annotations

import typing

if typing.TYPE_CHECKING:
    from petri_kernel.result import Result


class PetriError(Exception):
    """The base of all that this package raises, but for ValueError and TypeError about arguments."""


class BadRequest(PetriError, ValueError):
    """An argument can't be what a request asks for; nothing was done."""


class SessionError(PetriError):
    """The kernel could not be started, or can't be spoken with."""


class ProgramNotFound(SessionError):
    """The program `petri` is nowhere where it is looked for: kernel.find_program()."""


class SessionClosed(SessionError):
    """The session was closed."""


class KernelDied(SessionError):
    """The kernel's process has ended; Session.restart() starts another one, without the state."""


class UnknownImage(PetriError, LookupError):
    """The session has no such state, or none any more; str() is the kernel's sentence. The session is as it was.

    results: where best_of() could not keep the best one, those of all its codes; else empty.
    """

    results: tuple[Result, ...] = ()


class KeyFailed(PetriError):
    """best_of() has run its codes, and key raised something, which is __cause__, or has given what can't be compared.

    results: of all the codes. index: the place of the one that key failed for. The session is as it was.
    """

    def __init__(self, message: str, results: tuple[Result, ...], index: int) -> None:
        super().__init__(message)
        self.results = results
        self.index = index


class FileNotKept(PetriError, FileNotFoundError):
    """The content of a run's file can't be had: it was not copied out, or its copy has been replaced since."""


class CellFailed(PetriError):
    """A run whose outcome is not "ok". str() is the one sentence that says why; `result` is all of it."""

    def __init__(self, message: str, result: Result) -> None:
        super().__init__(message)
        self.result = result


class CodeRaised(CellFailed):
    """The code raised an exception (outcome "error"); what it did before stays."""


class CellInterrupted(CellFailed):
    """The code was interrupted (outcome "interrupted"); Result.rolled_back says whether it was undone."""


class CellTimeout(CellFailed):
    """The code ran over its time limit and was undone."""


class CellCpuLimit(CellFailed):
    """The code used more CPU time than its limit and was undone."""


class CellMemoryLimit(CellFailed):
    """The code held more memory than its limit and was undone."""


class CellCrashed(CellFailed):
    """The code's process died, and what it did was undone."""


class CellRefused(CellFailed):
    """The request was refused, by a ceiling or a policy: nothing ran."""


class BudgetExceeded(CellRefused):
    """The task has used up its budget: nothing ran."""


class FromUnknownImage(CellRefused, UnknownImage):
    """The run was to begin with a state that the session does not have: nothing ran."""


class SandboxError(CellFailed):
    """There is no sandbox on this machine as it is; `petri doctor` says how to mend it. Nothing ran."""


# By `outcome` of the report, and refusals that have one of their own by their name.
_BY_OUTCOME: dict[str, type[CellFailed]] = {
    "error": CodeRaised,
    "interrupted": CellInterrupted,
    "timeout": CellTimeout,
    "cpu": CellCpuLimit,
    "memory": CellMemoryLimit,
    "crash": CellCrashed,
    "refused": CellRefused,
    "sandbox": SandboxError,
}

_BY_NAME: dict[str, type[CellFailed]] = {"BudgetExceeded": BudgetExceeded, "UnknownImage": FromUnknownImage}


def failure_class(outcome: str, ename: str) -> type[CellFailed]:
    """The exception for an outcome that is not "ok"; CellFailed itself for one that is not known."""
    if outcome == "refused" and ename in _BY_NAME:
        return _BY_NAME[ename]
    return _BY_OUTCOME.get(outcome, CellFailed)


def inside_error() -> SessionError:
    """What an on_progress gets that waits for what can't begin before the end of its own run."""
    return SessionError("on_progress can't wait for the end of its own run; it may interrupt() it, or raise")
