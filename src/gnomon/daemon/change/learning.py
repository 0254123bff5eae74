"""Is it learning? What the dashboard's panel is told of self-change, and the texts that were.

Nothing is judged here: verdicts are the judge's, numbers the fitness writer's.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Any

from gnomon.change.health import SHRINKS, HealthFacts, Resized, Verdict, health, resized
from gnomon.change.life import IN_FORCE, ChangeLife, ChangesState
from gnomon.change.shown import change_view
from gnomon.daemon import arguments as args
from gnomon.daemon.change.changes import Changes
from gnomon.daemon.change.past_texts import PastTexts
from gnomon.daemon.fitness.desk import FitnessDesk
from gnomon.daemon.store.disk_words import naming_the_disk
from gnomon.daemon.store.stores import Stores
from gnomon.domain.chance import within_chance
from gnomon.domain.instants import DAY, Millis
from gnomon.domain.views_change import Learning, VersionDiff, VersionView
from gnomon.gateway.operation import Nothing, Operation, Progress
from gnomon.referee.config import FitnessConfig

SHOWN = 20
"""Changes in the panel (page 8)."""


@dataclass
class LearningDesk:
    """`today` is the time that it is taken to be."""

    changes: Changes
    desk: FitnessDesk
    stores: Stores
    config: FitnessConfig
    texts: PastTexts
    today: Callable[[], Millis]

    async def show(self, _: Nothing, __: Progress) -> Learning:
        state = self.changes.state()
        tried = [life for life in state.newest_first() if life.status != "refused"]
        refused = (life for life in state.newest_first() if life.status == "refused")
        tested = state.under_judgment
        in_force = (life for life in tried if life.applied_at is not None)
        newest = next(in_force, None)
        return Learning(
            health=health(self._facts(state)),
            changes=tuple(map(change_view, tried[:SHOWN])),
            refused=tuple(map(change_view, islice(refused, SHOWN))),
            last_diff=None if newest is None else newest.change.diff,
            dev_mode=self.config.dev_mode,
            testing=None if tested is None else tested.change_id,
        )

    async def versions(self, asked: args.ScaffoldVersions, _: Progress) -> list[VersionView]:
        return self.texts.listed(asked.file, asked.limit)

    async def diff(self, asked: args.ScaffoldDiff, _: Progress) -> VersionDiff:
        return self.texts.diff(asked.file, asked.before, asked.after)

    def _facts(self, state: ChangesState) -> HealthFacts:
        now = self.today()
        week, before = self.desk.weeks(now)
        first = next(self.stores.files["fitness-ledger"].read(), None)
        return HealthFacts(
            verdicts=[_verdict(life) for life in state.in_order() if life.outcome is not None],
            resized=self._resized(state),
            week=week.rate,
            week_before=before.rate,
            margin=0.0 if self.config.dev_mode else self.config.delta,
            beyond_chance=not within_chance(week.interval, before.interval),
            now=now,
            day=0 if first is None else (now - first.at) // DAY,
        )

    def _resized(self, state: ChangesState) -> list[Resized]:
        """What the last changes that stand did to the length of their files."""
        standing = (
            life for life in state.newest_first() if life.status == "kept" or _is_in_force(life)
        )
        found: list[Resized] = []
        for life in islice(standing, SHRINKS):
            before = self.changes.scaffold.kept(life.change.target, life.change.base_sha256)
            if before is not None:
                found.append(resized(len(before[1].decode(errors="replace")), life.change.diff))
        return found[::-1]


def _is_in_force(life: ChangeLife) -> bool:
    return life.status in IN_FORCE


def _verdict(life: ChangeLife) -> Verdict:
    assert life.outcome is not None
    assert life.decided_at is not None
    return Verdict(
        outcome=life.outcome,
        basis=None if life.judgment is None else life.judgment.basis,
        at=life.decided_at,
        taken_back=life.outcome == "kept" and life.status == "reverted",
    )


def learning_rows(desk: LearningDesk) -> tuple[Operation, ...]:
    """The rows of the table: they read, and nothing here writes."""
    rows: tuple[tuple[str, str, Any, Any, Any], ...] = (
        ("learning.show", "Is it learning?", Nothing, Learning, desk.show),
        (
            "scaffold.versions",
            "The texts that its instructions had",
            args.ScaffoldVersions,
            list[VersionView],
            desk.versions,
        ),
        (
            "scaffold.diff",
            "How two of them differ",
            args.ScaffoldDiff,
            VersionDiff,
            desk.diff,
        ),
    )
    return tuple(
        Operation(name, summary, arguments, result, naming_the_disk(run), reads=True)
        for name, summary, arguments, result, run in rows
    )
