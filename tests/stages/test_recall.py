"""Recall: finds, dates and opens what was done; its index can be lost, broken or stale."""

import sqlite3
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from gnomon.clock import SystemClock
from gnomon.domain.errors import RecordError, UsageError
from gnomon.domain.ledgers import BODIES, LedgerName
from gnomon.domain.records_observe import ImportedSession, Observation
from gnomon.domain.views import Source
from gnomon.ledger.file import LedgerFile
from gnomon.memory.recall_main import LedgerPlace, RecallArgument, Service

OWN: LedgerName = "observations"
IMPORTED: LedgerName = "observations-imported"
BOTH = (OWN, IMPORTED)


def seen(number: int, task: str, answer: str = "", **more) -> Observation:
    fields: dict[str, Any] = {
        "session": f"s{number}",
        "turn": 1,
        "task": task,
        "tools": {},
        "failures": (),
        "corrected": False,
        "durationMs": None,
        "source": "codex",
        "happened_at": f"2026-02-{number % 28 + 1:02}T10:00:00.000Z",
        "answer": answer,
        "path": f"/h/{number}.jsonl",
        "line": number,
        "turn_id": f"t{number}",
    }
    return Observation(**(fields | more))


class Place:
    def __init__(self, root: Path) -> None:
        self.index = root / "index.db"
        self.index.touch()
        self.paths = {name: root / f"{name}.jsonl" for name in BOTH}
        self.ledgers = {name: self.open(name) for name in BOTH}
        self.parts: list = []
        self.service = self.start()

    def open(self, name: LedgerName) -> LedgerFile:
        return LedgerFile.open(self.paths[name], name, BODIES[name], SystemClock(), print)

    def start(self) -> Service:
        places = tuple(LedgerPlace(name=name, path=str(self.paths[name])) for name in BOTH)
        return Service(RecallArgument(index=str(self.index), ledgers=places))

    def restart(self) -> None:
        self.service.close()
        self.service = self.start()

    async def write(self, *bodies, name: LedgerName = IMPORTED) -> None:
        for body in bodies:
            await self.ledgers[name].append(body)

    async def bring_up(self) -> int:
        heads = {name: msgspec.to_builtins(ledger.head) for name, ledger in self.ledgers.items()}
        self.parts.clear()
        answer = await self.service.answer("index", {"heads": heads}, self.parts.append)
        return cast("dict", answer)["notes"]

    async def search(self, query: str, limit: int = 8) -> list[Source]:
        answer = await self.service.answer("search", {"query": query, "limit": limit}, print)
        return msgspec.convert(cast("dict", answer)["hits"], list[Source])


@pytest.fixture
async def place(tmp_path: Path):
    made = Place(tmp_path)
    yield made
    made.service.close()
    for ledger in made.ledgers.values():
        await ledger.close()


async def test_a_question_finds_a_dated_quote_that_opens_its_source(place: Place) -> None:
    await place.write(
        seen(1, "the flaky test fails again", "The clock was mocked too late; I moved it up."),
        seen(2, "rename the button"),
    )
    assert await place.bring_up() == 2
    (found,) = await place.search("How did I fix the flaky test?")
    assert found.quote.startswith("the flaky test fails again → The clock was mocked")
    assert (found.at, found.path, found.line) == ("2026-02-02T10:00:00.000Z", "/h/1.jsonl", 1)


async def test_english_forms_of_a_word_find_each_other(place: Place) -> None:
    await place.write(seen(1, "the migrations were failing"), seen(2, "something else"))
    await place.bring_up()
    for question in ("migration failed", "how did the migrations fail?"):
        assert [found.line for found in await place.search(question)] == [1]


async def test_own_and_imported_observations_are_both_found(place: Place) -> None:
    await place.write(seen(1, "deploy the shop"))
    await place.write(seen(2, "deploy the docs", "Done.", source="gnomon", turn_id=None), name=OWN)
    await place.bring_up()
    assert {found.source for found in await place.search("deploy")} == {"codex", "gnomon"}


async def test_an_own_question_that_had_no_answer_does_not_answer_itself(place: Place) -> None:
    await place.write(seen(1, "the flaky test fails", "I moved the clock up."))
    own = seen(2, "How did I fix the flaky test?", source="gnomon", turn_id=None)
    await place.write(own, name=OWN)
    await place.bring_up()
    found = await place.search("How did I fix the flaky test?")
    assert [each.source for each in found] == ["codex"]


async def test_with_few_matches_of_all_terms_the_rarest_terms_decide(place: Place) -> None:
    await place.write(*(seen(n, f"build number {n}") for n in range(1, 60)))
    await place.write(seen(60, "the walrus operator"))
    await place.bring_up()
    found = await place.search("walrus build elephant")
    assert found[0].quote == "the walrus operator"
    assert len(found) == 8


