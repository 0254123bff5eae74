"""Fitness as people ask for it, and the writer's job: when it runs and what it is given.

Nothing here measures: the job does (`gnomon.referee.writer_main`), in its jail, beside the
resident, which never learns of it. What is shown is read from the ledger.
"""

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

from gnomon.daemon import arguments as args
from gnomon.daemon.change.jobs import JobRow
from gnomon.daemon.evaluation_time import EvaluationTime, instant
from gnomon.daemon.fitness.fold import (
    TREND_DAYS,
    StandingWindow,
    engagement_trend,
    folded,
    lines_of,
    pooled_view,
    shown,
    stall_trend,
    version_view,
)
from gnomon.daemon.inbox.engagement import EngagementBook
from gnomon.daemon.platform import Platform
from gnomon.daemon.store.stores import Stores
from gnomon.domain.errors import GnomonError
from gnomon.domain.instants import DAY, Millis, iso, parse_iso
from gnomon.domain.json_value import Fields
from gnomon.domain.ledgers import LedgerName
from gnomon.domain.ports import Child
from gnomon.domain.records import Reflection
from gnomon.domain.records_referee import Amendment, Gap, Window
from gnomon.domain.views_change import JobDone
from gnomon.domain.views_referee import (
    Fitness,
    FitnessRules,
    Forecast,
    Pooled,
    RetuneAnswer,
    Retuned,
    Written,
)
from gnomon.gateway.operation import Nothing, Operation, Progress
from gnomon.referee.config import Loaded
from gnomon.referee.engagement import Engagement, Surface
from gnomon.referee.pooled import (
    forecast,
    judged_within,
    pooled,
    pools,
    pools_by_version,
)
from gnomon.referee.retune import retune
from gnomon.referee.writing import WRITER_MODULE, CitedLedger, FitnessWriting
from gnomon.trust.jail import Grants

WINDOWS_DAYS = 7
RETUNE_DAYS = 28
NOTHING_DUE = "No window has closed since it last ran."
MEASURED = (Window, Amendment, Gap)
LAST_LINES = 64
"""Of its ledger, among which the last window's stands."""
POINTS = 10
"""Of the forecast: percentage points of difference between two versions."""


