"""The gateway's side of the fitness writer and the job, over lives whose clock is set in many ways:
whenever it runs, and whatever it has forgotten meanwhile, it writes what one run at the end would,
and a stranger finds the same numbers.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest

from gnomon.domain.instants import SECOND, Millis, iso
from gnomon.domain.json_value import Fields, Json
from gnomon.domain.ledgers import BODIES, Head, LedgerName, Line
from gnomon.domain.ports import Pipe
from gnomon.domain.records_referee import ClockStepped, FitnessBody, Gap, GatewayStopped
from gnomon.referee.config import Loaded, default_text, parse
from gnomon.referee.fitness_tail import FitnessTail
from gnomon.referee.windows import Evidence, Stretches, plan
from gnomon.referee.writer_main import Writer, WriterArgument
from gnomon.referee.writing import READ, FitnessWriting
from gnomon.testing.ledger import MemoryLedger
from gnomon.trust.jail import Grants
from tests.properties.test_referee import do_something, live_through_something, plain, said
from tests.recompute_fitness import recompute
from tests.referee_kit import Story

DAY = 86_400
CONFIG = json.loads(default_text()) | {"horizon_seconds": 6 * 3600}
Setting = Callable[[Story, Random], None]


def steps(story: Story, rng: Random) -> None:
    story.step(rng.choice((400, 3600, 50_000, -400, -3600, -20_000)))


def is_set_while_stopped(story: Story, rng: Random) -> None:
    story.end()
    story.clock.advance(rng.choice((5, 400, 4000)))
    steps(story, rng)
    story.begin(cause="orderly", gap_seconds=rng.choice((5, 400)))


def flaps(story: Story, rng: Random) -> None:
    """Back and forth, with hardly a line between."""
    for _ in range(rng.randrange(2, 6)):
        by = rng.choice((400, 3600, 7200, 50_000))
        story.step(-by)
        if rng.random() < 0.4:
            story.tick(1, every=20)
        story.step(by)


def is_set_back_less_than_nothing_was_written(story: Story, rng: Random) -> None:
    story.clock.advance(rng.choice((3000, 9000, 30_000)))
    story.step(-rng.choice((400, 2000, 8000)))


def shows_another_day_for_a_while(story: Story, rng: Random) -> None:
    by = rng.choice((DAY, 3 * DAY, 365 * DAY))
    story.step(by)
    for _ in range(rng.randrange(5)):
        do_something(story, rng)
    story.clock.advance(rng.choice((0, 4000)))
    story.step(-by)


def is_set_where_no_boot_can_tell(story: Story, rng: Random) -> None:
    story.end()
    story.clock.advance(rng.choice((5, 400, 4000)))
    story.clock.step(rng.choice((-400, -3600, -20_000, -90_000, 3600, 90_000)))
    story.begin(cause="orderly", gap_seconds=rng.choice((5, 400)))


def is_set_back_by_a_crash(story: Story, rng: Random) -> None:
    story.clock.step(rng.choice((-400, -3600, -20_000)))
    story.clock.advance(rng.choice((20, 301, 5000)))
    story.say(GatewayStopped(cause="crash", boot_id="boot", gap_seconds=20))
    story.begin(cause="crash", gap_seconds=20)


def is_noted_late(story: Story, rng: Random) -> None:
    """Lines lie between the step and its note: decisions, and after one forward surfaces too.
    (After one back these would need a race of milliseconds: their writers look at the clocks.)
    """
    before, by = story.now, rng.choice((-400, -3600, -20_000, -90_000, 3600, 90_000))
    story.clock.step(by)
    story.clock.advance(rng.choice((1, 30)))
    for _ in range(rng.randrange(3)):
        story.surface() if by > 0 and rng.random() < 0.5 else story.reflect(1, every=20)
    if by < 0:
        story.stretch.set_back(story.now)
    after = Millis(before + by * SECOND)
    story.say(ClockStepped(step_seconds=by, wall_before=iso(before), wall_after=iso(after)))


def flaps_unseen(story: Story, rng: Random) -> None:
    """Back and forth between two looks, while the resident decides."""
    by = rng.choice((400, 3600, 7200, 20_000))
    story.clock.step(-by)
    story.tick(rng.randrange(3), every=10)
    story.clock.step(by)


def is_corrected_by_minutes(story: Story, rng: Random) -> None:
    story.clock.step(rng.choice((-250, -100, -20, 200, 100)))


SETTINGS: tuple[Setting, ...] = (
    steps,
    is_set_while_stopped,
    flaps,
    is_set_back_less_than_nothing_was_written,
    shows_another_day_for_a_while,
    is_corrected_by_minutes,
    is_set_where_no_boot_can_tell,
    is_set_back_by_a_crash,
    is_noted_late,
    flaps_unseen,
)


def does_anything(story: Story, rng: Random) -> None:
    rng.choice(SETTINGS)(story, rng)


def life(seed: int, setting: Setting) -> Iterator[Story]:
    """After each thing that happened."""
    rng = Random(seed)
    story = Story(config=parse(json.dumps(CONFIG)).config)
    story.begin()
    for _ in range(130):
        if rng.random() < 0.07:
            setting(story, rng)
        if rng.random() < 0.3:
            live_through_something(story, rng)
        else:
            do_something(story, rng)
        story.sweep()
        yield story


class Reader:
    """A ledger in memory, as the job reads a file."""

    def __init__(self, ledger: MemoryLedger) -> None:
        self._ledger = ledger

    def read(self, *, after_seq: int = 0, until: Head | None = None) -> Iterator[Line]:
        return self._ledger.read(after_seq=after_seq, until=until)

    def segment_starts(self, until: Head) -> tuple[int, ...]:
        assert until == self._ledger.head
        return self._ledger.segment_starts


class Job:
    """The writer's process without one."""

    pid = 0

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    @property
    def peer(self) -> Pipe:
        return self

    async def call(self, op: str, args: Fields, *, on_part: object = None) -> Json:
        return await self._writer.answer(op, args, lambda _: None)

    async def wait(self) -> int:
        return 0

    async def stop(self, grace: float) -> None: ...


