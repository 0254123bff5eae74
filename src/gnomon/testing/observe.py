"""An importer without a process, and transcripts of any size, for tests and `simulate`."""

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import msgspec

from gnomon.domain.instants import HOUR, MINUTE, Millis, iso
from gnomon.domain.json_value import Fields, Json
from gnomon.domain.ports import Call
from gnomon.observe.importer_main import Service

START = Millis(1_760_000_000_000)


def importer_here(
    granted: list[tuple[Path, ...]] | None = None,
) -> Callable[[tuple[Path, ...]], AbstractAsyncContextManager[Call]]:
    """Starts the importer's service in this process; what crosses is JSON, as on the pipe."""

    @asynccontextmanager
    async def start(paths: tuple[Path, ...]) -> AsyncGenerator[Call]:
        if granted is not None:
            granted.append(paths)
        service = Service()

        async def call(op: str, args: Fields) -> Json:
            crossed = msgspec.json.decode(msgspec.json.encode(args))
            answer = await service.answer(op, crossed, lambda _: None)
            return msgspec.json.decode(msgspec.json.encode(answer))

        yield call

    return start


class ClaudeWriter:
    """Writes a transcript in Claude Code's shape, a record at a time."""

    def __init__(self, session: str, cwd: str = "/tmp/project", start: Millis = START) -> None:  # noqa: S108
        self.session = session
        self.cwd = cwd
        self.now = start
        self.lines: list[str] = []
        self._count = 0

    def _record(self, kind: str, message: Fields | None, **more: Json) -> None:
        self._count += 1
        self.now = Millis(self.now + MINUTE)
        record = {
            "type": kind,
            "uuid": f"{self.session}-{self._count}",
            "sessionId": self.session,
            "cwd": self.cwd,
            "timestamp": iso(self.now),
            "isSidechain": False,
            **({} if message is None else {"message": message}),
            **more,
        }
        self.lines.append(json.dumps(record))

    def user(self, text: str, **more: Json) -> None:
        self._record("user", {"role": "user", "content": text}, **more)

    def says(self, text: str, *, model: str = "claude-sonnet-4-5", tokens: int = 10) -> None:
        self._reply([{"type": "text", "text": text}], model, tokens)

    def calls(self, tool: str, arguments: Fields, *, model: str = "claude-sonnet-4-5") -> str:
        call = f"toolu-{self.session}-{self._count}"
        self._reply([{"type": "tool_use", "id": call, "name": tool, "input": arguments}], model, 10)
        return call

    def _reply(self, content: Json, model: str, tokens: int) -> None:
        usage = {"input_tokens": 100, "output_tokens": tokens}
        name = f"msg-{self.session}-{self._count}"
        self._record(
            "assistant",
            {"id": name, "role": "assistant", "model": model, "content": content, "usage": usage},
        )

    def result(self, call: str, text: str, *, failed: bool = False) -> None:
        block: Json = {
            "type": "tool_result",
            "tool_use_id": call,
            "content": text,
            "is_error": failed,
        }
        self._record("user", {"role": "user", "content": [block]})

    def later(self, hours: int) -> None:
        self.now = Millis(self.now + hours * HOUR)

    def text(self) -> str:
        return "\n".join(self.lines) + "\n"

    def write(self, folder: Path) -> Path:
        path = folder / f"{self.session}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.text(), "utf-8")
        return path
