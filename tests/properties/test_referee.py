"""Whatever happens in whatever order: the referee's numbers hold together."""

import json
from collections.abc import Callable
from itertools import pairwise, permutations
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gnomon.domain.canonical import canonical
from gnomon.domain.instants import HOUR, Millis, iso
from gnomon.domain.ledgers import Line
from gnomon.domain.records import Reflection
from gnomon.domain.records_referee import FitnessBody, Gap, OutcomeKind
from gnomon.referee.config import FitnessConfig, default_text
from gnomon.referee.engagement import STRENGTH, Engagement
from gnomon.referee.fitness import window_start
from gnomon.referee.fitness_tail import FitnessTail
from gnomon.referee.pooled import wilson
from gnomon.referee.windows import Stretches, stays
from tests.recompute_fitness import recompute
from tests.referee_kit import Story, standing

WORDS = ("the", "build", "is", "slow", "again", "tests", "flaky", "login", "fails", "docs")


def plain(line: Line) -> dict[str, Any]:
    """A line as its JSON object: what a stranger reads from the file."""
    fields = json.loads(canonical(line.body))
    return fields | {"at": iso(line.at), "seq": line.seq}


def said(bodies: list[FitnessBody]) -> list[dict[str, Any]]:
    return [json.loads(canonical(body)) for body in bodies]


def wild_life(
    seed: int,
    *,
    steps: int = 160,
    horizon: int = 6 * 3600,
    sets_clock: bool = False,
    meanwhile: Callable[[Story], None] = lambda _: None,
) -> Story:
    """A life of some days: reflections, surfaces, answers, stops, crashes, sleep."""
    rng = Random(seed)
    story = Story(config=FitnessConfig(horizon_seconds=horizon))
    story.begin()
    for _ in range(steps):
        if sets_clock and rng.random() < 0.06:
            story.step(rng.choice((400, 3600, 50_000, -400, -3600, -20_000)))
        if rng.random() < 0.3:
            live_through_something(story, rng)
        else:
            do_something(story, rng)
        story.sweep()
        meanwhile(story)
    return story


def live_through_something(story: Story, rng: Random) -> None:
    match rng.randrange(4):
        case 0:
            story.restart(rng.choice((5, 400, 20_000)))
        case 1:
            story.crash(rng.choice((20, 299, 301, 9_000)))
        case 2:
            story.sleep(rng.choice((40, 8 * 3600)))
        case _:
            story.pause(rng.choice((60, 7_000)))


def do_something(story: Story, rng: Random) -> None:
    match rng.randrange(8):
        case 0:
            origin = rng.choice(("model", "model", "rule"))
            story.surface(origin=origin, synthetic=rng.random() < 0.2)
        case 1 | 2:
            answer_something(story, rng)
        case 3:
            story.attempt(rng.choice(("produced", "cooldown", "no-progress", "error")))
        case 4:
            story.version = f"{rng.randrange(1, 4):06d}-aaaaaaaaaaaa"
        case 5:
            story.tick(rng.randrange(1, 20))
        case _:
            for _ in range(rng.randrange(1, 8)):
                concerns = [" ".join(rng.sample(WORDS, rng.randrange(1, 6))) for _ in "ab"]
                pressure = rng.choice(("none", "none", "hold", "rotated"))
                story.reflect(repeated=rng.random() < 0.3, concerns=concerns, pressure=pressure)


def answer_something(story: Story, rng: Random) -> None:
    answerable = [
        each.surface_id
        for each in story.state.open.values()
        if not story.state.is_past(each, story.state.availability.steady(story.now))
    ]
    if answerable:
        story.answer(rng.choice(answerable), rng.choice(("acted", "acked")))


@pytest.mark.parametrize("seed", range(25))
def test_every_number_recomputes_from_the_lines_by_other_code(seed: int) -> None:
    story = wild_life(seed)
    story.tick(40)
    bodies = story.fitness()
    config = json.loads(default_text()) | {"horizon_seconds": 6 * 3600}
    decisions = [plain(line) for line in story.decisions.lines]
    engagement = [plain(line) for line in story.engagement.lines]
    assert len(bodies) > 5
    assert recompute(decisions, engagement, said(bodies), config) == []


@pytest.mark.parametrize("seed", [*range(8), 32, 103, 147, 153, 156])
def test_every_number_recomputes_however_the_clock_is_set(seed: int) -> None:
    story = wild_life(seed, sets_clock=True)
    story.tick(40)
    bodies = story.fitness()
    config = json.loads(default_text()) | {"horizon_seconds": 6 * 3600}
    decisions = [plain(line) for line in story.decisions.lines]
    engagement = [plain(line) for line in story.engagement.lines]
    assert recompute(decisions, engagement, said(bodies), config) == []
    tail = FitnessTail()
    for cut, body in enumerate(bodies):
        handed = msgspec.convert(msgspec.to_builtins(tail), FitnessTail)
        if cut % 5 == seed % 5:
            assert bodies[:cut] + story.fitness(tail=handed) == bodies
        tail.take(body)


@pytest.mark.parametrize("seed", range(8))
def test_what_is_written_does_not_depend_on_when_the_writer_runs_however_the_clock_is_set(
    seed: int,
) -> None:
    tail, written = FitnessTail(), list[FitnessBody]()
    story = wild_life(
        seed, sets_clock=True, meanwhile=lambda story: written.extend(story.fitness(tail=tail))
    )
    assert written == story.fitness()


