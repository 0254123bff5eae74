"""Codex: `sessions/Y/M/D/rollout-*.jsonl`, and the bare shape of 2025.

A rollout line is `{timestamp, type, payload}`; the bare shape has a header without a type,
items without times, and `{"record_type": "state"}` between them. Token totals are
cumulative. Calls of sub-agents' own rollouts count; what was told to them is no user turn.
"""

import re

import msgspec

from gnomon.observe.families import REJECTED, family, is_rejection, telling_line
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
    Totals,
    Trouble,
    UserTurn,
)
from gnomon.observe.transcripts.values import ANSWER, TASK, bounded, count, instant

ENVELOPES = frozenset({"session_meta", "turn_context", "response_item", "event_msg", "compacted"})
ITEMS = frozenset(
    [
        "message",
        "reasoning",
        "function_call",
        "function_call_output",
        "custom_tool_call",
        "custom_tool_call_output",
        "web_search_call",
        "local_shell_call",
        "local_shell_call_output",
        "ghost_snapshot",
        "compaction",
    ]
)
"""Kinds of bare items, which in a rollout stand inside a `response_item`."""
_INJECTED = re.compile(
    r"\s*(?:<(?:user_instructions|environment_context|INSTRUCTIONS|turn_aborted|skill|"
    r"user_shell_command|permissions instructions|collaboration_mode)\b|# AGENTS\.md instructions)"
)
_CWD = re.compile(r"<cwd>([^<]{1,1000})</cwd>")
_OPAQUE = re.compile(r"\[REDACTED[^\]]*\]\s*$")
_EXIT = re.compile(r"(?:Exit code: |Process exited with code )(-?\d{1,5})")
_FAILED = re.compile(
    r"(?:failed to parse function arguments|unsupported call|apply_patch verification failed"
    r"|execution error|failed in sandbox|aborted by user)", re.IGNORECASE
)  # fmt: skip


class _Item(msgspec.Struct, gc=False):
    type: str | None = None
    text: str | None = None


class _Metadata(msgspec.Struct, gc=False):
    exit_code: int | None = None


class _Output(msgspec.Struct, gc=False):
    output: str | None = None
    content: str | list[_Item | str] | None = None
    success: bool | None = None
    metadata: _Metadata | None = None


class _Tokens(msgspec.Struct, gc=False):
    input_tokens: float | None = None
    cached_input_tokens: float | None = None
    output_tokens: float | None = None


class _Info(msgspec.Struct, gc=False):
    total_token_usage: _Tokens | None = None


class _Payload(msgspec.Struct, gc=False):
    type: str | None = None
    id: str | None = None
    role: str | None = None
    content: str | list[_Item | str] | None = None
    name: str | None = None
    call_id: str | None = None
    arguments: msgspec.Raw = msgspec.Raw()
    input: msgspec.Raw = msgspec.Raw()
    action: msgspec.Raw = msgspec.Raw()
    output: str | _Output | list[_Item | str] | None = None
    message: msgspec.Raw = msgspec.Raw()
    kind: str | None = None
    model: str | None = None
    cwd: str | None = None
    info: _Info | None = None
    source: msgspec.Raw = msgspec.Raw()


class _Line(msgspec.Struct, gc=False):
    timestamp: str | None = None
    type: str | None = None
    record_type: str | None = None
    id: str | None = None
    payload: _Payload | None = None


class _Step(msgspec.Struct):
    status: str | None = None


class _Arguments(msgspec.Struct):
    command: str | list[str] | None = None
    cmd: str | None = None
    plan: list[_Step | str | None] = []


_LINE = msgspec.json.Decoder(_Line)
_PAYLOAD = msgspec.json.Decoder(_Payload)
_ARGUMENTS = msgspec.json.Decoder(_Arguments)
_TEXT = msgspec.json.Decoder(str)
_OUTPUT = msgspec.json.Decoder(_Output)


def _string(raw: msgspec.Raw) -> str:
    """The text of a field that holds one; empty for what is no text."""
    data = bytes(raw)
    return _TEXT.decode(data) if data.startswith(b'"') else ""


