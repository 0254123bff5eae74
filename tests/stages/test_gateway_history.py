"""What is asked of other agents' histories, in a real gateway."""

from pathlib import Path

import pytest

from gnomon.domain.errors import UsageError
from gnomon.domain.records_observe import ImportedSession
from gnomon.domain.views_history import ImportRow
from gnomon.testing.facts import a_stranger, an_import_row
from tests.world_kit import World, in_virtual_time


def test_a_history_that_is_not_there_is_told_with_the_way_to_name_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))

    async def live() -> None:
        world = World(tmp_path / "home", says=str)
        async with world.up() as gateway:
            with pytest.raises(UsageError, match="There is no history of claude-code") as refused:
                await gateway.ask("history.import", sources=("claude-code",))
        assert refused.value.next_step == "Name where it is: `gnomon import PATH`."

    in_virtual_time(live)


def test_the_card_of_histories_is_done_with_once_one_was_read_by_whatever_way(
    tmp_path: Path,
) -> None:
    async def live() -> None:
        world = World(tmp_path / "home", says=str)
        async with world.up() as gateway:
            assert "history" not in await gateway.ask("cards.hidden")
            session = ImportedSession(
                source="codex",
                session="s",
                path="/h/s.jsonl",
                project=None,
                models=(),
                first_at=None,
                last_at=None,
                ended="ok",
                tokens=(),
                user_turns=1,
                tool_errors=0,
                interruptions=0,
                rejections=0,
            )
            await gateway.core.stores.files["observations-imported"].append(session)
            assert await gateway.ask("cards.hidden") == ["history"]
            await gateway.ask("cards.hide", card="history")
            await gateway.ask("cards.hide", card="model")
            assert await gateway.ask("cards.hidden") == ["history", "model"]

    in_virtual_time(live)


def test_an_import_of_what_is_no_transcript_is_not_told_as_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def live() -> None:
        world = World(tmp_path / "home", says=str)
        async with world.up() as gateway:
            rows = [a_stranger("/notes.txt")]

            async def read(*_: object, **__: object) -> list[ImportRow]:
                return rows

            monkeypatch.setattr(gateway.core.history, "read", read)
            told = gateway.core.stream
            await gateway.ask("history.import", paths=("/",))
            assert told.recent("history", 9) == []
            rows.append(an_import_row("/a.jsonl"))
            await gateway.ask("history.import", paths=("/",), dry_run=True)
            assert told.recent("history", 9) == [], "a dry run reads nothing in"
            await gateway.ask("history.import", paths=("/",))
            assert len(told.recent("history", 9)) == 1
            (line,) = [
                each
                for each in (await gateway.ask("journal.tail", lines=20)).lines
                if "transcript" in each
            ]
            assert "Read 1 transcript, 5 turns new." in line

    in_virtual_time(live)