async def test_only_new_lines_are_indexed(place: Place) -> None:
    await place.write(seen(1, "first"))
    await place.bring_up()
    await place.write(seen(2, "second"))
    assert await place.bring_up() == 2
    assert [part["seq"] for part in place.parts] == [2]
    await place.bring_up()
    assert place.parts == []


async def test_a_turn_that_was_stated_again_is_one_note(place: Place) -> None:
    await place.write(seen(1, "a task", "half done"), seen(2, "another"))
    await place.bring_up()
    await place.write(seen(1, "a task", "whole and finished"))
    assert await place.bring_up() == 2
    assert await place.search("half") == []
    (found,) = await place.search("finished")
    assert found.quote.endswith("whole and finished")


async def test_sessions_and_other_lines_are_passed_over(place: Place) -> None:
    session = ImportedSession(
        source="codex", session="s", path="/p", project=None, models=(), first_at=None,
        last_at=None, ended="ok", tokens=(), user_turns=0, tool_errors=None, interruptions=None,
        rejections=None,
    )  # fmt: skip
    await place.write(session)
    assert await place.bring_up() == 0
    assert await place.search("s") == []


async def test_an_index_survives_a_restart(place: Place) -> None:
    await place.write(seen(1, "first thing"))
    await place.bring_up()
    place.restart()
    await place.bring_up()
    assert place.parts == []
    assert len(await place.search("first thing")) == 1


@pytest.mark.parametrize("damage", ["empty", "garbage", "middle", "interrupted", "older"])
async def test_an_index_that_is_not_whole_is_made_again(place: Place, damage: str) -> None:
    await place.write(*(seen(n, f"thing number {n} walrus", "word " * 200) for n in range(1, 80)))
    await place.bring_up()
    place.service.close()
    data = place.index.read_bytes()
    match damage:
        case "empty":
            place.index.write_bytes(b"")
        case "garbage":
            place.index.write_bytes(b"no database at all" * 500)
        case "middle":
            place.index.write_bytes(data[:8192] + b"\xff" * (len(data) - 8192))
        case "interrupted":
            with sqlite3.connect(place.index) as db:
                db.execute("UPDATE meta SET value = 1 WHERE name = 'changing'")
            db.close()
        case _:
            with sqlite3.connect(place.index) as db:
                db.execute("UPDATE meta SET value = 0 WHERE name = 'version'")
            db.close()
    place.service = place.start()
    await place.search("walrus")
    await place.bring_up()
    assert len(await place.search("walrus", 50)) > 10


async def test_another_ledger_of_the_same_name_voids_the_index(place: Place) -> None:
    await place.write(seen(1, "from the old ledger"), seen(2, "old too"))
    await place.bring_up()
    await place.ledgers[IMPORTED].close()
    place.paths[IMPORTED].unlink()
    place.ledgers[IMPORTED] = place.open(IMPORTED)
    await place.write(seen(3, "from the new ledger"), seen(4, "x"), seen(5, "y"))
    assert await place.bring_up() == 3
    assert [found.line for found in await place.search("ledger")] == [3]


async def test_a_shorter_ledger_voids_the_index(place: Place) -> None:
    await place.write(seen(1, "one"), seen(2, "two"))
    await place.bring_up()
    await place.ledgers[IMPORTED].close()
    place.paths[IMPORTED].unlink()
    place.ledgers[IMPORTED] = place.open(IMPORTED)
    assert await place.bring_up() == 0


@pytest.mark.parametrize(
    "query", ["", "?!", '"', "a OR", "NEAR(", "*", "x" * 5000, "\ufffd", "col:x -y", "數據庫"]
)
async def test_no_question_breaks_the_index(place: Place, query: str) -> None:
    await place.write(seen(1, "a task"))
    await place.bring_up()
    await place.search(query)
    assert len(await place.search("task")) == 1


async def test_words_without_spaces_between_them_are_found(place: Place) -> None:
    await place.write(seen(1, "请修复数据库的迁移"), seen(2, "别的东西"))
    await place.bring_up()
    for question in ("数据库", "迁移", "数据库迁移怎么修复"):
        assert [found.line for found in await place.search(question)] == [1]
    await place.write(seen(1, "全新的内容"))
    await place.bring_up()
    assert await place.search("数据库") == []


async def test_what_is_no_request_is_refused(place: Place) -> None:
    with pytest.raises(RecordError):
        await place.service.answer("search", {"query": 5}, print)
    with pytest.raises(UsageError):
        await place.service.answer("drop", {}, print)
    assert await place.service.answer("stop", {}, print) == {}
