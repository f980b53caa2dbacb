"""What a session can go back to: the states that its runs have left, and what came of going there."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Union

from petri_kernel.errors import BadRequest, SessionError, UnknownImage
from petri_kernel.result import Result, row_of


@dataclasses.dataclass(frozen=True)
class Image:
    """The state that a run has left: memory and files.

    image: its id, which is run_id; "first" for the state that the session began with.
    parent: the id of the image that the run began with; None for the first one.
    execution_count: of the run; None where it had none. code_first_line: of its code.
    names: its checkpoints.
    bytes_changed: of memory, by the run. files_changed: how many files it changed. wall_ms: how long it took.
    started: date and time, ISO 8601; "" for the first one.
    kept: whether it is there; older ones make room for newer ones (limits history and history_memory).
    """

    image: str = ""
    parent: str | None = None
    run_id: str = ""
    execution_count: int | None = None
    code_first_line: str = ""
    names: tuple[str, ...] = ()
    bytes_changed: int = 0
    files_changed: int = 0
    wall_ms: int = 0
    started: str = ""
    kept: bool = False


ImageName = Union[str, int, Image, Result]
"""A checkpoint, the id of a run, eight characters or more that it alone begins with, or "first"; an execution count; an
Image of a timeline; or the Result of a run, for the state that it has left."""

SHORT_ID = 8


@dataclasses.dataclass(frozen=True)
class Timeline:
    """The images of a session, in the order of their making, as a tree by their `parent`.

    current: the one that the next run begins with; its `image` is not among `images` where a widget or an extension has
    changed a state that has a name. bytes_kept: the memory that is held for the others alone.
    """

    images: tuple[Image, ...]
    current: Image
    bytes_kept: int = 0


@dataclasses.dataclass(frozen=True)
class Restored:
    """Where the session is after it went to an image.

    image: its id. execution_count: of the last run there; 0 for none.
    detail: what that changed, such as 'back before [7]: 1 cell ("x = 1"), 1 file, 340 MiB of memory'.
    """

    image: str = ""
    execution_count: int = 0
    detail: str = ""


class Trial:
    """What an attempt may change until it ends; Session.attempt() makes it.

    image: the id of the image that it began with. kept: whether what it changes stays.
    """

    def __init__(self, image: str, kernel: object) -> None:
        self.image = image
        self.name = ""  # that it has meanwhile, so that it does not make room for others
        self.kept = False
        self.kernel = kernel

    def keep(self) -> None:
        """Has what was changed, and what is yet going to be, stay."""
        self.kept = True


# By `ename` of a reply.
_ERRORS: dict[object, type[Exception]] = {"UnknownImage": UnknownImage, "BadName": BadRequest, "BadRequest": BadRequest}


def answered(reply: Mapping[str, Any]) -> Mapping[str, Any]:
    """The content of a reply. Of one that has failed, raises its sentence: UnknownImage, BadRequest, SessionError."""
    if reply.get("status") == "ok":
        return reply
    failure = _ERRORS.get(reply.get("ename"), SessionError)
    raise failure(str(reply.get("evalue") or "the kernel has not done what it was asked, and does not say why"))


def _image(values: Mapping[str, Any]) -> Image:
    return row_of(Image, {**values, "names": tuple(values.get("names") or ())})


def make_timeline(reply: Mapping[str, Any]) -> Timeline:
    """A Timeline of the content of a petri_timeline_reply. Raises SessionError where that has no current image."""
    images = tuple(_image(values) for values in reply.get("images") or ())
    current = image_of(images, reply.get("current"))
    current = dataclasses.replace(current, image=str(reply.get("state") or current.image))
    return Timeline(images, current, int(reply.get("bytes_kept") or 0))


def image_of(images: tuple[Image, ...], image: object) -> Image:
    """The one with this id. Raises SessionError."""
    found = next((one for one in images if one.image == image), None)
    if found is None:
        raise SessionError(f"the timeline has no image {image!r}; is the kernel really petri?")
    return found


def _by_part(timeline: Timeline, to: str) -> Image | None:
    """The image whose id alone begins so. Raises UnknownImage where several do."""
    having = [image for image in timeline.images if len(to) >= SHORT_ID and image.image.startswith(to)]
    if len(having) > 1:
        raise UnknownImage(f'the ids of {len(having)} states begin with "{to}"; give more of the one that is meant')
    return having[0] if having else None


def find_image(timeline: Timeline, to: str) -> Image:
    """The image that is meant, as the kernel finds it: by a name, an id, the number of a run, or the beginning of an id.

    A number is that of a run on the present branch; where that has none, of the newest one. Raises UnknownImage where
    there is none, or none any more.
    """
    images = {image.image: image for image in timeline.images}
    found = next((image for image in timeline.images if to in image.names), None) or images.get(to)
    if found is None and to.isdecimal() and not (to.startswith("0") and len(to) >= SHORT_ID):
        found = _numbered(timeline, images, int(to))
    if found is None:
        found = _by_part(timeline, to)
    if found is None:
        raise UnknownImage(f'no checkpoint, number of a cell or id of a run is "{to}"; timeline() lists them')
    if not found.kept:
        raise UnknownImage(f'the state "{to}" is gone: older ones make room for newer ones (history, history_memory)')
    return found


def _numbered(timeline: Timeline, images: Mapping[str, Image], number: int) -> Image | None:
    at: Image | None = timeline.current
    while at is not None and at.execution_count != number:
        at = images.get(at.parent or "")
    newest_first = reversed(timeline.images)
    return at or next((image for image in newest_first if image.execution_count == number), None)
