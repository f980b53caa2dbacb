"""What a run gives back: the kernel's report with names and types, and what the code put out.

Everything here but `stdout`, `stderr`, `result` and `displays` was measured or
enforced outside the sandbox. What a newer kernel reports and this package has
no name for stands in Result.report.
"""

from __future__ import annotations

import base64
import builtins
import dataclasses
import hashlib
import pathlib
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from petri_kernel.errors import FileNotKept, failure_class
from petri_kernel.limits import Limits

Row = TypeVar("Row")


def row_of(cls: type[Row], values: object) -> Row:
    """A dataclass of those of the kernel's values that it has fields for."""
    found = values if isinstance(values, Mapping) else {}
    fields = {field.name for field in dataclasses.fields(cls)}  # type: ignore[arg-type]
    return cls(**{key: value for key, value in found.items() if key in fields})


def _rows(cls: type[Row], values: object) -> list[Row]:
    return [row_of(cls, value) for value in values] if isinstance(values, Iterable) else []


@dataclasses.dataclass(frozen=True)
class Metrics:
    """What a run cost; None where the kernel does not say.

    wall_ms: from its start to its end. cpu_ms: CPU time of all its processes.
    max_memory_bytes: the most that they held at once. sandbox_ms: making the sandbox.
    stdout_bytes, stderr_bytes: all that was written. dropped_bytes: of that and of rich outputs, what was over a limit.
    processes_max: the most tasks at once.
    """

    wall_ms: float | None = None
    cpu_ms: float | None = None
    max_memory_bytes: int | None = None
    sandbox_ms: float | None = None
    stdout_bytes: int | None = None
    stderr_bytes: int | None = None
    dropped_bytes: int | None = None
    processes_max: int | None = None


@dataclasses.dataclass(frozen=True)
class Artifact:
    """A file that the run created, changed or deleted.

    path: below the session's folder. action: "created", "changed" or "deleted". bytes: its size. sha256: hexadecimal.
    mime: its type by content.
    copied_to: where the copy is, below the session's folder; None where there is none.
    refused: why there is none.
    removed: in the writable mode, that a deleted file is gone there too. conflict: that somebody else had changed the
    file meanwhile, so that the run's has another name, copied_to.
    data: base64, where the request had inline_bytes and the file is not larger.
    folder: the session's folder on this machine.
    """

    path: str = ""
    action: str = ""
    bytes: int | None = None
    sha256: str | None = None
    mime: str | None = None
    copied_to: str | None = None
    refused: str | None = None
    removed: bool = False
    conflict: str | None = None
    data: str | None = None
    folder: pathlib.Path = pathlib.Path()
    keeper: object = dataclasses.field(default=None, repr=False, compare=False)  # of a temporary folder

    @property
    def file(self) -> pathlib.Path | None:
        """The copy on this machine, or None. Later runs and other programs may have replaced it; read_bytes() looks."""
        return self.folder / self.copied_to if self.copied_to else None

    def read_bytes(self) -> builtins.bytes:
        """The content that the run has left, inline or from the copy; never that of another run.

        Raises FileNotKept, a FileNotFoundError, where there is neither, or where the copy has another content by now.
        """
        if self.data is not None:
            return base64.b64decode(self.data)
        if self.file is None:
            raise FileNotKept(f"{self.path} was not copied out: {self.refused or 'artifacts are not kept'}")
        try:
            content = self.file.read_bytes()
        except FileNotFoundError:
            raise FileNotKept(f"{self.path}: its copy {self.copied_to} is not there any more") from None
        if self.sha256 is not None and hashlib.sha256(content).hexdigest() != self.sha256:
            raise FileNotKept(
                f"{self.path}: its copy {self.copied_to} was replaced by a later run or another program; read it before, "
                "or have small files come with the result (inline_bytes)"
            )
        return content


@dataclasses.dataclass(frozen=True)
class Input:
    """A file that the request brought or the code read. bytes: its size; sha256: hexadecimal, None if not known."""

    path: str = ""
    bytes: int | None = None
    sha256: str | None = None


@dataclasses.dataclass(frozen=True)
class Denied:
    """Something that the sandbox did not allow: a system call, how it was called (an address, say), and how often."""

    syscall: str = ""
    detail: str = ""
    count: int = 0


@dataclasses.dataclass(frozen=True)
class Check:
    """What came of one thing that was expected. detail: a sentence."""

    check: str = ""
    ok: bool = False
    detail: str = ""


