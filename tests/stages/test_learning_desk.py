"""Whether it learns, and the texts that its instructions had: asked of the daemon's own wiring."""

from collections.abc import Awaitable, Callable
from itertools import pairwise
from pathlib import Path

import pytest
from msgspec.structs import replace

from gnomon.domain.errors import UsageError
from gnomon.domain.records_change import Change, VerdictOutcome
from gnomon.domain.views_change import Learning, VersionView
from gnomon.gateway.dashboard import change_words
from tests.change_kit import CANDIDATE, PARENT, PROMPT, a_change, a_judgment
from tests.world_kit import Gateway, World, in_virtual_time

SHORTER = PARENT[: len(PARENT) * 9 // 10]
SHORTEST = PARENT[: len(PARENT) * 8 // 10]
LEAST = PARENT[: len(PARENT) * 7 // 10]
DEV_MODE = '{"dev_mode": true}'


def lived(tmp_path: Path, work: Callable[[Gateway], Awaitable[None]], *, fitness: str = "") -> None:
    async def live() -> None:
        world = World(tmp_path / "home", fitness=fitness)
        async with world.up() as gateway:
            await work(gateway)

    in_virtual_time(live)


async def judged(gateway: Gateway, change: Change, outcome: VerdictOutcome) -> None:
    """Propose it, and let its verdict come."""
    changes = gateway.core.changes
    await changes.propose(change)
    number = int(change.change_id[-4:])
    await gateway.core.stores.append("judgment-ledger", a_judgment(outcome, number))
    await changes.settle()


async def learning(gateway: Gateway) -> Learning:
    return await gateway.ask("learning.show")


def test_a_new_home_says_that_it_is_too_early(tmp_path: Path):
    async def work(gateway: Gateway) -> None:
        found = await learning(gateway)
        assert (found.health.light, found.health.sentence) == (
            "grey",
            "Too early to say: 0 of 3 verdicts",
        )
        assert (found.changes, found.refused, found.last_diff, found.testing) == (
            (),
            (),
            None,
            None,
        )
        assert not found.dev_mode

    lived(tmp_path, work)


def test_the_last_twenty_that_were_tried_are_shown_and_refused_ones_apart(tmp_path: Path):
    async def work(gateway: Gateway) -> None:
        for number in range(1, 23):
            await judged(gateway, a_change(number), "rolled_back")
        refused = replace(a_change(23), status="refused", reason="it grew")
        await gateway.core.changes.propose(refused)
        await gateway.core.changes.propose(a_change(24))
        found = await learning(gateway)
        assert found.testing == "change-0024"
        assert [each.change_id for each in found.changes[:2]] == ["change-0024", "change-0022"]
        assert len(found.changes) == 20
        assert [(each.change_id, each.reason) for each in found.refused] == [
            ("change-0023", "it grew")
        ]
        assert found.last_diff == a_change(24).diff
        assert found.health.sentence == "Not improving: last 5 changes undone"
        assert found.health.figures["undone"] == 22

    lived(tmp_path, work)


def test_three_kept_changes_that_each_shorten_the_prompt_turn_it_red(tmp_path: Path):
    async def work(gateway: Gateway) -> None:
        texts = [PARENT, SHORTER, SHORTEST, LEAST]
        for number, (base, text) in enumerate(pairwise(texts), start=1):
            light = (await learning(gateway)).health.light
            assert light == "grey"
            await judged(gateway, a_change(number, text, base), "kept")
        found = await learning(gateway)
        assert (found.health.light, found.health.code) == ("red", "shrinking")
        await gateway.ask("changes.revert", change_id="change-0003")
        assert (await learning(gateway)).health.code == "no-clear-change"

    lived(tmp_path, work)


def test_what_the_operator_took_back_counts_as_undone(tmp_path: Path):
    async def work(gateway: Gateway) -> None:
        await judged(gateway, a_change(), "kept")
        await gateway.ask("changes.revert", change_id="change-0001")
        figures = (await learning(gateway)).health.figures
        assert (figures["kept"], figures["undone"]) == (0, 1)

    lived(tmp_path, work)


def test_development_mode_is_told(tmp_path: Path):
    async def work(gateway: Gateway) -> None:
        assert (await learning(gateway)).dev_mode

    lived(tmp_path, work, fitness=DEV_MODE)


def test_every_text_that_stood_is_listed_with_the_change_that_it_came_with(tmp_path: Path):
    async def work(gateway: Gateway) -> None:
        await judged(gateway, a_change(1), "rolled_back")
        await judged(gateway, a_change(2, SHORTER), "kept")
        found: list[VersionView] = await gateway.ask("scaffold.versions", file=PROMPT)
        rows = change_words.version_rows(found, PROMPT)
        assert [row.version.name == "current" for row in rows] == [True, False, False, False]
        assert [row.version.change_id for row in rows] == [
            "change-0002",
            None,
            "change-0001",
            None,
        ]
        assert [row.again for row in rows] == [None, rows[3].version.activation, None, None]
        numbers = [each.activation for each in found]
        assert numbers == sorted(numbers, reverse=True)
        every: list[VersionView] = await gateway.ask("scaffold.versions", limit=1)
        assert {each.file for each in every} > {PROMPT, "README.md"}
        assert len([each for each in every if each.file == PROMPT]) == 1

    lived(tmp_path, work)


def test_any_two_texts_are_compared_the_current_one_included(tmp_path: Path):
    async def work(gateway: Gateway) -> None:
        await judged(gateway, a_change(1), "rolled_back")
        await judged(gateway, a_change(2, SHORTER), "kept")
        first, second, third = [
            each.name
            for each in await gateway.ask("scaffold.versions", file=PROMPT)
            if each.name != "current"
        ]
        diff = await gateway.ask("scaffold.diff", file=PROMPT, before=third, after=second)
        assert diff.diff == a_change(1).diff
        same = await gateway.ask("scaffold.diff", file=PROMPT, before=third, after=first)
        assert same.diff == ""
        now = await gateway.ask("scaffold.diff", file=PROMPT, before=second)
        assert "-Begin with the open question that is oldest." in now.diff

    lived(tmp_path, work)


@pytest.mark.parametrize("name", ["../fitness-config.json", "gone", "/etc/passwd"])
def test_a_text_that_the_file_never_had_is_refused_whatever_it_is_called(tmp_path: Path, name: str):
    async def work(gateway: Gateway) -> None:
        with pytest.raises(UsageError, match="no version"):
            await gateway.ask("scaffold.diff", file=PROMPT, before=name)
        with pytest.raises(UsageError, match="no version"):
            await gateway.ask("scaffold.diff", file=name, before="current")

    lived(tmp_path, work)


def test_a_persons_edit_is_a_text_without_a_change(tmp_path: Path):
    async def work(gateway: Gateway) -> None:
        file = gateway.core.agent.scaffold / PROMPT
        file.write_text(CANDIDATE + "By hand.\n")
        gateway.core.world.look_at_scaffold(gateway.core.platform.clock.wall())
        [current, before] = await gateway.ask("scaffold.versions", file=PROMPT)
        assert current.change_id is None
        assert before.activation < current.activation

    lived(tmp_path, work)