def _text_of(content: str | list[_Item | str] | None) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    parts = [each if isinstance(each, str) else each.text or "" for each in content]
    return "\n".join(part for part in parts if part)


class Codex:
    """The parser. `user_events`: the file has `user_message` events, which name the user's
    turns; without them they are the user messages that were not injected.
    """

    source = "codex"

    def __init__(self, *, user_events: bool, bare: bool) -> None:
        self.format = "codex-rollout-legacy-bare" if bare else "codex-rollout"
        self._user_events = user_events
        self._session: str | None = None
        self._side = False

    def read(self, data: bytes, line: int) -> list[AnyEvent]:
        record = _LINE.decode(data)
        stamp = record.timestamp
        at = instant(stamp)
        payload = record.payload
        if payload is not None and record.type in ENVELOPES:
            return self._enveloped(record.type, payload, self._seen(stamp), line)
        if record.type is None and record.id and stamp:
            self._session = self._session or record.id
            return [self._seen(stamp)]
        if record.record_type is not None:
            return [self._seen(stamp)]
        if record.type in ITEMS:
            seen = self._seen(stamp if at is not None else None)
            return [seen, *self._item(_PAYLOAD.decode(data), seen, line)]
        return [NotARecord(at=None, session=None, what=str(record.type or "no type"))]

    def _seen(self, stamp: str | None) -> Seen:
        at = instant(stamp)
        stamp = stamp if at is not None else None
        return Seen(at=at, session=self._session, side=self._side, stamp=stamp)

    def _enveloped(self, kind: str, payload: _Payload, seen: Seen, line: int) -> list[AnyEvent]:
        match kind:
            case "session_meta":
                return self._meta(payload, seen)
            case "turn_context":
                context = Context(
                    at=seen.at, session=seen.session, project=payload.cwd, model=payload.model
                )
                return [seen, context]
            case "response_item":
                return [seen, *self._item(payload, seen, line)]
            case "event_msg":
                return [seen, *self._event(payload, seen, line)]
            case _:
                return [seen]

    def _meta(self, payload: _Payload, seen: Seen) -> list[AnyEvent]:
        if self._session is None:
            self._session = payload.id
            self._side = b'"subagent"' in bytes(payload.source)[:200]
        first = Seen(at=seen.at, session=self._session, side=self._side, stamp=seen.stamp)
        context = Context(at=seen.at, session=self._session, project=payload.cwd)
        return [first, context]

    def _item(self, item: _Payload, seen: Seen, line: int) -> list[AnyEvent]:
        match item.type:
            case "message":
                return self._message(item, seen, line)
            case "function_call" | "custom_tool_call" | "web_search_call" | "local_shell_call":
                return self._call(item, seen)
            case "function_call_output" | "custom_tool_call_output" | "local_shell_call_output":
                return [_result(item, seen, line)]
            case _:
                return []

    def _message(self, item: _Payload, seen: Seen, line: int) -> list[AnyEvent]:
        text = _text_of(item.content)
        if item.role == "assistant" and text and not seen.side:
            words = bounded(text, ANSWER)
            return [Answer(at=seen.at, session=seen.session, text=words, line=line)]
        if item.role != "user":
            return []
        if _INJECTED.match(text):
            found = _CWD.search(text[:4_000])
            where = bounded(found.group(1), 1_000) if found else None
            return [Context(at=seen.at, session=seen.session, project=where)] if where else []
        return [] if self._user_events else self._user(text, seen, line)

    @staticmethod
    def _user(text: str, seen: Seen, line: int) -> list[AnyEvent]:
        if seen.side or not text.strip():
            return []
        words = bounded(text, TASK)
        return [UserTurn(at=seen.at, session=seen.session, id=None, text=words, line=line)]

    @staticmethod
    def _call(item: _Payload, seen: Seen) -> list[AnyEvent]:
        name = bounded(item.name or item.type or "unknown", 200)
        arguments = _arguments(item) if name.lower() in SHELLS or name == "update_plan" else None
        command = _command(arguments) if arguments is not None else None
        call = ToolCall(
            at=seen.at,
            session=seen.session,
            side=seen.side,
            id=item.call_id,
            name=name,
            step=step(name, command),
            said=call_words(command, _input(item)),
        )
        if name != "update_plan" or arguments is None or seen.side:
            return [call]
        left = sum(
            isinstance(each, _Step) and each.status != "completed" for each in arguments.plan
        )
        return [call, Todos(at=seen.at, session=seen.session, open=left)]

    def _event(self, event: _Payload, seen: Seen, line: int) -> list[AnyEvent]:
        match event.type:
            case "user_message" if event.kind in {None, "plain"}:
                text = _string(event.message)
                return [] if _INJECTED.match(text) else self._user(text, seen, line)
            case "token_count" if event.info is not None and event.info.total_token_usage:
                return [_totals(event.info.total_token_usage, seen)]
            case "turn_aborted":
                return [Interrupted(at=seen.at, session=seen.session, side=seen.side, id=None)]
            case "task_complete" | "turn_complete":
                return [Finished(at=seen.at, session=seen.session, side=seen.side)]
            case "error":
                return [Trouble(at=seen.at, session=seen.session, side=seen.side)]
            case _:
                return []


