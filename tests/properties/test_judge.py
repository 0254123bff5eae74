"""Whatever hours a change had, and in whichever order their lines are read: one verdict, once."""

from random import Random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gnomon.domain.instants import DAY, Millis
from gnomon.domain.records_change import Judgment
from gnomon.referee.config import FitnessConfig, Loaded
from gnomon.referee.judge import Holds, Windows, judge, weighed
from tests.judge_kit import CANDIDATE, CONFIG, HEAD, PARENT, Trial, a_change, amended, predicting

QUICK = settings(
    max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
RATES = st.one_of(st.none(), st.integers(0, 20).map(lambda n: n / 20))
VERSIONS = st.sampled_from([PARENT, CANDIDATE, "000006-aaaaaaaaaaaa", "000003-dddddddddddd", ""])
OUTCOMES = {"kept", "rolled_back", "inconclusive", "voided", "pending"}


@st.composite
def hours(draw: st.DrawFn, version: str | None = None) -> dict[str, object]:
    return {
        "stall": draw(RATES),
        "engagement": draw(RATES),
        "version": draw(VERSIONS) if version is None else version,
        "mature": draw(st.integers(0, 5)) > 0,
        "mixed": draw(st.integers(0, 8)) == 0,
        "config": CONFIG if draw(st.integers(0, 8)) else "d" * 64,
    }


@st.composite
def trials(draw: st.DrawFn) -> Trial:
    """Hours before and since, some of them amended later, and some time gone by."""
    config = FitnessConfig(k_windows=draw(st.integers(1, 4)), dev_mode=draw(st.booleans()))
    change = draw(st.sampled_from([a_change(), predicting("stall", "down")]))
    trial = Trial(config=config, change=change)
    for hour in draw(st.lists(hours(PARENT), max_size=8)):
        trial.hour(**hour)  # type: ignore[arg-type]
    trial.after([])
    for hour in draw(st.lists(st.one_of(hours(CANDIDATE), hours()), max_size=8)):
        trial.hour(**hour)  # type: ignore[arg-type]
    for window in trial.measured():
        if draw(st.integers(0, 3)) == 0:
            trial.write(amended(window, engagement_rate=draw(RATES), mature=True))
    return trial.days(draw(st.sampled_from([0, 3, 8])))


def read_in(trial: Trial, rng: Random) -> Windows:
    """The same lines in another order."""
    lines = list(trial.ledger.lines)
    rng.shuffle(lines)
    windows = Windows(trial.case)
    for line in lines:
        windows.take(line)
    return windows


@QUICK
@given(trials(), st.integers(0, 1_000))
def test_the_verdict_does_not_hang_on_the_order_in_which_lines_are_read(
    trial: Trial, seed: int
) -> None:
    windows = read_in(trial, Random(seed))
    now = trial.clock.wall()
    again = weighed(trial.case, trial.holds, windows, trial.loaded, now, HEAD)
    assert again == trial.weighed()


@QUICK
@given(trials())
def test_a_line_that_is_read_twice_counts_once(trial: Trial) -> None:
    windows = trial.windows()
    for line in trial.ledger.lines:
        windows.take(line)
    now = trial.clock.wall()
    assert weighed(trial.case, trial.holds, windows, trial.loaded, now, HEAD) == trial.weighed()


@QUICK
@given(
    trials(),
    st.sampled_from([CANDIDATE, "000006-eeeeeeeeeeee", ""]),
    st.sampled_from(["candidate", "e" * 64, None]),
    st.sampled_from([CONFIG, "d" * 64]),
    st.sampled_from(["seed", "another"]),
)
def test_there_is_always_one_answer_and_it_holds_together(
    trial: Trial, version: str, target: str | None, config: str, rule: str
) -> None:
    sha256 = trial.change.candidate_sha256 if target == "candidate" else target
    loaded = Loaded(FitnessConfig(k_windows=2, rule=rule), "", config)
    said = trial.weighed(holds=Holds(version=version, target_sha256=sha256), loaded=loaded)
    assert said.outcome in OUTCOMES
    assert said.reasons
    disturbed = version != CANDIDATE or target != "candidate" or config != CONFIG
    assert (said.outcome == "voided") == disturbed
    if said.outcome == "kept":
        assert said.basis is not None
        assert said.restored_version is None
    if said.outcome not in ("kept", "pending"):
        assert (said.restored_version is not None) == (target == "candidate")
    if said.basis == "both":
        assert None not in (said.delta.stall, said.delta.engagement)
    if said.basis == "stall_only":
        assert said.delta.engagement is None
    if target != "candidate":
        assert said.restored_version is None, "nobody's text is overwritten"


@QUICK
@given(trials())
def test_asked_again_with_what_it_said_it_says_nothing_new(trial: Trial) -> None:
    ledger: list[Judgment] = []
    for _ in range(12):
        said = trial.said(earlier=ledger[-1] if ledger else None)
        if said is not None:
            ledger.append(said)
        trial.clock.advance(86_400)
    outcomes = [judgment.outcome for judgment in ledger]
    assert outcomes.count("pending") <= 1
    assert "pending" not in outcomes[1:]
    assert len(outcomes) == 1 + ("pending" in outcomes), "the deadline has passed: it has ended"


@QUICK
@given(trials(), st.integers(0, 6))
def test_what_is_kept_is_strictly_better_over_enough_windows(trial: Trial, days: int) -> None:
    now = Millis(trial.clock.wall() + days * DAY)
    said = judge(trial.case, trial.holds, trial.windows(), trial.loaded, now, HEAD, None)
    assert said is not None
    if said.outcome != "kept":
        return
    needed = 2 if trial.config.dev_mode else trial.config.k_windows
    margin = 0.0 if trial.config.dev_mode else trial.config.delta
    if said.basis == "both":
        assert said.delta.engagement is not None
        assert said.delta.engagement > margin
        assert said.delta.stall is not None
        assert said.delta.stall <= trial.config.epsilon
    else:
        assert said.delta.stall is not None
        assert said.delta.stall < -margin
    windows = {window.window_start: window for window in trial.measured()}
    for means in (said.stall, said.engagement):
        if means.after is not None:
            assert len(means.windows_before) == len(means.windows_after) == needed
        assert not any(windows[start].mixed_scaffold for start in means.windows_after)
