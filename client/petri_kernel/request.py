"""What a run asks for, checked as far as it can be before anything is sent.

The kernel checks all of it again, and what only it can know: ceilings, the
configuration's names of variables, policies.
"""

from __future__ import annotations

import base64
import dataclasses
import json
import os
import pathlib
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Union

from petri_kernel.errors import BadRequest
from petri_kernel.limits import Duration, LimitValue, Size, limits_request, milliseconds
from petri_kernel.result import Result
from petri_kernel.timeline import Image, ImageName

FileContent = Union[str, bytes, "os.PathLike[str]"]
"""A text, bytes, or the path of a file on this machine to read."""

# As kernel/policy/spec.h, kernel/base/filename.h and kernel/base/image_name.h have them.
FILES = 256
FILE_BYTES = 32 << 20
FILES_BYTES = 64 << 20
STDIN_BYTES = 8 << 20
ENV = 64
ENV_BYTES = 32 << 10
TASK_BYTES = 128
INLINE_BYTES = 1 << 20
PATH_BYTES = 1024
NAME_BYTES = 200
DEPTH = 32
IMAGE_NAME_BYTES = 64

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


@dataclasses.dataclass(frozen=True)
class ExpectedArtifact:
    """A file that has to be there after the run.

    path: below the session's folder. mime: its type by content, such as "image/png"; None for any.
    max_bytes: its size at most; None for any.
    """

    path: str
    mime: str | None = None
    max_bytes: int | None = None


@dataclasses.dataclass(frozen=True)
class Expect:
    """What the kernel checks, outside the sandbox, once the code has run; Result.checks says what came of it.

    artifacts: files that have to be there.
    stdout_regex: a pattern of Python's `re` that is to be found in stdout.
    result_json_schema: a JSON Schema (an object, or True or False) for the run's result.
    """

    artifacts: Sequence[ExpectedArtifact] = ()
    stdout_regex: str | None = None
    result_json_schema: Mapping[str, Any] | bool | None = None

    def request(self) -> dict[str, Any]:
        """`expect` of a request."""
        asked: dict[str, Any] = {}
        if self.artifacts:
            asked["artifacts"] = [_given(dataclasses.asdict(artifact)) for artifact in self.artifacts]
        asked.update(_given({"stdout_regex": self.stdout_regex, "result_json_schema": self.result_json_schema}))
        return asked


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


def _path_problem(path: str) -> str | None:
    parts = path.split("/")
    if not path or path.startswith("/") or any(part in ("", ".", "..") for part in parts):
        return "has to be relative and without empty, '.' and '..' parts"
    if _CONTROL.search(path):
        return "has a control character in it"
    try:
        sizes = [len(part.encode()) for part in parts]
    except UnicodeEncodeError:
        return "is not Unicode"
    if len(parts) > DEPTH or max(sizes) > NAME_BYTES or sum(sizes) + len(parts) - 1 > PATH_BYTES:
        return f"is too long: {PATH_BYTES} bytes, {DEPTH} folders, {NAME_BYTES} bytes a name at most"
    return None


def _content(path: str, content: FileContent) -> str | bytes:
    if isinstance(content, (str, bytes)):
        return content
    try:
        source = pathlib.Path(content)
        if source.stat().st_size > FILE_BYTES:
            raise BadRequest(f"files[{path!r}]: {source} is over {FILE_BYTES >> 20} MiB")
        return source.read_bytes()
    except OSError as error:
        raise BadRequest(f"files[{path!r}]: {error}") from error
    except TypeError as error:
        raise BadRequest(f"files[{path!r}] has to be a text, bytes or a path, not {type(content).__name__}") from error


def unicode_bytes(what: str, text: str) -> int:
    """The size of a text as it is sent. Raises BadRequest, with its name, where it can't be: lone surrogates."""
    try:
        return len(text.encode())
    except UnicodeEncodeError as error:
        raise BadRequest(f"{what} is not Unicode: {error}") from error


def _text_bytes(what: str, text: object, most: int) -> int:
    if not isinstance(text, str):
        raise BadRequest(f"{what} has to be a text, not {type(text).__name__}")
    size = unicode_bytes(what, text)
    if size > most:
        raise BadRequest(f"{what} is {size} bytes; at most {most} can be sent")
    return size


def _file(path: str, content: FileContent) -> tuple[dict[str, str], int]:
    if not isinstance(path, str):
        raise BadRequest(f"a file's path has to be a text, not {path!r}")
    problem = _path_problem(path)
    if problem:
        raise BadRequest(f"the path {path[:100]!r} {problem}")
    data = _content(path, content)
    if isinstance(data, str):
        size = _text_bytes(f"files[{path!r}]", data, FILE_BYTES)
        return {"path": path, "text": data}, size
    if len(data) > FILE_BYTES:
        raise BadRequest(f"files[{path!r}] is {len(data)} bytes; at most {FILE_BYTES} can be sent")
    return {"path": path, "data": base64.b64encode(data).decode("ascii")}, len(data)


def _files(files: Mapping[str, FileContent]) -> list[dict[str, str]]:
    if len(files) > FILES:
        raise BadRequest(f"{len(files)} files; at most {FILES} can be sent")
    rows = [_file(path, content) for path, content in files.items()]
    if sum(size for _, size in rows) > FILES_BYTES:
        raise BadRequest(f"the files are more than {FILES_BYTES >> 20} MiB in all")
    return [row for row, _ in rows]


