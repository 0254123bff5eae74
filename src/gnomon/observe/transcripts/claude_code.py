"""Claude Code: `projects/<folder>/<session>.jsonl`, sub-agents inline or in `agent-*.jsonl`.

One reply of the model is several rows with one `message.id`. File order is not time order.
"""

import re

import msgspec

from gnomon.observe.families import family, is_rejection, telling_line, words_of_rejection
from gnomon.observe.procedure import SHELLS, call_words, step
from gnomon.observe.transcripts.events import (
    Answer,
    AnyEvent,
    Context,
    Finished,
    Interrupted,
    NotARecord,
    Seen,
    Todos,
    ToolCall,
    ToolResult,
    Trouble,
    Usage,
    UserTurn,
)
from gnomon.observe.transcripts.values import ANSWER, TASK, bounded, count, instant

KINDS = frozenset(
    [
        "user",
        "assistant",
        "system",
        "summary",
        "file-history-snapshot",
        "progress",
        "queue-operation",
        "pr-link",
        "attachment",
        "last-prompt",
        "custom-title",
        "ai-title",
        "agent-name",
        "mode",
        "permission-mode",
    ]
)
"""Record kinds that are known; others are counted as not records and left unread."""
SYNTHETIC = "<synthetic>"
_INTERRUPTED = "[Request interrupted by user"
_MARKUP = re.compile(
    r"\s*(?:<command-(?:name|message|args)>|<local-command|Caveat:|<task-notification>"
    r"|<bash-(?:input|stdout|stderr)>|<user-memory-input>)"
)
_COMMAND_NAME = re.compile(r"<command-name>\s*(/?[^<\s]{1,100})\s*</command-name>")
_COMMAND_ARGS = re.compile(r"<command-args>([^<]{1,4000})</command-args>")
_INJECTED = re.compile(r"\s*<(?:system-reminder|ide_opened_file|ide_selection)>")


class _Block(msgspec.Struct, gc=False):
    type: str | None = None
    text: str | None = None
    id: str | None = None
    name: str | None = None
    input: msgspec.Raw = msgspec.Raw()
    tool_use_id: str | None = None
    is_error: bool | None = None
    content: msgspec.Raw = msgspec.Raw()


class _Tokens(msgspec.Struct, gc=False):
    input_tokens: float | None = None
    output_tokens: float | None = None
    cache_read_input_tokens: float | None = None
    cache_creation_input_tokens: float | None = None


class _Message(msgspec.Struct, gc=False):
    id: str | None = None
    model: str | None = None
    content: str | list[_Block | str] | None = None
    usage: _Tokens | None = None


class _Record(msgspec.Struct, gc=False):
    type: str | None = None
    subtype: str | None = None
    uuid: str | None = None
    sessionId: str | None = None  # noqa: N815 - the format's own name, and so below
    timestamp: msgspec.Raw = msgspec.Raw()
    cwd: str | None = None
    isSidechain: bool | None = None  # noqa: N815
    isMeta: bool | None = None  # noqa: N815
    isCompactSummary: bool | None = None  # noqa: N815
    isApiErrorMessage: bool | None = None  # noqa: N815
    message: _Message | str | None = None
    durationMs: float | None = None  # noqa: N815


class _Todo(msgspec.Struct):
    status: str | None = None


class _Todos(msgspec.Struct):
    todos: list[_Todo | str | None] = []


class _Command(msgspec.Struct):
    command: str | None = None


_RECORD = msgspec.json.Decoder(_Record)
_TODOS = msgspec.json.Decoder(_Todos)
_COMMAND = msgspec.json.Decoder(_Command)
_STAMP = msgspec.json.Decoder(str)
_RESULT = msgspec.json.Decoder(str | list[_Block | str] | None)


def _stamp(raw: msgspec.Raw) -> str | None:
    data = bytes(raw)
    return _STAMP.decode(data) if data.startswith(b'"') and len(data) < 64 else None


def _result_text(raw: msgspec.Raw) -> str:
    """What a tool said, for the family of its error."""
    try:
        content = _RESULT.decode(bytes(raw) or b"null")
    except msgspec.DecodeError:
        return ""
    return _text_of(content)


def _text_of(content: str | list[_Block | str] | None) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    parts = [each if isinstance(each, str) else each.text or "" for each in content]
    return "\n".join(part for part in parts if part and not _INJECTED.match(part))


def _has_own_words(content: str | list[_Block | str]) -> bool:
    """Whether a person wrote or pasted something, beside results of tools."""
    if isinstance(content, str):
        return bool(content.strip())
    return any(
        bool(each.strip())
        if isinstance(each, str)
        else each.type == "image" or (each.type == "text" and bool(each.text))
        for each in content
    )


