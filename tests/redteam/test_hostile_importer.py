"""An importer that a transcript has taken over: what it says is refused where it cannot be, and
nothing that it had written keeps a later import from being made.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gnomon.clock import SystemClock
from gnomon.domain.errors import PipeError
from gnomon.domain.json_value import Json
from gnomon.domain.ledgers import BODIES
from gnomon.domain.records_observe import Observation
from gnomon.ledger.file import LedgerFile
from gnomon.observe.importing import import_paths
from gnomon.testing.observe import ClaudeWriter, importer_here

IDS = ["zz", "f" * 17, "-1", "", "0x12", "\N{FULLWIDTH DIGIT ONE}", "1_0"]


def seen(turn_id: str) -> Observation:
    return Observation(
        session="s", turn=1, task="t", tools={}, failures=(), corrected=False, durationMs=1,
        source="claude-code", happened_at=None, turn_id=turn_id, path="/tmp/x",
    )  # fmt: skip


def importer(batch: dict[str, Any]) -> Any:
    """One that answers this, again and again."""

    @asynccontextmanager
    async def start(paths: tuple[Path, ...]) -> AsyncGenerator[Any]:
        del paths

        async def call(op: str, args: Any) -> Json:
            del args
            return {} if op == "import" else batch

        yield call

    return start


@asynccontextmanager
async def a_ledger(folder: Path) -> AsyncGenerator[LedgerFile]:
    name = "observations-imported"
    ledger = LedgerFile.open(
        folder / f"{name}.jsonl", name, BODIES[name], SystemClock(), lambda _: None
    )
    yield ledger
    await ledger.close()


async def brought(folder: Path, ledger: LedgerFile, start: Any) -> int:
    """Import a history of one turn; how many observations were new."""
    history = folder / "history"
    history.mkdir(exist_ok=True)
    writer = ClaudeWriter("one")
    writer.user("a task")
    writer.write(history)
    rows = await import_paths((history,), ledger, folder / "cursors", start, lambda _: None)
    return sum(row.new_observations for row in rows)


@pytest.mark.parametrize("turn_id", IDS)
async def test_a_turn_whose_id_is_none_is_refused(tmp_path: Path, turn_id: str) -> None:
    batch = {"observations": [msgspec.to_builtins(seen(turn_id))], "done": True}
    async with a_ledger(tmp_path) as ledger:
        with pytest.raises(PipeError):
            await brought(tmp_path, ledger, importer(batch))
        assert ledger.head.seq == 0


@pytest.mark.parametrize("entries", ["?", "YQ", "YQ==\n!"])
async def test_cursors_that_are_no_bytes_are_refused(tmp_path: Path, entries: str) -> None:
    async with a_ledger(tmp_path) as ledger:
        with pytest.raises(PipeError):
            await brought(tmp_path, ledger, importer({"entries": entries, "done": True}))


async def test_a_line_that_stands_already_keeps_no_import_from_being_made(tmp_path: Path) -> None:
    async with a_ledger(tmp_path) as ledger:
        for turn_id in IDS:
            await ledger.append(seen(turn_id))
        assert await brought(tmp_path, ledger, importer_here()) == 1
        assert await brought(tmp_path, ledger, importer_here()) == 0
