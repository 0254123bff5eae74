"""The learning benchmark's world counts as the fitness writer counts, and judges as the judge."""

from collections.abc import Iterable
from random import Random

import pytest

from bench.learning.judging import Trial, Version
from bench.learning.rules import EVERYTHING, ONE_WINDOW, SEED, Compared
from bench.learning.windows import counted
from bench.learning.world import BEARABLE, BUSY, HORIZON, Hour, Operator, Pace, World
from gnomon.domain.instants import HOUR, Millis
from gnomon.domain.ledgers import BODIES
from gnomon.domain.records import Tick
from gnomon.domain.records_change import ChangeStep
from gnomon.referee.config import FitnessConfig
from gnomon.referee.fitness_tail import FitnessTail
from gnomon.referee.judge import Case, Windows
from gnomon.referee.rules import Evidence, WindowFacts
from gnomon.testing.clock import FakeClock
from gnomon.testing.ledger import MemoryLedger
from tests.judge_kit import CONFIG, a_change
from tests.referee_kit import V1, V2, Story, at_once, reflection

SMALL = FitnessConfig(k_windows=4)
HOURS, CHANGES_AT = 56, 20
OFTEN = Pace("often, by day", per_hour=5.0, wakes=7, sleeps=23)


class Written:
    """A lived world told to real ledgers, minute by minute, with its real fitness-ledger."""

    def __init__(self, at: int) -> None:
        self.story = Story(clock=FakeClock(Millis(at * HOUR)), config=SMALL)
        self.ledger = MemoryLedger("fitness-ledger", BODIES["fitness-ledger"], self.story.clock)
        self._tail = FitnessTail()
        self._acts: list[tuple[int, str]] = []
        self._awake_minutes = 0
        self.story.begin()

    def tell(self, hour: Hour, changes_to: str = "") -> None:
        """One hour; at its half another version comes into force, if one is named."""
        story = self.story
        story.sleep(hour.at * 3600 - story.now / 1000)
        self._reflect(hour)
        for minute in range(60):
            if minute:
                self._minute(hour, minute)
            if minute == 1:
                self._measure()
            if minute == 30 and changes_to:
                story.version = changes_to
                story.decide(Tick(scaffold_version=changes_to))
            story.clock.advance(60)
            self._awake_minutes += 1

    def _minute(self, hour: Hour, minute: int) -> None:
        for surface in hour.surfaces:
            if surface.minute == minute:
                surface_id = self.story.surface()
                if surface.acted_after is not None:
                    self._acts.append((self._awake_minutes + surface.acted_after, surface_id))
        for when, surface_id in list(self._acts):
            if when == self._awake_minutes:
                self._acts.remove((when, surface_id))
                self.story.answer(surface_id, "acted")
        self.story.sweep()

    def _reflect(self, hour: Hour) -> None:
        story = self.story
        story.decide(Tick(scaffold_version=story.version))
        for _ in range(hour.attempts - hour.cooldowns):
            story.attempt()
        for _ in range(hour.cooldowns):
            story.attempt("cooldown")
        every = [f"concern{number}" for number in range(hour.concerns)]
        for number in range(hour.reflections):
            last = number == hour.reflections - 1
            told = every[: hour.lasting] if last else every
            repeated = number < hour.repeats
            story.decide(reflection(repeated=repeated, concerns=told, version=story.version))

    def _measure(self) -> None:
        """What the writer appends a minute after an hour's end."""
        for body in self.story.fitness(tail=self._tail):
            at_once(self.ledger.append(body))

    def windows(self) -> Windows:
        case = Case(
            change=a_change(),
            watched=ChangeStep(
                change_id="chg-1", status="watched", scaffold_version=V2, config_sha256=CONFIG
            ),
            watched_at=Millis(0),
            base_version=None,
            base_scaffold_version=V1,
            floor_tokens=0,
        )
        found = Windows(case)
        for line in self.ledger.lines:
            found.take(line)
        return found


@pytest.mark.parametrize("pace", [BUSY, OFTEN, BEARABLE], ids=lambda pace: pace.name)
def test_the_world_knows_what_the_real_referee_knows_hour_by_hour(pace: Pace) -> None:
    world = World(pace, Random(f"a test of {pace.name}"))
    written = Written(world.at)
    before, after = Version(0.0), Version(0.05)
    trial, ours = Trial(before, after, 0, Compared.by(SEED.rule, SMALL)), None
    for index in range(HOURS):
        hour = world.live(0.0 if index <= CHANGES_AT else 0.05)
        written.tell(hour, changes_to=V2 if index == CHANGES_AT else "")
        # The writer was asked a minute after this hour began: what it knew of those before.
        real = written.windows()
        ours = trial.look(index, 0)
        assert (_known(real.before()), _known(real.after())) == (_known(before), _known(after))
        evidence = Evidence(list(real.before()), list(real.after()), deadline_passed=False)
        judged = SEED.rule(evidence, SMALL)
        assert judged == (ours or judged)
        assert (judged.outcome == "pending") == (ours is None)
        if index != CHANGES_AT:
            (before if index < CHANGES_AT else after).take(index, counted(hour, SMALL))
    assert (ours is None) == (pace is BEARABLE)


def _known(of: Version | Iterable[WindowFacts]) -> tuple[list[object], list[object]]:
    """Start and value of each window that is evidence: of stall, of engagement."""
    facts = [*of.stalls, *of.rates] if isinstance(of, Version) else list(of)
    return (
        [(each.start, each.stall) for each in facts if each.stall is not None],
        [(each.start, each.engagement) for each in facts if each.engagement is not None],
    )


def test_a_machine_asleep_lives_no_hours() -> None:
    world = World(BEARABLE, Random(1))
    hours = [world.live(0.0).at for _ in range(48)]
    assert all(BEARABLE.awake(hour) for hour in hours)
    assert hours[-1] - hours[0] in range(63, 72)


def test_a_surface_is_acted_on_within_its_horizon_and_never_on_a_full_hour() -> None:
    world = World(BUSY, Random(2), Operator(delay_minutes=900.0))
    surfaces = [surface for _ in range(400) for surface in world.live(0.3).surfaces]
    acted = [(minute, after) for minute, after in surfaces if after is not None]
    assert len(acted) > 1_000
    assert all(1 <= minute <= 59 for minute, _ in surfaces)
    assert all(after < HORIZON for _, after in acted)
    assert all((minute + after) % 60 for minute, after in acted)


def test_the_same_luck_meets_a_better_prompt_with_more_acts() -> None:
    world = World(BUSY, Random(3))
    other = world.fork()
    worse = [world.live(-0.2) for _ in range(100)]
    better = [other.live(0.2) for _ in range(100)]

    def acts(hours: list[Hour]) -> int:
        return sum(each.acted_after is not None for hour in hours for each in hour.surfaces)

    assert acts(better) > acts(worse) + 150


def test_keeping_everything_asks_for_no_evidence() -> None:
    assert Trial(Version(0.0), Version(0.0), 0, EVERYTHING).look(0, 0) is not None


def test_one_window_is_the_seeds_rule_in_haste() -> None:
    assert ONE_WINDOW.rule is SEED.rule
    assert ONE_WINDOW.waits_for == 1