class Gateway:
    """`written` is what it appended. `forgets` as a new life of it does."""

    def __init__(self, story: Story, loaded: Loaded) -> None:
        others: tuple[LedgerName, ...] = ("artifact-ledger", "fitness-ledger")
        self._ledgers: dict[LedgerName, MemoryLedger] = {
            "decision-ledger": story.decisions,
            "engagement-ledger": story.engagement,
            **{n: MemoryLedger(n, BODIES[n], story.clock, story.stretch) for n in others},
        }
        self._loaded = loaded
        self.forgets()

    def forgets(self) -> None:
        nowhere: dict[LedgerName, Path] = {name: Path(name) for name in self._ledgers}
        self.writing = FitnessWriting(self._ledgers, nowhere, self._loaded, self._start)

    async def _start(self, argument: Fields, grants: Grants) -> Job:
        writer = Writer(WriterArgument(paths={}, config=self._loaded.text))
        writer._readers = {name: Reader(self._ledgers[name]) for name in READ}  # type: ignore[misc]
        return Job(writer)

    @property
    def written(self) -> list[FitnessBody]:
        lines = self._ledgers["fitness-ledger"].lines
        return [line.body for line in lines]  # type: ignore[misc]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "setting", [*SETTINGS, does_anything], ids=lambda setting: setting.__name__
)
async def test_what_is_written_is_a_function_of_its_inputs_when_the_clock(
    setting: Setting, seed: int
) -> None:
    loaded, rng = parse(json.dumps(CONFIG)), Random(seed)
    gateway: Gateway | None = None
    story = Story()
    for story in life(seed, setting):
        gateway = gateway or Gateway(story, loaded)
        if gateway.writing.is_due(story.now):
            await gateway.writing.run(story.now)
        if rng.random() < 0.1:
            gateway.forgets()
    assert gateway is not None
    story.tick()  # the last that was set shows in a line
    await gateway.writing.run(story.now)
    assert len(gateway.written) > 5
    assert gateway.written == at_once(story, loaded)
    decisions, engagement = ([plain(line) for line in of.lines] for of in both(story))
    assert recompute(decisions, engagement, said(gateway.written), CONFIG) == []


async def test_what_was_brought_in_an_hour_without_a_decision_counts_in_no_later_pass() -> None:
    """The hour is passed three times; only the second and the third leave decisions."""
    loaded, story = parse(json.dumps(CONFIG)), Story()
    gateway = Gateway(story, loaded)
    story.begin()
    story.tick(30)
    story.clock.advance(2.3 * 3600)
    story.answer(story.surface(), "acted")
    for _ in range(2):
        story.step(-2.4 * 3600)
        story.tick(int(2.4 * 30))
        await gateway.writing.run(story.now)
        gateway.forgets()
        story.tick(30)
        await gateway.writing.run(story.now)
        gateway.forgets()
    last = {body.window_start: body for body in gateway.written if not isinstance(body, Gap)}
    assert sum(body.tick_count for body in last.values()) > 150
    assert [body.engagement_counts.acted for body in last.values()] == [0] * len(last)
    assert gateway.written == at_once(story, loaded)


def both(story: Story) -> tuple[MemoryLedger, MemoryLedger]:
    return story.decisions, story.engagement


def at_once(story: Story, loaded: Loaded) -> list[FitnessBody]:
    """All of it, by one run that knows everything."""
    evidence = Evidence(
        decisions=story.decisions.lines,
        engagement=story.engagement.lines,
        stretches=Stretches(*(of.segment_starts for of in both(story))),
    )
    return list(plan(FitnessTail(), evidence, loaded, story.now))
