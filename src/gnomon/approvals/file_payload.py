"""What a held `file.write` is: the file, and all that it would hold. Pure.

It is text, and no more of it than a person looks through: what cannot be shown cannot be
approved, and is refused before it is held.
"""

from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Literal

import msgspec

from gnomon.agent.outcome import ToolFaultError
from gnomon.agent.passages import passage_replaced
from gnomon.domain.json_value import Fields
from gnomon.domain.plain import fields, read
from gnomon.domain.records import Sha256
from gnomon.domain.unified_diff import unified

MOST_BYTES = 256 * 1024
"""Of the file as it is, and as it would be."""


class Passage(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an edit replaces by what: so that it can be made anew on another version."""

    old: str
    new: str


class FileWrite(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The payload. `path` is whole and follows no link; `content` is all that the file would
    hold, in UTF-8.
    """

    tool: Literal["write", "edit"]
    path: str
    content: str
    passage: Passage | None = None

    @property
    def data(self) -> bytes:
        return self.content.encode()


@dataclass(frozen=True)
class Draft:
    """A write as it would be, beside the file as it is."""

    payload: FileWrite
    before: bytes | None
    diff: str

    @property
    def before_sha256(self) -> Sha256 | None:
        return None if self.before is None else digest(self.before)

    @property
    def changes_nothing(self) -> bool:
        return self.before == self.payload.data


def digest(data: bytes) -> Sha256:
    return sha256(data).hexdigest()


def payload_of(given: Fields) -> FileWrite:
    """Raises RecordError for what is none."""
    return read(given, FileWrite)


def plain_payload(payload: FileWrite) -> Fields:
    return fields(payload)


def drafted(
    path: str, before: bytes | None, *, content: str | None = None, passage: Passage | None = None
) -> Draft:
    """A write of `content`, or of what a passage's replacement gives.

    Raises ToolFaultError: the passage is not there once (`NOT_FOUND`, `NOT_UNIQUE`), there is
    no file to edit (`FILE_NOT_FOUND`), or it cannot be shown (`TOO_LARGE`, `BINARY`, `DENIED`
    for a name with signs that have no look of their own).
    """
    if not path.isprintable():
        raise ToolFaultError("DENIED", f"The name {path!r} cannot be shown as it is.")
    if passage is not None:
        if before is None:
            raise ToolFaultError("FILE_NOT_FOUND", f"{path}: there is no such file.")
        after, _ = passage_replaced(before, passage.old, passage.new, path)
    else:
        after = (content or "").encode("utf-8", "replace")
    old, new = _shown(path, before or b""), _shown(path, after)
    payload = FileWrite(
        tool="write" if passage is None else "edit", path=path, content=new, passage=passage
    )
    return Draft(payload, before, unified(old, new, path, is_new=before is None))


def redrafted(payload: FileWrite, before: bytes | None) -> Draft:
    """The same on the file as it is now. Raises ToolFaultError as `drafted` does."""
    if payload.passage is not None:
        return drafted(payload.path, before, passage=payload.passage)
    return reworded(payload, before, payload.content)


def reworded(payload: FileWrite, before: bytes | None, text: str) -> Draft:
    """Another text for the same file, by the same tool. Raises ToolFaultError as `drafted` does."""
    draft = drafted(payload.path, before, content=text)
    return replace(draft, payload=msgspec.structs.replace(draft.payload, tool=payload.tool))


def _shown(path: str, data: bytes) -> str:
    if len(data) > MOST_BYTES:
        reason = f"{path}: {len(data)} bytes are more than anybody looks through ({MOST_BYTES})."
        raise ToolFaultError("TOO_LARGE", reason)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise ToolFaultError("BINARY", f"{path} is not text, which could be shown.") from error
    if "\0" in text:
        raise ToolFaultError("BINARY", f"{path} is not text, which could be shown.")
    return text
