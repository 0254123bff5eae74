"""What the refiner is told: the trajectory with its flags, and the measure without its own."""

from typing import Any

import msgspec

from gnomon.domain.body import Body
from gnomon.domain.instants import HOUR, MINUTE, Millis, iso, parse_iso
from gnomon.domain.ledgers import GENESIS, Line
from gnomon.domain.records import (
    ErrorNoted,
    ExecutiveAttempt,
    Reflection,
    Started,
    Stopped,
    SurfaceDecided,
    Tick,
)
from gnomon.domain.records_change import Delta
from gnomon.domain.records_referee import Amendment, Components, EngagementCounts, Gap, Window
from gnomon.refiner.fitness_view import Past, fitness_view, standing
from gnomon.refiner.readiness import has_number, measured_of
from gnomon.refiner.trajectory import MOST_REFLECTIONS, trajectory

START = parse_iso("2026-03-02T06:00:00Z")


def line(body: Body, at: int = START, seq: int = 1) -> Line:
    return Line(seq=seq, at=Millis(at), schema=1, prev=GENESIS, sha256=GENESIS, body=body)


def reflection(number: int = 1, **more: Any) -> Reflection:
    given: dict[str, Any] = {
        "reflection_no": number,
        "focus": f"the release {number}",
        "desired_action": "observe",
        "summary": "Nothing is new.",
        "concerns": (),
        "active_item": None,
        "raw_signature": "s",
        "repeated": False,
        "repeat_count": 0,
        "pressure": "none",
        "model": "m",
        "seconds": 1.0,
        "tokens_in": 1,
        "tokens_out": 1,
        "scaffold_version": "000001-aaaaaaaaaaaa",
        **more,
    }
    return Reflection(**given)


def told(*bodies: Body, most: int = MOST_REFLECTIONS) -> str:
    lines = [line(body, START + number * MINUTE) for number, body in enumerate(bodies)]
    return trajectory(lines, most)


def tick(reason: str | None = None) -> Tick:
    return Tick(scaffold_version="v", skip_reason=reason)  # type: ignore[arg-type] - a reason


def test_without_lines_nothing_has_happened() -> None:
    assert trajectory([]) == "Nothing has happened yet."


def test_a_life_without_failures_has_no_flags() -> None:
    text = told(
        Started(version="1", mode="full", model="m", scaffold_version="v"), tick(), reflection()
    )
    assert text.splitlines() == [
        (
            "2026-03-02T06:00:00.000Z to 2026-03-02T06:02:00.000Z: 1 ticks, 1 reflections, 0 works "
            "attempted, 0 items brought to the operator."
        ),
        "",
        "Flags, counted beforehand:",
        "none",
        "",
        "Reflections, the newest last:",
        "06:02 | observe | the release 1 | Nothing is new.",
    ]


def test_failures_are_counted_beforehand() -> None:
    cooled = ExecutiveAttempt(action_kind="draft", title="A", query="q", outcome="cooldown")
    stays = "the disk\nis full"
    text = told(
        *(tick(reason) for reason in ("invalid-output", "invalid-output", "model-error", "idle")),
        *(reflection(n, concerns=(stays,)) for n in range(1, 4)),
        reflection(4, concerns=(stays.upper(),), repeated=True, repeat_count=1, pressure="rotated"),
        reflection(5, concerns=(stays, "x"), repeated=True, repeat_count=2, pressure="hold"),
        cooled,
        cooled,
        ExecutiveAttempt(action_kind="draft", title="B", query="q", outcome="no-progress"),
        ExecutiveAttempt(action_kind="draft", title="B", query="q", outcome="error"),
        ErrorNoted(code="tool-not-found", where="x"),
        SurfaceDecided(surface_kind="pending", title="t", origin="model", suppressed=True),
        SurfaceDecided(surface_kind="pending", title="t", origin="model"),
    )
    flags = [row for row in text.splitlines() if row.startswith("! ")]
    assert flags == [
        "! 2 of 5 reflections said the same as the one before, up to 2 times in a row",
        "! 1 times it was held, since it went on repeating itself",
        "! draft 'A' was wanted again too soon, 2 times",
        "! 1 of 4 works brought nothing new",
        "! 1 of 4 works failed",
        "! 2 of 4 ticks: invalid-output",
        "! 1 of 4 ticks: model-error",
        "! error tool-not-found, 1 times",
        "! 1 of 2 items said what had just been said",
        "! a concern stays, 5 reflections by now: 'the disk is full'",
    ]
    assert "| !repeated 2 | !hold" in text
    assert "1 items brought to the operator" in text


def test_a_concern_that_went_away_meanwhile_does_not_stay() -> None:
    bodies = [reflection(n, concerns=("c",) if n != 3 else ()) for n in range(1, 7)]
    assert "none" in told(*bodies)


def test_only_so_many_reflections_are_told_as_are_asked_for() -> None:
    bodies = [reflection(n) for n in range(1, 6)]
    assert told(*bodies, most=2).splitlines()[-2:] == [
        "06:03 | observe | the release 4 | Nothing is new.",
        "06:04 | observe | the release 5 | Nothing is new.",
    ]
    assert "the release" not in told(*bodies, most=0)


# --- the measure --------------------------------------------------------------------------------


