"""Surfaces that a rule makes from the history, on the real core: once, few, by no model."""

import asyncio
from pathlib import Path

import pytest

from gnomon.domain.instants import DAY, HOUR, Millis, iso
from gnomon.domain.views import Source
from gnomon.domain.views_history import Correction, LooseEnd, Report
from gnomon.observe.findings import findings
from tests.world_kit import START, Gateway, World, in_virtual_time

SAYINGS = [f"no, use tool{n}, not other{n}" for n in range(20)]


def report(*corrections: Correction, ends: tuple[LooseEnd, ...] = ()) -> Report:
    return Report(corrections=corrections, failures=(), repeats=(), loose_ends=ends, cost=())


def correction(text: str = "use pnpm, not npm", sessions: int = 7) -> Correction:
    quote = Source(
        source="codex", session="s", at="2026-03-01T10:00:00Z", path="/x.jsonl", line=3, quote=text
    )
    return Correction(text=text, sessions=sessions, last_at=quote.at, sources=(quote,))


def loose_end(hours_ago: int = 5, **changes: object) -> LooseEnd:
    fields: dict[str, object] = {
        "session": "s1",
        "kind": "error",
        "at": iso(Millis(START - hours_ago * HOUR)),
        "resume": "codex resume s1",
        "source": "codex",
        "project": "/home/ada/shop",
        "title": "mend the tests",
    }
    return LooseEnd(**(fields | changes))  # type: ignore[arg-type]


def test_a_correction_is_told_in_the_words_that_were_used() -> None:
    (found,) = findings(report(correction(), correction("x", sessions=1)), START, ())
    assert found.title == "You said 'use pnpm, not npm' in 7 sessions."
    assert found.body == "2026-03-01 codex (/x.jsonl:3): use pnpm, not npm"


def test_more_sessions_of_the_same_are_not_news() -> None:
    (found,) = findings(report(correction(sessions=2)), START, ())
    again = report(correction("Use  PNPM, not npm", sessions=9))
    assert findings(again, START, [found.fingerprint]) == []


def test_a_loose_end_of_the_last_days_says_how_to_go_on() -> None:
    (found,) = findings(report(ends=(loose_end(), loose_end(80, session="s2"))), START, ())
    assert found.title == "A session of codex in shop ended in an error: 'mend the tests'."
    assert "Go on with: codex resume s1" in found.body


def test_a_loose_end_without_a_usable_date_is_not_told() -> None:
    ends = (loose_end(at=None), loose_end(at="soon"), loose_end(hours_ago=-3))
    assert findings(report(ends=ends), START, ()) == []


def test_long_words_are_cut_and_bare_ones_stand_alone() -> None:
    bare = loose_end(project=None, title=None, resume="")
    found = findings(report(correction("y" * 500), ends=(bare,)), START, ())
    assert len(found[0].title) < 200
    assert found[1].title == "A session of codex ended in an error."


async def talk(gateway: Gateway, sayings: list[str], times: int = 2) -> None:
    for _ in range(times):
        for saying in sayings:
            first = await gateway.ask("chat.turn", text="look at the build")
            await gateway.ask("chat.turn", text=saying, session=first.session)


@pytest.mark.parametrize("config", ["", '[kernel]\nmode = "full"\n'])
def test_what_you_keep_correcting_is_told_once_by_rule(tmp_path: Path, config: str) -> None:
    async def story() -> None:
        world = World(tmp_path / "home", config=config)
        async with world.up() as gateway:
            await talk(gateway, SAYINGS[:1])
            await asyncio.sleep(130)
            (surface,) = gateway.surfaces()
            assert (surface.origin, surface.synthetic) == ("rule", False)
            assert "in 2 sessions" in surface.title
            await talk(gateway, SAYINGS[:1])
            await asyncio.sleep(3 * 3600)
        async with world.up() as gateway:
            await talk(gateway, SAYINGS[:1], times=1)
            await asyncio.sleep(2 * 86_400)
            assert len(gateway.surfaces()) == 1, "also after a restart"

    in_virtual_time(story)


def test_at_most_three_at_once_and_five_a_day(tmp_path: Path) -> None:
    async def story() -> None:
        world = World(tmp_path / "home")
        async with world.up() as gateway:
            await talk(gateway, SAYINGS)
            await asyncio.sleep(130)
            assert len(gateway.surfaces()) == 3
            await asyncio.sleep(2 * 3600)
            assert len(gateway.surfaces()) == 5
            await asyncio.sleep(DAY / 1000)
            assert len(gateway.surfaces()) == 10

    in_virtual_time(story)


@pytest.mark.parametrize("mode", ["off", "shadow"])
def test_a_mode_that_does_not_speak_tells_nothing(tmp_path: Path, mode: str) -> None:
    async def story() -> None:
        world = World(tmp_path / "home", config=f'[kernel]\nmode = "{mode}"\n')
        async with world.up() as gateway:
            await talk(gateway, SAYINGS[:1])
            await asyncio.sleep(3 * 3600)
            assert gateway.surfaces() == []

    in_virtual_time(story)


def test_nothing_is_told_while_it_is_paused(tmp_path: Path) -> None:
    async def story() -> None:
        world = World(tmp_path / "home")
        async with world.up() as gateway:
            await talk(gateway, SAYINGS[:1])
            await gateway.ask("kernel.pause")
            await asyncio.sleep(3 * 3600)
            assert gateway.surfaces() == []
            await gateway.ask("kernel.resume")
            await asyncio.sleep(3 * 3600)
            assert len(gateway.surfaces()) == 1

    in_virtual_time(story)


def test_a_damaged_memory_means_that_it_is_told_again(tmp_path: Path) -> None:
    async def story() -> None:
        world = World(tmp_path / "home")
        async with world.up() as gateway:
            await talk(gateway, SAYINGS[:1])
            await asyncio.sleep(130)
        (world.home.agent("main").state / "findings.json").write_text("{torn")
        async with world.up() as gateway:
            await asyncio.sleep(130)
            assert len(gateway.surfaces()) == 2

    in_virtual_time(story)
