"""The importer and recall as they run: each in its jail, over the real pipe."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import msgspec
import pytest

from gnomon.clock import SystemClock
from gnomon.domain.ledgers import BODIES
from gnomon.domain.ports import Call
from gnomon.domain.records_observe import ImportedSession, Observation
from gnomon.domain.views_history import ImportRow
from gnomon.ledger.file import LedgerFile
from gnomon.observe.importing import import_paths
from gnomon.observe.prices import packaged_prices
from gnomon.observe.report import report
from gnomon.testing.observe import ClaudeWriter
from gnomon.trust.jail import Child, Grants, start

pytestmark = [pytest.mark.system, pytest.mark.needs("jail-full")]
CASES = Path(__file__).parents[1] / "cases" / "transcripts"
NAME = "observations-imported"


@asynccontextmanager
async def importer(granted: tuple[Path, ...]) -> AsyncGenerator[Call]:
    child = await start(
        "importer", "gnomon.observe.importer_main", {}, Grants(read=granted), serve=None
    )
    try:
        yield child.peer.call
    finally:
        await child.stop(2.0)


def ledger_at(root: Path) -> LedgerFile:
    return LedgerFile.open(root / f"{NAME}.jsonl", NAME, BODIES[NAME], SystemClock(), print)


async def read(root: Path, ledger: LedgerFile, *paths: Path) -> list[ImportRow]:
    return await import_paths(paths, ledger, root / "cursors.bin", importer, lambda _: None)


async def test_the_handed_cases_are_imported_once_and_reported_within_five_seconds(
    tmp_path: Path,
) -> None:
    ledger = ledger_at(tmp_path)
    async with asyncio.timeout(30):
        rows = await read(tmp_path, ledger, CASES)
    by_name = {str(Path(row.file).relative_to(CASES)): row for row in rows}
    assert by_name["codex/01-rollout-118-calls.jsonl"].tool_calls == {
        "exec_command": 116,
        "write_stdin": 2,
    }
    assert by_name["claude-code/12-two-sessions-resumed.jsonl"].new_observations == 10
    assert by_name["other-formats/openclaw-cron-run-log.jsonl"].format is None
    async with asyncio.timeout(5):
        bodies = [line.body for line in ledger.read()]
        lines = [body for body in bodies if isinstance(body, Observation | ImportedSession)]
        told = report(lines, packaged_prices())
    assert told.failures
    assert told.loose_ends
    assert any(row.usd for row in told.cost)
    again = await read(tmp_path, ledger, CASES)
    assert sum(row.new_observations for row in again) == 0
    await ledger.close()


async def test_a_link_out_of_the_granted_folder_shows_nothing(tmp_path: Path) -> None:
    granted, outside = tmp_path / "granted", tmp_path / "outside"
    granted.mkdir()
    writer = ClaudeWriter("secret")
    writer.user("the secret task")
    target = writer.write(outside)
    (granted / "link.jsonl").symlink_to(target)
    ledger = ledger_at(tmp_path)
    assert await read(tmp_path, ledger, granted) == []
    await ledger.close()


async def recall(root: Path) -> Child:
    index = root / "index.db"
    index.touch()
    argument = {
        "index": str(index),
        "ledgers": [{"name": NAME, "path": str(root / "memory" / f"{NAME}.jsonl")}],
    }
    grants = Grants(read=(root / "memory",), write=(index,))
    return await start("recall", "gnomon.memory.recall_main", argument, grants, serve=None)


async def test_recall_keeps_its_index_in_the_one_file_that_it_may_write(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    ledger = ledger_at(tmp_path / "memory")
    writer = ClaudeWriter("one")
    writer.user("why is the flaky test flaky")
    writer.says("The clock was not mocked.")
    await read(tmp_path, ledger, writer.write(tmp_path / "history"))
    parts: list = []
    for _ in range(2):  # the second process finds the index of the first
        parts.clear()
        child = await recall(tmp_path)
        try:
            heads = {NAME: msgspec.to_builtins(ledger.head)}
            async with asyncio.timeout(20):
                await child.call("index", {"heads": heads}, parts.append)
                told = await child.call("search", {"query": "flaky clock", "limit": 3})
        finally:
            await child.stop(2.0)
        answer = cast("dict", told)
        assert answer["notes"] == 1
        assert answer["hits"][0]["quote"].endswith("The clock was not mocked.")
    assert parts == []
    await ledger.close()