@dataclasses.dataclass(frozen=True)
class Error:
    """What ended a run that did not go well.

    ename: the exception's class, or the name of the outcome ("CellTimeout"). evalue: one sentence.
    line, column: in the code, from 1; None where not known. traceback: lines of text without colours.
    """

    ename: str = ""
    evalue: str = ""
    line: int | None = None
    column: int | None = None
    traceback: list[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Display:
    """A rich output: its representations by MIME type, and what the code said about them."""

    data: dict[str, Any]
    metadata: dict[str, Any]
    display_id: str | None = None


@dataclasses.dataclass(frozen=True)
class Output:
    """What a run put out, as far as it was kept: see Session(keep_bytes=)."""

    stdout: str = ""
    stderr: str = ""
    result: str | None = None
    result_data: dict[str, Any] = dataclasses.field(default_factory=dict)
    displays: list[Display] = dataclasses.field(default_factory=list)
    notes: list[str] = dataclasses.field(default_factory=list)
    left_out_bytes: int = 0


@dataclasses.dataclass(frozen=True)
class Result:
    """One run.

    outcome: "ok", "error", "interrupted", "timeout", "cpu", "memory", "crash", "refused" or "sandbox".
    rolled_back: whether the session is as it was before the run.
    stdout, stderr: text. result: the value of the last expression as text, or None; result_data: all its
    representations by MIME type. displays: rich outputs, in order; notes: what the kernel has said of the run's files, in
    its own words.
    left_out_bytes: what this package did not keep.
    error: None where all went well.
    artifacts: files that the run made. inputs: files that it was given or read; inputs_complete: whether these are all
    of the folder's. denied: what it was not allowed.
    checks: what came of `expect`.
    metrics: what it cost. limits: what was in force.
    run_id: of the run's record. session_id: of the kernel.
    image: the id of the state that the run has left, to the session or to its branch; None where it has left none;
    parent: of the one that it began with. committed: whether what it changed stays. checkpoint: the name that was given to what it left.
    cached: whether this is a recorded result. report: all of the kernel's report, as it came.
    """

    outcome: str
    rolled_back: bool
    stdout: str
    stderr: str
    result: str | None
    result_data: dict[str, Any]
    displays: list[Display]
    notes: list[str]
    left_out_bytes: int
    error: Error | None
    artifacts: list[Artifact]
    inputs: list[Input]
    inputs_complete: bool
    denied: list[Denied]
    checks: list[Check]
    metrics: Metrics
    limits: Limits
    run_id: str
    session_id: str
    image: str | None
    parent: str | None
    committed: bool
    checkpoint: str | None
    cached: bool
    report: dict[str, Any]

    @property
    def ok(self) -> bool:
        """Whether the outcome is "ok" and every check of `expect` holds."""
        return self.outcome == "ok" and all(check.ok for check in self.checks)

    @property
    def reason(self) -> str:
        """One sentence that says why ok is False; "" where it is True."""
        if self.outcome != "ok":
            return f"{self.error.ename}: {self.error.evalue}" if self.error else self.outcome
        failed = next((check for check in self.checks if not check.ok), None)
        return f"{failed.check}: {failed.detail}" if failed else ""

    def _shown(self, mime: str) -> Any:
        """The representation of the last rich output that has one of this type: the value, else a display."""
        for data in (self.result_data, *(display.data for display in reversed(self.displays))):
            if data.get(mime) is not None:
                return data[mime]
        return None

    @property
    def text(self) -> str:
        """All that a reader sees of the run as text: what it printed, its displays, its value, its error."""
        parts = [self.stdout, self.stderr]
        parts += [str(display.data.get("text/plain", "")) for display in self.displays]
        parts += [self.result or "", "\n".join(self.error.traceback) if self.error else ""]
        return "\n".join(part.rstrip("\n") for part in parts if part)

    @property
    def html(self) -> str | None:
        """HTML of the value, or of the last display that has some; None where there is none."""
        shown = self._shown("text/html")
        return None if shown is None else str(shown)

    @property
    def png(self) -> bytes | None:
        """The image that is the value, or the last one that was displayed, as PNG; None where there is none."""
        shown = self._shown("image/png")
        return base64.b64decode(shown) if isinstance(shown, str) else None

    @property
    def markdown(self) -> str | None:
        """Markdown of the value, or of the last display that has some; None where there is none."""
        shown = self._shown("text/markdown")
        return None if shown is None else str(shown)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        """In a notebook a result is shown as its cell would be: its value or its last display; else as text."""
        last = self.result_data or (self.displays[-1].data if self.displays else {})
        return {**last, "text/plain": last.get("text/plain") or self.text or repr(self)}

    def _repr_html_(self) -> str | None:
        return self.html

    def _repr_png_(self) -> bytes | None:
        return self.png

    def raise_for_outcome(self) -> Result:
        """Returns this result, or raises the CellFailed that fits an outcome other than "ok"."""
        if self.outcome == "ok":
            return self
        raise failure_class(self.outcome, self.error.ename if self.error else "")(self.reason, self)


def make_result(report: dict[str, Any], output: Output, folder: pathlib.Path, keeper: object = None) -> Result:
    """A Result of the kernel's report, of what came before it, and of the session's folder.

    keeper: what its artifacts hold, so that a temporary folder stays.
    """
    error = report.get("error")
    artifacts = [dataclasses.replace(row, folder=folder, keeper=keeper) for row in _rows(Artifact, report.get("artifacts"))]
    return Result(
        outcome=str(report["outcome"]),
        rolled_back=bool(report.get("rolled_back")),
        **{field.name: getattr(output, field.name) for field in dataclasses.fields(output)},
        error=row_of(Error, error) if error else None,
        artifacts=artifacts,
        inputs=_rows(Input, report.get("inputs")),
        inputs_complete=bool(report.get("inputs_complete", False)),
        denied=_rows(Denied, report.get("denied")),
        checks=_rows(Check, report.get("validation")),
        metrics=row_of(Metrics, report.get("metrics")),
        limits=row_of(Limits, report.get("limits")),
        run_id=str(report.get("run_id", "")),
        session_id=str(report.get("session_id", "")),
        image=report.get("image"),
        parent=report.get("parent"),
        committed=bool(report.get("committed", False)),
        checkpoint=report.get("checkpoint"),
        cached=bool(report.get("cached")),
        report=report,
    )
