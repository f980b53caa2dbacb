"""Puts the messages about one run together. Knows no sockets: what it is given may come from anywhere."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal, Union

from petri_kernel.result import Display, Output

KEEP_BYTES = 256 << 20


@dataclasses.dataclass(frozen=True)
class Progress:
    """Something that a run has just put out.

    kind: "stdout", "stderr", "display", "update" (of an earlier display, by display_id) or "result".
    text: the text, or the text/plain of a rich output. data: representations by MIME type, of rich outputs.
    """

    kind: Literal["stdout", "stderr", "display", "update", "result"]
    text: str
    data: dict[str, Any] = dataclasses.field(default_factory=dict)
    metadata: dict[str, Any] = dataclasses.field(default_factory=dict)
    display_id: str | None = None


OnProgress = Callable[[Progress], Union[None, Awaitable[None]]]


def _value_bytes(value: object) -> int:
    return len(value) if isinstance(value, str) else len(json.dumps(value, ensure_ascii=False, default=str))


def _rich_bytes(data: Mapping[str, Any], metadata: Mapping[str, Any]) -> int:
    return sum(map(_value_bytes, data.values())) + _value_bytes(metadata)


def _mapping(value: object) -> dict[str, Any]:
    return dict(value) if isinstance(value, Mapping) else {}


class Collector:
    """Takes iopub messages of one request, in their order.

    keep_bytes: of streams and rich outputs together, this much is kept in memory; the rest is counted. Texts count
    by their characters.
    """

    def __init__(self, keep_bytes: int = KEEP_BYTES) -> None:
        self.busy = False
        self.idle = False
        self._room = keep_bytes
        self._left_out = 0
        self._streams: dict[str, list[str]] = {"stdout": [], "stderr": []}
        self._displays: list[Display] = []
        self._notes: list[str] = []
        self._result: dict[str, Any] = {}

    def take(self, message: Mapping[str, Any]) -> Progress | None:
        """One message; returns what there is to tell about it."""
        content: Mapping[str, Any] = message["content"]
        kind = message["header"]["msg_type"]
        if kind == "status":
            self.busy = True
            self.idle = content.get("execution_state") == "idle"
        elif kind == "stream" and content.get("name") in self._streams:
            return self._take_stream(content)
        elif kind in ("display_data", "execute_result", "update_display_data"):
            return self._take_rich(kind, content)
        return None

    def output(self) -> Output:
        """All that was kept."""
        text = self._result.get("text/plain")
        return Output(
            stdout="".join(self._streams["stdout"]),
            stderr="".join(self._streams["stderr"]),
            result=text if isinstance(text, str) else None,
            result_data=self._result,
            displays=self._displays,
            notes=self._notes,
            left_out_bytes=self._left_out,
        )

    def _take_stream(self, content: Mapping[str, Any]) -> Progress:
        name, text = content["name"], str(content.get("text", ""))
        kept = text[: self._room]
        self._streams[name].append(kept)
        self._room -= len(kept)
        self._left_out += len(text) - len(kept)
        return Progress(kind=name, text=text)

    def _take_rich(self, kind: str, content: Mapping[str, Any]) -> Progress:
        data, metadata = _mapping(content.get("data")), _mapping(content.get("metadata"))
        transient = _mapping(content.get("transient"))
        display_id = transient.get("display_id")
        size = _rich_bytes(data, metadata)
        if size > self._room:
            self._left_out += size
        else:
            self._room -= size
            if transient.get("petri") == "note":  # the kernel's own: no code can say so
                self._notes.append(str(data.get("text/plain", "")))
            else:
                self._keep(kind, Display(data, metadata, display_id))
        names: dict[str, Literal["display", "update", "result"]] = {
            "display_data": "display",
            "update_display_data": "update",
            "execute_result": "result",
        }
        return Progress(names[kind], str(data.get("text/plain", "")), data, metadata, display_id)

    def _keep(self, kind: str, display: Display) -> None:
        if kind == "execute_result":
            self._result = display.data
        elif kind == "display_data":
            self._displays.append(display)
        else:
            for shown in self._displays:
                if shown.display_id == display.display_id:
                    self._room += _rich_bytes(shown.data, shown.metadata)
                    shown.data, shown.metadata = display.data, display.metadata