def _totals(total: _Tokens, seen: Seen) -> Totals:
    return Totals(
        at=seen.at,
        session=seen.session,
        side=seen.side,
        input=count(total.input_tokens),
        output=count(total.output_tokens),
        cache_read=count(total.cached_input_tokens),
    )


def _arguments(item: _Payload) -> _Arguments | None:
    """The arguments of a call: JSON text inside a JSON string, or an object."""
    raw = bytes(item.arguments) or bytes(item.action)
    try:
        return _ARGUMENTS.decode(_TEXT.decode(raw) if raw.startswith(b'"') else raw)
    except msgspec.DecodeError:
        return None


def _input(item: _Payload) -> bytes | str:
    """A call's input as it stands; a JSON string's own text, where it is one."""
    raw = bytes(item.arguments) or bytes(item.input) or bytes(item.action)
    return _TEXT.decode(raw) if raw.startswith(b'"') else raw


def _command(arguments: _Arguments) -> str | None:
    """The shell's text, also of `["bash", "-lc", "git status"]`."""
    if isinstance(arguments.command, list):
        words = arguments.command
        return words[2] if len(words) == 3 and words[1] in {"-lc", "-c"} else " ".join(words)
    return arguments.command or arguments.cmd


def _result(item: _Payload, seen: Seen, line: int) -> ToolResult:
    failed, text = _judged(item.output)
    code = family(text) if failed else "error"
    return ToolResult(
        at=seen.at,
        session=seen.session,
        side=seen.side,
        call=item.call_id,
        failed=failed,
        code=code,
        error=telling_line(text) if failed else None,
        line=line if failed else None,
        rejected=code == REJECTED,
    )


def _judged(output: str | _Output | list[_Item | str] | None) -> tuple[bool | None, str]:
    """Whether a result failed, and its text. Null where it was blacked out."""
    if isinstance(output, _Output):
        return _judged_object(output)
    text = _text_of(output)
    if text.startswith("{"):
        try:
            return _judged_object(_OUTPUT.decode(text))
        except msgspec.DecodeError:
            pass  # a tool that answers with JSON of its own: judged as text
    if _OPAQUE.match(text):
        return None, ""
    left = _EXIT.search(text[:400])
    if left is not None:
        return left.group(1) != "0", text
    return _FAILED.match(text) is not None or is_rejection(text), text


def _judged_object(output: _Output) -> tuple[bool | None, str]:
    text = output.output or _text_of(output.content)
    if output.metadata is not None and output.metadata.exit_code is not None:
        code = output.metadata.exit_code
        return code != 0, text if code == 0 else f"{text[:1500]}\nexit code {code}"
    return output.success is False or is_rejection(text), text
