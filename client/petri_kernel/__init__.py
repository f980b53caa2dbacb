"""Runs Python code in petri's sandboxes and returns a factual result.

    from petri_kernel import Session

    with Session() as session:
        result = session.run("print(6 * 7)", timeout="10s", memory="512M")
        print(result.outcome, result.stdout)

A run either finishes within its limits, or it never happened: after a time-out,
a crash or too much memory the session is as it was before the run. And a session
goes back to the state after any earlier run: checkpoint(), restore(), undo(),
attempt(). branch() and best_of() run beside it, several at once, and keep what
was worth it. AsyncSession is the same for asyncio.
"""

from petri_kernel.aio import AsyncSession
from petri_kernel.branch import AsyncBranch, BestOf, Branch
from petri_kernel.collect import Progress
from petri_kernel.errors import (
    BadRequest,
    BudgetExceeded,
    CellCpuLimit,
    CellCrashed,
    CellFailed,
    CellInterrupted,
    CellMemoryLimit,
    CellRefused,
    CellTimeout,
    CodeRaised,
    FileNotKept,
    FromUnknownImage,
    KernelDied,
    KeyFailed,
    PetriError,
    ProgramNotFound,
    SandboxError,
    SessionClosed,
    SessionError,
    UnknownImage,
)
from petri_kernel.limits import Limits
from petri_kernel.request import Expect, ExpectedArtifact
from petri_kernel.result import Artifact, Check, Denied, Display, Error, Input, Metrics, Result
from petri_kernel.session import Session
from petri_kernel.timeline import Image, Restored, Timeline, Trial

__all__ = [
    "Artifact",
    "AsyncBranch",
    "AsyncSession",
    "BadRequest",
    "BestOf",
    "Branch",
    "BudgetExceeded",
    "CellCpuLimit",
    "CellCrashed",
    "CellFailed",
    "CellInterrupted",
    "CellMemoryLimit",
    "CellRefused",
    "CellTimeout",
    "Check",
    "CodeRaised",
    "Denied",
    "Display",
    "Error",
    "Expect",
    "ExpectedArtifact",
    "FileNotKept",
    "FromUnknownImage",
    "Image",
    "Input",
    "KernelDied",
    "KeyFailed",
    "Limits",
    "Metrics",
    "PetriError",
    "ProgramNotFound",
    "Progress",
    "Restored",
    "Result",
    "SandboxError",
    "Session",
    "SessionClosed",
    "SessionError",
    "Timeline",
    "Trial",
    "UnknownImage",
]
