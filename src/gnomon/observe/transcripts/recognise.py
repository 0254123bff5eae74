"""Which format a file has, told from its first readable records."""

from collections.abc import Mapping
from typing import Any, BinaryIO, Literal, cast

import msgspec

from gnomon.observe.transcripts import claude_code, codex
from gnomon.observe.transcripts.events import Parser
from gnomon.observe.transcripts.lines import RawLine
from gnomon.observe.transcripts.records import iterate, salvage, why_unreadable

Kind = Literal["claude-code", "codex-rollout", "codex-rollout-legacy-bare"]
MOST_STRANGERS = 200
"""Well-formed records of no known kind after which a file is held to be something else."""
_CLAUDE_NAMES = ("sessionId", "uuid", "leafUuid", "messageId")
_USER_EVENT = tuple(
    f'"{name}":{space}"{value}"'.encode()
    for name, value in (("type", "user_message"), ("type", "task_started"), ("role", "developer"))
    for space in ("", " ")
)
"""What only rollouts have that name user turns by events: the event itself, and what stands
before the first of them, so that a session that has just begun is not read otherwise."""
_CHUNK = 4 * 1024 * 1024


def kind_of(record: Any) -> Kind | None:
    """The format that one record shows, or null."""
    if not isinstance(record, Mapping):
        return None
    fields = cast("Mapping[str, Any]", record)
    kind = fields.get("type")
    if kind in codex.ENVELOPES and isinstance(fields.get("payload"), Mapping):
        return "codex-rollout"
    if kind in claude_code.KINDS and any(name in fields for name in _CLAUDE_NAMES):
        return "claude-code"
    if fields.get("record_type") == "state" or _is_bare(fields, kind):
        return "codex-rollout-legacy-bare"
    return None


def _is_bare(fields: Mapping[str, Any], kind: object) -> bool:
    if kind is None:
        return "instructions" in fields and "timestamp" in fields
    return kind in codex.ITEMS and (
        "call_id" in fields or "encrypted_content" in fields or _is_bare_message(fields)
    )


def _is_bare_message(fields: Mapping[str, Any]) -> bool:
    content = fields.get("content")
    if "role" not in fields or not isinstance(content, list):
        return False
    items = [cast("Mapping[str, Any]", each) for each in iterate(content) if isinstance(each, dict)]
    return any(each.get("type") in {"input_text", "output_text"} for each in items)


class Recogniser:
    """Looks at lines until one shows the format, or enough show that there is none."""

    def __init__(self) -> None:
        self.kind: Kind | None = None
        self.strangers = 0
        self.document = False

    @property
    def done(self) -> bool:
        return self.kind is not None or self.document or self.strangers >= MOST_STRANGERS

    def look(self, line: RawLine) -> None:
        if not line.data.strip() or why_unreadable(line) is not None:
            return
        if line.number == 1 and line.data.strip() in {b"{", b"["}:
            self.document = True
            return
        for value in _values(line):
            self.kind = self.kind or kind_of(value)
            self.strangers += self.kind is None


def _values(line: RawLine) -> tuple[Any, ...]:
    try:
        return (msgspec.json.decode(line.data),)
    except (msgspec.DecodeError, RecursionError):
        return salvage(line).values


def has_user_events(file: BinaryIO) -> bool:
    """Whether a rollout names its user turns by events. Inside a string the bytes that are
    looked for have their quotes escaped, so they stand in no text.
    """
    tail = b""
    while chunk := file.read(_CHUNK):
        window = tail + chunk
        if any(mark in window for mark in _USER_EVENT):
            return True
        tail = window[-32:]
    return False


def parser_for(kind: Kind, file: BinaryIO) -> Parser:
    """A fresh parser; may read the file once through, and leaves it anywhere."""
    match kind:
        case "claude-code":
            return claude_code.ClaudeCode()
        case "codex-rollout":
            return codex.Codex(user_events=has_user_events(file), bare=False)
        case "codex-rollout-legacy-bare":
            return codex.Codex(user_events=False, bare=True)