def test_the_other_code_finds_a_number_that_is_wrong() -> None:
    story = wild_life(1)
    bodies = said(story.fitness())
    [first] = [each for each in bodies if each["kind"] == "window"][:1]
    first["tick_count"] += 1
    config = json.loads(default_text()) | {"horizon_seconds": 6 * 3600}
    decisions = [plain(line) for line in story.decisions.lines]
    engagement = [plain(line) for line in story.engagement.lines]
    [fault] = recompute(decisions, engagement, bodies, config)
    assert "tick_count" in fault


@pytest.mark.parametrize("seed", range(8))
def test_the_writer_may_be_killed_and_called_at_any_time(seed: int) -> None:
    story = wild_life(seed)
    whole = story.fitness()
    rng = Random(seed)
    tail, written = FitnessTail(), list[FitnessBody]()
    moments = sorted(rng.randrange(story.decisions.lines[0].at, story.now) for _ in range(12))
    for now in [*moments, story.now]:
        handed = msgspec.convert(msgspec.to_builtins(tail), FitnessTail)
        due = story.fitness(Millis(now), tail=handed)
        through = due if now == story.now else due[: rng.randrange(len(due) + 1)]
        for body in through:
            tail.take(body)
        tail.settle()
        written += through
    assert written == whole


@pytest.mark.parametrize("seed", range(8))
def test_each_surface_has_exactly_one_standing_outcome_and_a_fold_agrees_with_the_kept(
    seed: int,
) -> None:
    story = wild_life(seed)
    folded = Engagement(story.config).take_all(story.engagement.lines)
    kept = {each.surface_id: each.outcome for each in story.state.surfaces()}
    assert kept == {each.surface_id: each.outcome for each in folded.surfaces()}
    assert len(kept) == story.emitted


@pytest.mark.parametrize("seed", range(8))
def test_a_fold_from_the_middle_agrees_about_the_surfaces_that_it_saw(seed: int) -> None:
    story = wild_life(seed)
    whole = Engagement(story.config).take_all(story.engagement.lines)
    half = len(story.engagement.lines) // 2
    part = Engagement(story.config).take_all(story.engagement.lines[half:])
    for surface in part.surfaces():
        other = whole.find(surface.surface_id)
        assert other is not None
        assert (surface.outcome, surface.down_ms) == (other.outcome, other.down_ms)
        now = story.now
        assert part.open_until(surface, now) == whole.open_until(other, now)


# --- windows partition time --------------------------------------------------------------------


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.integers(1, 9_000), min_size=1, max_size=80))
def test_the_windows_cover_each_reflection_once(pauses: list[int]) -> None:
    story = Story()
    for pause in pauses:
        story.reflect(1, every=pause)
    total = sum(isinstance(line.body, Reflection) for line in story.decisions.lines)
    windows = standing(story.fitness(Millis(story.now + 2 * HOUR))).values()
    assert sum(window.reflection_count for window in windows) == total
    spans = sorted((each.window_start, each.window_end) for each in windows)
    gaps = [
        (body.window_start, body.window_end)
        for body in story.fitness(Millis(story.now + 2 * HOUR))
        if isinstance(body, Gap)
    ]
    edges = sorted([*spans, *gaps])
    assert all(end == start for (_, end), (start, _) in pairwise(edges))


@given(st.integers(0, 2**42), st.sampled_from((60, 3600, 86_400)))
def test_an_instant_lies_in_exactly_one_window(at: int, seconds: int) -> None:
    length = seconds * 1000
    start = window_start(Millis(at), length)
    assert start <= at < start + length
    assert start % length == 0


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 20_000), min_size=1, max_size=40))
def test_stays_are_a_partition_of_the_lines(pauses: list[int]) -> None:
    """A pause that divides by 7 sets the clock back instead."""
    story = Story()
    for pause in pauses:
        story.tick(1, every=pause)
        if pause % 7 == 0:
            story.step(-pause - 3600)
    stretches = Stretches(story.decisions.segment_starts, story.engagement.segment_starts)
    found = list(stays(story.decisions.lines, HOUR, stretches))
    assert sum(stay.tally.ticks for stay in found) == len(pauses)
    entered = [(stay.stretch, stay.tally.start) for stay in found]
    assert entered == sorted(set(entered))
    for stay, following in pairwise(found):
        assert stay.is_last == (stay.stretch < following.stretch)


# --- precedence is a lattice ---------------------------------------------------------------------

ANSWERS: tuple[OutcomeKind, ...] = ("acted", "acked", "acked")


@pytest.mark.parametrize("order", sorted(set(permutations((*ANSWERS, "stop", "nothing")))))
def test_within_the_horizon_the_strongest_stands_in_whatever_order(order: tuple[str, ...]) -> None:
    for length in range(len(order) + 1):
        story = Story()
        story.begin()
        surface = story.surface()
        happened: set[OutcomeKind | None] = {None}
        for event in order[:length]:
            story.clock.advance(600)
            if event == "stop":
                story.restart(400)
                happened.add("system_unavailable")
            elif event in {"acted", "acked"}:
                story.answer(surface, event)  # pyright: ignore[reportArgumentType]
                happened.add(event)  # pyright: ignore[reportArgumentType]
        story.clock.advance(86_400)
        story.sweep()
        happened.add("ignored")
        assert story.standing(surface) == max(happened, key=STRENGTH.__getitem__)


@given(st.integers(0, 60), st.integers(0, 60))
def test_an_interval_holds_the_rate_and_stays_within_0_and_1(acted: int, rest: int) -> None:
    total = acted + rest
    interval = wilson(acted, total)
    if total == 0:
        assert interval is None
        return
    assert interval is not None
    low, high = interval
    assert 0 <= low <= acted / total + 1e-6
    assert acted / total - 1e-6 <= high <= 1