class ClaudeCode:
    """The parser. `read` gives the events of one record."""

    source = "claude-code"
    format = "claude-code"

    def read(self, data: bytes, line: int) -> list[AnyEvent]:
        record = _RECORD.decode(data)
        if record.type not in KINDS:
            return [NotARecord(at=None, session=None, what=str(record.type or "no type"))]
        stamp = _stamp(record.timestamp)
        at = instant(stamp)
        side = bool(record.isSidechain)
        session = record.sessionId
        events: list[AnyEvent] = [
            Seen(at=at, session=session, side=side, stamp=stamp if at is not None else None)
        ]
        if record.cwd:
            events.append(Context(at=at, session=session, side=side, project=record.cwd))
        match record.type:
            case "user":
                events += self._user(record, Seen(at=at, session=session, side=side), line)
            case "assistant":
                events += self._assistant(record, Seen(at=at, session=session, side=side), line)
            case "system":
                events += self._system(record, Seen(at=at, session=session, side=side))
            case _:
                pass
        return events

    def _user(self, record: _Record, where: Seen, line: int) -> list[AnyEvent]:
        message = record.message
        if not isinstance(message, _Message) or message.content is None:
            return []
        content = message.content
        events: list[AnyEvent] = []
        if not isinstance(content, str):
            events += [
                self._result(each, where, line)
                for each in content
                if isinstance(each, _Block) and each.type == "tool_result"
            ]
        if record.isMeta or record.isCompactSummary or where.side or not _has_own_words(content):
            return events
        said = _said(record.uuid, content, where, line)
        return [*events, said] if said is not None else events

    @staticmethod
    def _result(block: _Block, where: Seen, line: int) -> ToolResult:
        if not block.is_error:
            return ToolResult(
                at=where.at, session=where.session, side=where.side, call=block.tool_use_id,
                failed=False,
            )  # fmt: skip
        text = _result_text(block.content)
        rejected = is_rejection(text)
        said = words_of_rejection(text) if rejected else None
        return ToolResult(
            at=where.at,
            session=where.session,
            side=where.side,
            call=block.tool_use_id,
            failed=True,
            code=family(text),
            error=telling_line(text),
            line=line,
            rejected=rejected,
            said=bounded(said, TASK) if said else None,
        )

    def _assistant(self, record: _Record, where: Seen, line: int) -> list[AnyEvent]:
        message = record.message
        if not isinstance(message, _Message):
            return []
        if record.isApiErrorMessage:
            return [Trouble(at=where.at, session=where.session, side=where.side)]
        if message.model == SYNTHETIC:
            return []
        events: list[AnyEvent] = []
        if message.usage is not None:
            events.append(_usage(message, message.usage, where))
        elif message.model:
            events.append(Context(at=where.at, session=where.session, model=message.model))
        content = message.content
        if isinstance(content, str):
            content = [content]
        for each in content or ():
            events += self._block(each, where, line)
        return events

    def _block(self, block: _Block | str, where: Seen, line: int) -> list[AnyEvent]:
        text = block if isinstance(block, str) else block.text if block.type == "text" else None
        if text and not where.side:
            words = bounded(text, ANSWER)
            return [Answer(at=where.at, session=where.session, text=words, line=line)]
        if isinstance(block, str) or block.type not in {"tool_use", "server_tool_use"}:
            return []
        return _call(block, where)

    @staticmethod
    def _system(record: _Record, where: Seen) -> list[AnyEvent]:
        match record.subtype:
            case "turn_duration":
                took = count(record.durationMs)
                return [Finished(at=where.at, session=where.session, duration=took)]
            case "api_error":
                return [Trouble(at=where.at, session=where.session, side=where.side)]
            case _:
                return []


def _said(
    uuid: str | None, content: str | list[_Block | str], where: Seen, line: int
) -> AnyEvent | None:
    """A user's turn, command or interruption; null for what a command printed."""
    text = _text_of(content)
    if text.lstrip().startswith(_INTERRUPTED):
        return Interrupted(at=where.at, session=where.session, id=uuid)
    if _MARKUP.match(text):
        return _commanded(uuid, text, where, line)
    pasted = not text and not isinstance(content, str)
    if pasted and not any(isinstance(each, _Block) and each.type == "image" for each in content):
        return None
    words = bounded(text, TASK) or "[image]"
    return UserTurn(at=where.at, session=where.session, id=uuid, text=words, line=line)


def _commanded(uuid: str | None, text: str, where: Seen, line: int) -> UserTurn | None:
    named = _COMMAND_NAME.search(text[:4_000])
    if named is None:
        return None
    more = _COMMAND_ARGS.search(text[:TASK])
    said = f"{named.group(1)} {more.group(1).strip() if more else ''}".rstrip()
    words = bounded(said, TASK)
    return UserTurn(
        at=where.at, session=where.session, id=uuid, text=words, line=line, spoken=False
    )


def _usage(message: _Message, tokens: _Tokens, where: Seen) -> Usage:
    return Usage(
        at=where.at,
        session=where.session,
        side=where.side,
        id=message.id,
        model=message.model,
        input=count(tokens.input_tokens),
        output=count(tokens.output_tokens),
        cache_read=count(tokens.cache_read_input_tokens),
        cache_creation=count(tokens.cache_creation_input_tokens),
    )


def _call(block: _Block, where: Seen) -> list[AnyEvent]:
    name = bounded(block.name or "unknown", 200)
    command = None
    events: list[AnyEvent] = []
    try:
        if name.lower() in SHELLS:
            command = _COMMAND.decode(bytes(block.input)).command
        elif name == "TodoWrite" and not where.side:
            todos = _TODOS.decode(bytes(block.input)).todos
            left = sum(
                isinstance(each, _Todo) and each.status not in {"completed", "cancelled"}
                for each in todos
            )
            events.append(Todos(at=where.at, session=where.session, open=left))
    except msgspec.DecodeError:
        command = None  # a call with odd arguments is still a call
    call = ToolCall(
        at=where.at,
        session=where.session,
        side=where.side,
        id=block.id,
        name=name,
        step=step(name, command),
        said=call_words(command, bytes(block.input)),
    )
    return [call, *events]