def _env(env: Mapping[str, str]) -> dict[str, str]:
    if len(env) > ENV:
        raise BadRequest(f"{len(env)} variables; at most {ENV} can be set")
    for name, value in env.items():
        _text_bytes("a variable's name", name, ENV_BYTES)
        _text_bytes(f"env[{name!r}]", value, ENV_BYTES)
        if not name or "=" in name or "\0" in name + value:
            raise BadRequest(f"env has to be names and texts without NUL, and not {name!r}: {value!r}")
    return dict(env)


def _task(task: str) -> str:
    if _text_bytes("task", task, TASK_BYTES) == 0 or _CONTROL.search(task):
        raise BadRequest(f"task has to be 1 to {TASK_BYTES} bytes without control characters, and not {task!r}")
    return task


def _expect(expect: Expect | Mapping[str, Any]) -> dict[str, Any]:
    asked = expect.request() if isinstance(expect, Expect) else dict(expect)
    pattern = asked.get("stdout_regex")
    try:
        re.compile(pattern) if pattern is not None else None
        json.dumps(asked, allow_nan=False, ensure_ascii=False).encode()
    except (re.error, TypeError, ValueError) as error:
        raise BadRequest(f"expect: {error}") from error
    return asked


def _inline(value: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= INLINE_BYTES:
        raise BadRequest(f"inline_bytes has to be 0 to {INLINE_BYTES}, and not {value!r}")
    return value


def _cache(value: Duration | Literal[False]) -> str | Literal[False]:
    return False if value is False else f"{milliseconds('cache', value)}ms"


def image_text(what: str, image: ImageName) -> str:
    """An image as a request names it. Raises BadRequest, with the argument's name."""
    if isinstance(image, Image):
        return image.image
    if isinstance(image, Result):
        return _left_by(what, image)
    if isinstance(image, int) and not isinstance(image, bool) and image > 0:
        return str(image)
    if not isinstance(image, str) or not image:
        raise BadRequest(
            f"{what} has to be a checkpoint's name, an execution count (1 or more), the id of a run, 'first', a Result "
            f"or an Image of timeline(), and not {image!r}"
        )
    return checkpoint_text(what, image)


def _left_by(what: str, result: Result) -> str:
    if result.image is None:
        raise BadRequest(f"{what}: that run ({result.outcome}) has left no state: Result.image is None")
    return result.image


def checkpoint_text(what: str, name: object) -> str:
    """The same for a name."""
    if not isinstance(name, str) or not name:
        raise BadRequest(f"{what} has to be a checkpoint's, a text of 1 to {IMAGE_NAME_BYTES} bytes, and not {name!r}")
    _text_bytes(what, name, IMAGE_NAME_BYTES)
    return name


def cells(what: str, n: int) -> int:
    """A number of cells to go back or on. Raises BadRequest."""
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise BadRequest(f"{what}: n is how many cells, 1 or more, and not {n!r}; restore() goes to a name or a number")
    return n


def _flag(what: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise BadRequest(f"{what} has to be True or False, and not {value!r}")
    return value


@dataclasses.dataclass(frozen=True)
class Request:
    """What a run asks for beside its code; the parameters of Session.run().

    branch: what the run leaves is kept beside the session, which stays where it is; needs from_.
    """

    files: Mapping[str, FileContent] | None = None
    stdin: str | None = None
    env: Mapping[str, str] | None = None
    timeout: Duration | None = None
    memory: Size | None = None
    limits: Mapping[str, LimitValue] | None = None
    task: str | None = None
    fresh: bool = False
    expect: Expect | Mapping[str, Any] | None = None
    inline_bytes: int | None = None
    cache: Duration | Literal[False] | None = None
    from_: ImageName | None = None
    commit: bool = True
    checkpoint: str | None = None
    branch: bool = False

    @property
    def beside(self) -> bool:
        """Whether the run needs no turn, as it changes nothing of the session's present state, and needs none of it."""
        return self.fresh or self.branch or (self.from_ is not None and not self.commit)

    def metadata(self) -> dict[str, Any]:
        """`metadata.petri` of the execute_request; only what is asked for. Raises BadRequest."""
        asked: dict[str, Any] = {"limits": limits_request(self.limits, self.timeout, self.memory)}
        if self.stdin is not None:
            _text_bytes("stdin", self.stdin, STDIN_BYTES)
            asked["stdin"] = self.stdin
        asked["files"] = _files(self.files or {})
        asked["env"] = _env(self.env or {})
        asked["expect"] = _expect(self.expect or {})
        asked = {key: value for key, value in asked.items() if value or key == "stdin"}
        if self.task is not None:
            asked["task"] = _task(self.task)
        if self.inline_bytes is not None:
            asked["inline_bytes"] = _inline(self.inline_bytes)
        if self.cache is not None:
            asked["cache"] = _cache(self.cache)
        if _flag("fresh", self.fresh):
            asked["fresh"] = True
        return {**asked, **self._travel()}

    def _travel(self) -> dict[str, Any]:
        """Where the run begins, and what becomes of what it leaves."""
        asked: dict[str, Any] = {}
        if self.from_ is not None:
            asked["from"] = image_text("from_", self.from_)
        if self.branch:
            asked["commit"] = "branch"
        elif not _flag("commit", self.commit):
            asked["commit"] = False
        if self.checkpoint is not None:
            asked["checkpoint"] = checkpoint_text("checkpoint", self.checkpoint)
        if self.fresh and self.from_ is not None:
            raise BadRequest("from_ is not for a fresh run, which begins with the first state")
        if self.checkpoint is not None and (self.fresh or not self.commit):
            raise BadRequest("checkpoint names what a run leaves, and this one leaves nothing")
        return asked