class FitnessDesk:
    """`affordable_seconds` is what one reflection may take: the tick times the duty cycle.
    `changed` hears that the ledger has new lines.
    """

    def __init__(
        self,
        stores: Stores,
        book: EngagementBook,
        loaded: Loaded,
        platform: Platform,
        affordable_seconds: float,
        changed: Callable[[], None],
    ) -> None:
        self._stores = stores
        self._book = book
        self._loaded = loaded
        self._platform = platform
        self._affordable_seconds = affordable_seconds
        self._changed = changed
        self._time = EvaluationTime(stores)
        self._told = ""

    # --- the job ---------------------------------------------------------------------------------

    def is_due(self) -> bool:
        """Whether a window closed 60 s ago or more, since the last run."""
        now = self._platform.clock.wall()
        return self._writing.is_due(now) and self._is_over(now)

    @property
    def is_failing(self) -> bool:
        """Whether its last two runs failed."""
        return self._writing.is_failing

    async def turn(self) -> None:
        """Run the job. What goes wrong is said once, and it is tried again at a later beat."""
        try:
            await self._written(self._platform.clock.wall())
            self._told = ""
        except (GnomonError, OSError) as error:
            if str(error) != self._told:
                self._told = str(error)
                self._stores.journal(f"The last window could not be measured: {error}")

    async def _written(self, now: Millis) -> Written:
        async with self._book.now():
            pass  # a window is not measured before a step of the clock out of it is noted
        done = await self._writing.run(now)
        if done.lines:
            self._changed()
        return Written(
            now=iso(now), windows=done.windows, amendments=done.amendments, gaps=done.gaps
        )

    @cached_property
    def _writing(self) -> FitnessWriting:
        agent = self._stores.agent
        paths: dict[LedgerName, Path] = {
            "decision-ledger": agent.decision_ledger,
            "artifact-ledger": agent.artifact_ledger,
            "engagement-ledger": agent.engagement_ledger,
            "fitness-ledger": agent.fitness_ledger,
        }
        files = self._stores.files
        ledgers: dict[LedgerName, CitedLedger] = {name: files[name] for name in paths}
        return FitnessWriting(ledgers, paths, self._loaded, self._start)

    async def _start(self, argument: Fields, grants: Grants) -> Child:
        return await self._platform.start_child(
            "fitness-writer", WRITER_MODULE, argument, grants, serve=None
        )

    def _is_over(self, now: Millis) -> bool:
        """Whether an hour of its life is over: else its first line lies in the one that lasts, and
        no process is started for nothing.
        """
        first = next(self._stores.files["decision-ledger"].read(), None)
        return first is not None and not self._writing.closed(now) <= first.at <= now

    def _is_measured(self, now: Millis) -> bool:
        """Whether its ledger has the last window that is over: then a run would find nothing,
        though none was since the start. Amendments stand among the last lines.
        """
        ledger, closed = self._stores.files["fitness-ledger"], self._writing.closed(now)
        last = ledger.read(after_seq=max(0, ledger.head.seq - LAST_LINES))
        ends = [line.body.window_end for line in last if isinstance(line.body, MEASURED)]
        return any(parse_iso(end) >= closed for end in ends)

    def job(self) -> JobRow:
        """As one of the jobs that can be run by hand."""

        def not_due(now: Millis) -> str | None:
            due = self._writing.is_due(now) and self._is_over(now) and not self._is_measured(now)
            return None if due else NOTHING_DUE

        async def run(now: Millis) -> JobDone:
            written = await self._written(now)
            counted = {
                "windows measured": written.windows,
                "amendments": written.amendments,
                "gaps": written.gaps,
            }
            done = tuple(f"{what}: {count}" for what, count in counted.items() if count)
            return JobDone(
                name="fitness", ran=True, done=done, why_not=None if done else NOTHING_DUE
            )

        def last_at() -> Millis | None:
            ledger = self._stores.files["fitness-ledger"]
            last = next(ledger.read(after_seq=max(0, ledger.head.seq - 1)), None)
            return None if last is None else last.at

        return JobRow("fitness", "Measures the hours that are over", not_due, run, last_at)

    # --- operations ------------------------------------------------------------------------------

    async def show(self, asked: args.FitnessShow, _: Progress) -> Fitness:
        """How useful it was, up to now."""
        now = self._time.given(asked.now)
        since = instant(asked.since) if asked.since else Millis(now - WINDOWS_DAYS * DAY)
        far = Millis(min(since, now - 2 * TREND_DAYS * DAY) - DAY)  # and the window before it
        ledger = self._stores.files["fitness-ledger"]
        head = ledger.head
        found = await self._platform.beside(lambda: folded(ledger.read_range(far, until=head)))
        windows = [each for each in found.windows if each.start < now]
        least = self._loaded.config.M_min
        state = self._book.state()
        brought = self._stores.files["engagement-ledger"].head.seq
        pooled_views = [
            pooled_view(pool, least, lines_of(judged_within(state, now, pool.days), brought))
            for pool in pools(state, now)
        ]
        return Fitness(
            now=iso(now),
            windows=shown(windows, since),
            gaps=tuple(gap for gap in found.gaps if parse_iso(gap.window_end) > since),
            pooled=tuple(pooled_views),
            before=self._before(now),
            versions=tuple(
                version_view(version, pool, least)
                for version, pool in pools_by_version(state, now).items()
            ),
            forecast=self._forecast(pooled_views[-1], now),
            stall=stall_trend(windows, now),
            trends=tuple(engagement_trend(windows, now, each.days, least) for each in pooled_views),
            rules=self._rules(),
        )

    def weeks(self, now: Millis) -> tuple[Pooled, Pooled]:
        """The last 7 days' surfaces, and those of the 7 days before."""
        week = pooled(judged_within(self._book.state(), now, WINDOWS_DAYS), WINDOWS_DAYS)
        return pooled_view(week, self._loaded.config.M_min), self._before(now)

    async def run(self, asked: args.FitnessRun, _: Progress) -> Written:
        """Write the windows that are due. Raises UsageError for a time that may not be given."""
        return await self._written(self._time.given(asked.now))

    async def answers(self, _: Nothing, __: Progress) -> Retuned:
        """The four questions of after 30 days, from the last 28 days' lines."""
        now = self._time.today()
        since = Millis(now - RETUNE_DAYS * DAY)
        files = self._stores.files
        lines = files["fitness-ledger"].read_range(since)
        windows: list[StandingWindow] = list(folded(lines).windows)
        reflections = [
            line.body
            for line in files["decision-ledger"].read_range(since)
            if isinstance(line.body, Reflection)
        ]
        found = retune(
            (window.body for window in windows),
            judged_within(self._book.state(), now, RETUNE_DAYS),
            reflections,
            self._loaded.config,
            self._affordable_seconds,
        )
        return Retuned(
            days=RETUNE_DAYS,
            answers=tuple(
                RetuneAnswer(
                    question=each.question,
                    answer=each.answer,
                    figures=dict(each.figures),
                    advice=each.advice,
                )
                for each in found
            ),
        )

    # --- inside ----------------------------------------------------------------------------------

    def _before(self, now: Millis) -> Pooled:
        before = _the_week_before(self._book.state(), now)
        return pooled_view(pooled(before, WINDOWS_DAYS), self._loaded.config.M_min)

    def _forecast(self, pool: Pooled, now: Millis) -> Forecast:
        """At the pace of the days since the first surface, so that a new home is not slow."""
        if pool.rate is None:
            return Forecast(points=POINTS, surfaces_per_day=None, days=None)
        those = judged_within(self._book.state(), now, pool.days)
        lived = min(pool.days, max(1.0, (now - those[0].at) / DAY))
        a_day = (pool.acted + pool.acked + pool.ignored) / lived
        said = forecast(pool.rate, a_day, POINTS / 100)
        return Forecast(points=POINTS, surfaces_per_day=said.per_day, days=said.days)

    def _rules(self) -> FitnessRules:
        config = self._loaded.config
        return FitnessRules(
            window_seconds=config.window_seconds,
            horizon_seconds=config.horizon_seconds,
            least_sample=config.M_min,
            least_reflections=config.min_reflections_for_valid_window,
            repeat_weight=config.weights.repeat,
            cooldown_weight=config.weights.cooldown,
            concern_weight=config.weights.concern,
            config_sha256=self._loaded.sha256,
        )


def _the_week_before(state: Engagement, now: Millis) -> list[Surface]:
    """What was brought from 14 to 7 days ago."""
    later = {each.surface_id for each in judged_within(state, now, WINDOWS_DAYS)}
    both = judged_within(state, now, 2 * WINDOWS_DAYS)
    return [each for each in both if each.surface_id not in later]


def fitness_rows(desk: FitnessDesk) -> tuple[Operation, ...]:
    """The rows of the table. A run that was begun is finished, whoever waits for it."""
    show: Any = desk.show
    return (
        Operation("fitness.show", "How useful it was", args.FitnessShow, Fitness, show, reads=True),
        Operation(
            "fitness.run",
            "Measure the windows that are due",
            args.FitnessRun,
            Written,
            desk.run,
            cancellable=False,
        ),
        Operation(
            "fitness.retune",
            "Do the rules of the measure still fit?",
            Nothing,
            Retuned,
            desk.answers,
            reads=True,
        ),
    )