def window(hour: int, **more: Any) -> Window:
    start = START + hour * HOUR
    given: dict[str, Any] = {
        "window_start": iso(Millis(start)),
        "window_end": iso(Millis(start + HOUR)),
        "window_seconds": 3600,
        "stall_composite": 0.25,
        "stall_reason": None,
        "components": Components(
            reflection_repeat_rate=0.2,
            executive_cooldown_rate=0.3,
            concern_persistence_rate=0.4,
        ),
        "engagement_rate": None,
        "engagement_reason": "low_sample",
        "engagement_counts": EngagementCounts(acted=1, ignored=1),
        "system_unavailable_count": 0,
        "system_unavailable_seconds": 0,
        "pending": 0,
        "mature": True,
        "rule_counts": EngagementCounts(),
        "synthetic_counts": EngagementCounts(),
        "tick_count": 30,
        "reflection_count": 20,
        "executive_attempt_count": 1,
        "scaffold_version": "000001-aaaaaaaaaaaa",
        "mixed_scaffold": False,
        "config_sha256": GENESIS,
        "inputs": {},
        **more,
    }
    return Window(**given)


def written(*windows: Window | Amendment | Gap) -> list[Line]:
    return [
        line(body, parse_iso(body.window_end) + MINUTE, seq)
        for seq, body in enumerate(windows, start=1)
    ]


def amended(body: Window, **more: Any) -> Amendment:
    return Amendment(**{**msgspec.structs.asdict(body), **more})


def test_the_measure_is_told_by_day_and_by_hour_with_two_digits() -> None:
    first = window(0, stall_composite=0.123456)
    lines = written(
        first,
        window(1, stall_composite=None, components=Components(), mature=False),
        window(24),
    )
    assert fitness_view(lines, (), None).splitlines()[2:] == [
        "By day:",
        (
            "2026-03-02: stall 0.12 (repeats 0.20, cooldowns 0.30, "
            "lasting concerns 0.40), 2 hours; used 1 of 2"
        ),
        (
            "2026-03-03: stall 0.25 (repeats 0.20, cooldowns 0.30, "
            "lasting concerns 0.40), 1 hours; used 1 of 2"
        ),
        "",
        "The last 12 measured hours, stall:",
        "06:00 0.12, 07:00 unknown, 06:00 0.25",
        "",
        "Earlier proposals, the newest last:",
        "none",
    ]


def test_nothing_after_the_activation_of_what_is_unjudged_is_told() -> None:
    first, across, after = window(0), window(1), window(2)
    until = Millis(START + HOUR + 30 * MINUTE)
    late = line(amended(first, stall_composite=0.9), until + 1, 9)
    found = standing([*written(first, across, after), late], until)
    assert found == [first], "neither a window that reaches beyond it nor a line written later"
    assert standing([*written(first, across, after), late], None)[0].stall_composite == 0.9


def test_gaps_and_hours_of_two_instructions_tell_nothing() -> None:
    gap = Gap(
        window_start=iso(START),
        window_end=iso(Millis(START + HOUR)),
        window_seconds=3600,
        config_sha256=GENESIS,
        inputs={},
    )
    assert standing(written(gap, window(1, mixed_scaffold=True)), None) == []
    assert "none" in fitness_view([], (), None)


def test_what_became_of_earlier_proposals_is_told() -> None:
    past = [
        Past(
            target="inner-loop-prompt.md",
            status="reverted",
            outcome="rolled_back",
            basis="both",
            delta=Delta(stall=0.01, engagement=-0.08),
            summary="+1 -1: + Rest more.",
            reason="engagement-not-better",
        ),
        Past(
            target="executive-prompt.md",
            status="refused",
            outcome=None,
            basis=None,
            delta=Delta(),
            summary="+1 -0: + Aim for 0.42.",
            reason="new-number: The edit brings a number.",
        ),
        Past(
            target="executive-prompt.md",
            status="kept",
            outcome="kept",
            basis=None,
            delta=Delta(),
            summary="+1 -0: + Stop.",
            reason=None,
        ),
    ]
    assert fitness_view([], past, None).splitlines()[-3:] == [
        (
            "inner-loop-prompt.md rolled_back (both; stall +0.010, used -0.080; "
            "engagement-not-better): +1 -1: + Rest more."
        ),
        (
            "executive-prompt.md refused (new-number: The edit brings a number.): "
            "+1 -0: + Aim for 0.42."
        ),
        "executive-prompt.md kept: +1 -0: + Stop.",
    ]
    assert len(fitness_view([], past * 10, None).splitlines()) == 8 + 12


def test_what_counts_is_measured_unmixed_and_under_the_same_files() -> None:
    those = [
        window(1),
        window(2, scaffold_version="000007-aaaaaaaaaaaa"),
        window(3, scaffold_version="000002-bbbbbbbbbbbb"),
        window(4, stall_composite=None),
        window(5, mixed_scaffold=True),
        window(6, scaffold_version=None),
    ]
    assert measured_of(written(*those), "000009-aaaaaaaaaaaa", GENESIS) == 2
    later = amended(window(1), mixed_scaffold=True)
    assert measured_of(written(*those, later), "000009-aaaaaaaaaaaa", GENESIS) == 1
    assert measured_of([line(Stopped(reason="x"))], "000009-aaaaaaaaaaaa", GENESIS) == 0
    assert measured_of(written(*those), "000009-aaaaaaaaaaaa", "1" * 64) == 0


def test_there_is_a_number_once_an_item_was_answered_or_a_window_says_something() -> None:
    nothing = window(1, stall_composite=None, engagement_rate=None)
    assert not has_number(written(nothing), 0)
    assert not has_number([line(Stopped(reason="x"))], 0)
    assert has_number(written(nothing), 1)
    assert has_number(written(nothing, window(2)), 0)
    assert has_number(written(window(1, stall_composite=None, engagement_rate=0.5)), 0)
