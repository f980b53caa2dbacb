"""Limits as requests ask for them, and as the report says them.

The kernel's own table knows defaults and ceilings, which differ by profile and
machine; here are only names and units, so that a value that can't be meant
fails before anything is sent.
"""

from __future__ import annotations

import dataclasses
import datetime
import re
from collections.abc import Mapping
from typing import Union

from petri_kernel.errors import BadRequest

Duration = Union[float, str, datetime.timedelta]
"""Seconds, or "500ms", "10s", "5m", "1h", or a timedelta."""

Size = Union[int, str]
"""Bytes, or "512K", "512M", "2G" (powers of 1024)."""

LimitValue = Union[int, float, str, datetime.timedelta]

_UNITS: dict[str, str] = {
    "timeout": "ms",
    "input_wait": "ms",
    "cpu": "ms",
    "memory": "bytes",
    "processes": "count",
    "cpus": "count",
    "disk": "bytes",
    "files": "count",
    "output": "bytes",
    "display": "bytes",
    "displays": "count",
    "artifact": "bytes",
    "artifacts": "bytes",
    "code": "bytes",
    "history": "count",
    "history_memory": "bytes",
    "runs": "count",
    "budget": "ms",
    "task_artifacts": "bytes",
}

_MS: dict[str, int] = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000}
_BYTES: dict[str, int] = {
    suffix: 1024**power
    for power, suffixes in enumerate([("", "B"), ("K", "KB", "KiB"), ("M", "MB", "MiB"), ("G", "GB", "GiB")])
    for suffix in suffixes
}
_WRITTEN = re.compile(r"([0-9]+) *([A-Za-z]*)", re.ASCII)
_FORMS: dict[str, str] = {
    "ms": "seconds, a timedelta, or a text such as '500ms' or '10s'",
    "bytes": "bytes, or a text such as '64M' or '512M'",
    "count": "a whole number",
}
_MOST = 2**63 - 1


def _from_text(text: str, factors: Mapping[str, int]) -> int | None:
    match = _WRITTEN.fullmatch(text)
    if not match or match[2] not in factors:
        return None
    return int(match[1]) * factors[match[2]]


def _milliseconds(value: LimitValue) -> int | None:
    if isinstance(value, str):
        return _from_text(value, _MS)
    seconds = value.total_seconds() if isinstance(value, datetime.timedelta) else value
    # Also what is not finite: NaN compares as false.
    return round(1000 * seconds) if 0 < seconds < _MOST / 1000 else None


def _whole(value: LimitValue, factors: Mapping[str, int]) -> int | None:
    if isinstance(value, str):
        return _from_text(value, factors)
    return value if isinstance(value, int) else None


def limit_value(name: str, value: LimitValue) -> int:
    """The value of a limit in its unit: milliseconds, bytes, or a number. Raises BadRequest where it can't be one."""
    unit = _UNITS.get(name)
    if unit is None:
        raise BadRequest(f"there is no limit {name!r}; there are {', '.join(_UNITS)}")
    number: int | None = None
    if isinstance(value, (int, float, str, datetime.timedelta)) and not isinstance(value, bool):
        number = _milliseconds(value) if unit == "ms" else _whole(value, _BYTES if unit == "bytes" else {"": 1})
    if number is None or not 0 < number <= _MOST:
        raise BadRequest(f"{name} has to be {_FORMS[unit]}, more than 0, and not {value!r}")
    return number


def milliseconds(name: str, value: Duration) -> int:
    """A duration in milliseconds. Raises BadRequest, with the name."""
    known = isinstance(value, (int, float, str, datetime.timedelta)) and not isinstance(value, bool)
    number = _milliseconds(value) if known else None
    if not number:
        raise BadRequest(f"{name} has to be {_FORMS['ms']}, more than 0, and not {value!r}")
    return number


def limits_request(
    limits: Mapping[str, LimitValue] | None, timeout: Duration | None, memory: Size | None
) -> dict[str, int]:
    """`limits` of a request, in the kernel's units. Raises BadRequest."""
    asked: dict[str, LimitValue] = dict(limits or {})
    for name, value in (("timeout", timeout), ("memory", memory)):
        if value is None:
            continue
        if name in asked:
            raise BadRequest(f"{name} is asked for twice, in {name}= and in limits=")
        asked[name] = value
    return {name: limit_value(name, value) for name, value in asked.items()}


@dataclasses.dataclass(frozen=True)
class Limits:
    """The limits in force for a run; None where the kernel does not say. "_ms" is milliseconds.

    timeout_ms: wall clock, which stands still while input() waits and the run does nothing else.
    input_wait_ms: how long it waits for answers, all together.
    cpu_ms: CPU time of all the run's processes.
    memory_bytes: what they hold.
    processes: tasks at once. cpus: processors at once.
    disk_bytes, files: what the session has written.
    output_bytes: stdout and stderr together. display_bytes: one rich output. displays: their number.
    artifact_bytes: one file copied out. artifacts_bytes: all of a run.
    code_bytes: source.
    history: states that the session can go back to. history_memory_bytes: what these hold beside the present one.
    runs, budget_ms, task_artifacts_bytes: of a task's runs together.
    """

    timeout_ms: int | None = None
    input_wait_ms: int | None = None
    cpu_ms: int | None = None
    memory_bytes: int | None = None
    processes: int | None = None
    cpus: int | None = None
    disk_bytes: int | None = None
    files: int | None = None
    output_bytes: int | None = None
    display_bytes: int | None = None
    displays: int | None = None
    artifact_bytes: int | None = None
    artifacts_bytes: int | None = None
    code_bytes: int | None = None
    history: int | None = None
    history_memory_bytes: int | None = None
    runs: int | None = None
    budget_ms: int | None = None
    task_artifacts_bytes: int | None = None
