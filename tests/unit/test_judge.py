"""The verdict on a change: what is evidence, what decides, and what stands before the numbers.

The first five are seed 1, section 8.3, and the two of its phase 4, by name.
"""

import msgspec
import pytest

from gnomon.domain.instants import DAY, Millis
from gnomon.domain.records_change import Direction, Judgment, Signal
from gnomon.domain.records_referee import Gap
from gnomon.referee.config import FitnessConfig, Loaded
from gnomon.referee.judge import Holds, Windows, is_enough
from tests.judge_kit import (
    CANDIDATE,
    CONFIG,
    HEAD,
    OLD,
    Trial,
    a_change,
    amended,
    dev,
    predicting,
)
from tests.referee_kit import MORNING, hour

K = 10
BASE = "inner-loop-prompt.000004-0001-aaaaaaaaaaaa.md"


def both(
    old: tuple[float, float], new: tuple[float, float], config: FitnessConfig | None = None
) -> Trial:
    """K windows a side, each with (stall, engagement)."""
    trial = Trial(config=config or FitnessConfig())
    trial.before([old[0]] * K, [old[1]] * K)
    return trial.after([new[0]] * K, [new[1]] * K)


def stall_only(old: float, new: float, config: FitnessConfig | None = None) -> Trial:
    """K windows a side with a composite alone, and the deadline over."""
    trial = Trial(config=config or FitnessConfig())
    return trial.before([old] * K).after([new] * K).days(7)


# --- seed 1, section 8.3 -----------------------------------------------------------------------


def test_mean_new_strictly_less_than_mean_old_minus_delta_is_kept():
    said = stall_only(0.40, 0.34).said()
    assert said is not None
    assert (said.outcome, said.basis, said.delta.stall) == ("kept", "stall_only", -0.06)
    assert (said.stall.before, said.stall.after) == (0.4, 0.34)
    assert said.restored_version is None


def test_mean_new_strictly_greater_than_mean_old_plus_delta_is_rolled_back_with_restoration():
    said = stall_only(0.34, 0.40).said()
    assert said is not None
    assert (said.outcome, said.delta.stall) == ("rolled_back", 0.06)
    assert said.restored_version == BASE


@pytest.mark.parametrize("new", [0.36, 0.35, 0.40, 0.44])
def test_borderline_within_delta_is_rolled_back(new: float):
    said = stall_only(0.40, new).said()
    assert said is not None
    assert said.outcome == "rolled_back"
    assert "stall-not-better" in said.reasons


@pytest.mark.parametrize(
    ("old", "new", "reasons"),
    [
        ((0.4, 0.6), (0.2, 0.5), ("engagement-not-better",)),
        ((0.4, 0.5), (0.43, 0.7), ("stall-worse",)),
        ((0.4, 0.5), (0.5, 0.4), ("engagement-not-better", "stall-worse")),
    ],
)
def test_engagement_and_stall_disagree_is_rolled_back(
    old: tuple[float, float], new: tuple[float, float], reasons: tuple[str, ...]
):
    said = both(old, new).said()
    assert said is not None
    assert (said.outcome, said.basis, said.reasons) == ("rolled_back", "both", reasons)


def test_insufficient_post_windows_is_pending_and_the_judge_reruns_later():
    trial = Trial().before([0.4] * K, [0.5] * K).after([0.3] * (K - 1), [0.7] * (K - 1))
    first = trial.said()
    assert first is not None
    assert first.outcome == "pending"
    assert first.reasons == ("stall-missing", "engagement-missing")
    assert first.restored_version is None
    assert trial.said(earlier=first) is None
    trial.after([0.3], [0.7])
    second = trial.said(earlier=first)
    assert second is not None
    assert second.outcome == "kept"


def test_the_judge_identifies_an_improvement():
    said = both((0.4, 0.5), (0.41, 0.56)).said()
    assert said is not None
    assert (said.outcome, said.basis, said.reasons) == ("kept", "both", ("engagement-better",))
    assert (said.delta.stall, said.delta.engagement) == (0.01, 0.06)


def test_the_judge_identifies_a_regression():
    said = both((0.4, 0.5), (0.6, 0.3)).said()
    assert said is not None
    assert (said.outcome, said.restored_version) == ("rolled_back", BASE)


# --- ties ----------------------------------------------------------------------------------------


def test_a_tie_rolls_back_also_where_delta_is_zero():
    assert both((0.4, 0.5), (0.4, 0.5)).weighed().outcome == "rolled_back"
    trial = Trial(config=dev()).before([0.4] * 2, [0.5] * 2).after([0.4] * 2, [0.5] * 2)
    assert trial.weighed().outcome == "rolled_back"
    trial = Trial(config=dev()).before([0.4] * 2).after([0.4] * 2).days(7)
    assert trial.weighed().outcome == "rolled_back"


def test_a_difference_of_exactly_delta_is_a_tie():
    assert both((0.4, 0.5), (0.4, 0.55)).weighed().outcome == "rolled_back"
    assert stall_only(0.40, 0.35).weighed().outcome == "rolled_back"


def test_stall_may_be_worse_by_epsilon_and_no_more():
    assert both((0.4, 0.5), (0.42, 0.6)).weighed().outcome == "kept"
    assert both((0.4, 0.5), (0.420001, 0.6)).weighed().outcome == "rolled_back"


def test_dev_mode_judges_by_two_windows_and_any_strict_improvement():
    trial = Trial(config=dev()).before([0.4] * 2, [0.5] * 2).after([0.4], [0.51])
    assert trial.weighed().outcome == "pending"
    assert trial.after([0.4], [0.51]).weighed().outcome == "kept"


# --- what is evidence ----------------------------------------------------------------------------


def test_null_is_never_zero():
    trial = Trial().before([0.3] * K, [0.5] * K)
    trial.after([None] * 50, [None] * 50)
    assert trial.weighed().outcome == "pending"
    assert trial.weighed().stall.after is None
    trial.after([0.29] * K, [0.49] * K)
    said = trial.weighed()
    assert (said.stall.after, said.engagement.after) == (0.29, 0.49)


def test_a_mixed_window_is_no_evidence():
    trial = Trial().before([0.4] * K, [0.5] * K)
    trial.after([0.1] * K, [0.9] * K, mixed=True)
    said = trial.weighed()
    assert (said.outcome, said.stall.windows_after) == ("pending", ())
    trial = Trial().before([0.9] * K, [0.1] * K, mixed=True).before([0.4] * K, [0.5] * K)
    assert trial.after([0.4] * K, [0.6] * K).weighed().stall.before == 0.4


def test_provisional_engagement_is_no_evidence():
    trial = Trial().before([0.4] * K, [0.5] * K)
    trial.after([0.4] * K, [0.9] * K, mature=False)
    assert trial.weighed().outcome == "pending"
    assert trial.weighed().engagement.after is None
    for window in trial.measured()[-K:]:
        trial.write(amended(window, mature=True, engagement_rate=0.4))
    said = trial.weighed()
    assert (said.engagement.after, said.outcome) == (0.4, "rolled_back")


def test_a_window_that_is_not_mature_holds_back_those_after_it():
    trial = Trial().before([0.4] * K, [0.5] * K)
    trial.after([0.4], [0.1], mature=False)
    late = trial.measured()[-1]
    trial.after([0.4] * K, [1.0] * K)
    said = trial.weighed()
    assert (said.outcome, said.engagement.windows_after) == ("pending", ())
    trial.write(amended(late, mature=True))
    said = trial.weighed()
    assert (said.outcome, said.engagement.after) == ("kept", 0.91)


def test_each_metric_is_compared_over_its_own_valid_windows():
    trial = Trial()
    trial.before([0.4] * K, [None] * K).before([None] * K, [0.5] * K)
    trial.after([0.3, None] * K, [None, 0.7] * K)
    said = trial.weighed()
    assert (said.outcome, said.basis) == ("kept", "both")
    assert said.stall.windows_before == tuple(hour(n) for n in range(K))
    assert said.engagement.windows_before == tuple(hour(n) for n in range(K, 2 * K))
    assert not set(said.stall.windows_after) & set(said.engagement.windows_after)


def test_the_baseline_is_the_incumbents_last_windows_and_the_candidates_first():
    trial = Trial().before([0.9] * 5, [0.1] * 5).before([0.4] * K, [0.5] * K)
    trial.after([0.3] * K, [0.7] * K).after([0.9] * 5, [0.1] * 5)
    said = trial.weighed()
    assert (said.stall.before, said.stall.after) == (0.4, 0.3)
    assert said.stall.windows_before[0] == hour(5)


def test_another_version_with_the_parents_files_is_the_incumbent_too():
    trial = Trial().before([0.4] * K, [0.5] * K, version="000002-aaaaaaaaaaaa")
    trial.before([0.9] * 3, [0.1] * 3, version="000003-dddddddddddd")
    said = trial.after([0.4] * K, [0.6] * K).weighed()
    assert (said.outcome, said.stall.before) == ("kept", 0.4)


def test_the_parents_files_after_the_candidate_are_not_the_incumbent():
    trial = Trial().before([0.4] * (K - 1), [0.5] * (K - 1)).after([0.3] * K, [0.6] * K)
    trial.hour(0.1, 0.9, version="000006-aaaaaaaaaaaa")
    assert trial.weighed().stall.before is None


def test_numbers_made_by_other_rules_are_no_evidence():
    trial = Trial().before([0.9] * K, [0.1] * K, config="d" * 64)
    trial.before([0.4] * (K - 1), [0.5] * (K - 1)).after([0.3] * K, [0.6] * K)
    assert trial.weighed().stall.before is None
    trial.write(amended(trial.measured()[0], config_sha256=CONFIG))
    assert trial.weighed().stall.before is None


def test_a_window_whose_first_line_was_not_read_is_not_known_whole():
    trial = Trial().before([0.4] * K, [0.5] * K).after([0.3] * K, [0.6] * K)
    trial.write(amended(trial.measured()[0]))
    windows = Windows(trial.case)
    for line in reversed(trial.ledger.lines[1:]):
        windows.take(line)
    assert len(list(windows.before())) == K - 1
    assert not is_enough(windows, trial.config, waits=False)
    windows.take(trial.ledger.lines[0])
    assert is_enough(windows, trial.config, waits=False)


def test_a_window_that_names_no_version_is_no_evidence():
    trial = Trial().before([0.4] * K, [0.5] * K)
    trial.write(amended(trial.measured()[0], scaffold_version=None))
    assert len(list(trial.windows().before())) == K - 1


def test_without_the_parents_version_there_is_no_baseline():
    trial = both((0.4, 0.5), (0.3, 0.7))
    trial.base = None
    assert trial.weighed().outcome == "pending"
    assert trial.days(7).weighed().outcome == "inconclusive"


# --- the deadline -------------------------------------------------------------------------------


def test_before_the_deadline_stall_alone_decides_nothing():
    trial = Trial().before([0.4] * K).after([0.2] * K)
    assert trial.weighed().reasons == ("engagement-missing",)
    assert trial.days(6.5).weighed().outcome == "pending"
    said = trial.days(0.1).weighed()
    assert (said.outcome, said.basis) == ("kept", "stall_only")
    assert said.reasons == ("stall-better", "engagement-missing")


def test_neither_by_the_deadline_is_inconclusive_and_rolled_back():
    said = Trial().before([0.4] * K).after([None] * 20).days(7).weighed()
    assert (said.outcome, said.basis, said.restored_version) == ("inconclusive", None, BASE)


def test_a_deadline_may_be_a_fraction_of_a_day():
    trial = Trial(config=FitnessConfig(deadline_days=0.5)).before([0.4] * K).after([0.2] * 11)
    assert trial.weighed().outcome == "pending"
    assert trial.after([0.2]).weighed().outcome == "kept"


def test_a_year_that_was_set_right_holds_nothing_up():
    trial = Trial().before([0.4] * K).after([0.2] * K)
    trial.watched_at = Millis(MORNING + 365 * DAY)
    assert trial.weighed().outcome == "pending"
    assert trial.days(7).weighed().outcome == "kept"
    nothing_yet = Trial().before([0.4] * K)
    nothing_yet.watched_at = Millis(MORNING + 365 * DAY)
    assert nothing_yet.days(30).weighed().outcome == "pending"


# --- what stands before the numbers --------------------------------------------------------------


def holding(version: str, target: str | None) -> Holds:
    return Holds(version=version, target_sha256=target)


def test_a_human_edit_of_the_target_voids_and_nothing_is_restored_over_it():
    trial = both((0.4, 0.5), (0.3, 0.9))
    for edited in ("e" * 64, None, trial.change.base_sha256):
        said = trial.said(holds=holding("000006-eeeeeeeeeeee", edited))
        assert said is not None
        assert (said.outcome, said.reasons) == ("voided", ("target-edited",))
        assert (said.restored_version, said.basis, said.delta.stall) == (None, None, None)
        assert said.prediction_held is None


def test_an_edit_that_is_not_in_force_yet_voids_too():
    said = both((0.4, 0.5), (0.3, 0.9)).weighed(holds=holding(CANDIDATE, "e" * 64))
    assert (said.outcome, said.restored_version) == ("voided", None)


def test_an_edit_of_another_file_voids_and_the_parent_is_restored():
    trial = both((0.4, 0.5), (0.3, 0.9))
    held = holding("000006-eeeeeeeeeeee", trial.change.candidate_sha256)
    said = trial.weighed(holds=held)
    assert (said.outcome, said.reasons) == ("voided", ("scaffold-edited",))
    assert said.restored_version == BASE


def test_another_fitness_config_voids():
    trial = both((0.4, 0.5), (0.3, 0.9))
    said = trial.weighed(loaded=Loaded(FitnessConfig(delta=0), "", "d" * 64))
    assert (said.outcome, said.reasons) == ("voided", ("config-changed",))
    assert (said.restored_version, said.config_sha256) == (BASE, "d" * 64)


def test_below_the_length_floor_it_is_rolled_back_whatever_the_numbers_say():
    short = "Reflect. " * 20
    trial = both((0.4, 0.5), (0.1, 0.9))
    trial.change = a_change(candidate=short)
    said = trial.weighed()
    assert (said.outcome, said.reasons) == ("rolled_back", ("below-length-floor",))
    assert (said.basis, said.delta.engagement, said.restored_version) == (None, 0.4, BASE)
    trial = Trial(change=a_change(candidate=short)).before([0.4] * K).after([])
    assert trial.weighed().outcome == "rolled_back", "at once: no number can make it good"


def test_a_change_that_changes_nothing_is_not_kept_by_chance():
    trial = both((0.4, 0.5), (0.1, 0.9))
    trial.change = a_change(candidate=OLD)
    assert trial.weighed().reasons == ("changes-nothing",)


def test_a_rule_that_is_not_there_keeps_nothing():
    said = both((0.4, 0.5), (0.1, 0.9), FitnessConfig(rule="bayes")).weighed()
    assert (said.outcome, said.reasons, said.rule) == ("inconclusive", ("rule-unknown",), "bayes")
    assert said.restored_version == BASE


# --- the prediction ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("signal", "direction", "held"),
    [
        ("stall", "down", True),
        ("stall", "up", False),
        ("engagement", "up", False),
        ("engagement", "down", True),
    ],
)
def test_whether_the_prediction_held_is_told_with_the_verdict(
    signal: Signal, direction: Direction, held: bool
):
    trial = both((0.4, 0.5), (0.3, 0.4))
    trial.change = predicting(signal, direction)
    said = trial.weighed()
    assert (said.outcome, said.prediction_held) == ("rolled_back", held)


def test_a_prediction_that_cannot_be_told_is_null():
    trial = stall_only(0.4, 0.3)
    trial.change = predicting("engagement", "up")
    assert (trial.weighed().outcome, trial.weighed().prediction_held) == ("kept", None)
    trial.change = predicting("stall", "down")
    assert trial.weighed().prediction_held is True
    assert both((0.4, 0.5), (0.3, 0.7)).weighed().prediction_held is None
    early = Trial(change=predicting("stall", "down")).before([0.4] * K).after([0.2] * K)
    assert (early.weighed().outcome, early.weighed().prediction_held) == ("pending", None)


# --- once ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("outcome", ["kept", "rolled_back", "inconclusive", "voided"])
def test_a_verdict_is_reached_once(outcome: str):
    trial = both((0.4, 0.5), (0.3, 0.7))
    first = trial.said()
    assert first is not None
    standing = msgspec.structs.replace(first, outcome=outcome)
    assert trial.said(earlier=standing) is None
    held = holding("000009-eeeeeeeeeeee", None)
    assert trial.said(earlier=standing, holds=held) is None


def test_pending_is_noted_once_and_a_verdict_follows_it():
    trial = Trial().before([0.4] * K, [0.5] * K).after([])
    noted = trial.said()
    assert isinstance(noted, Judgment)
    assert (noted.outcome, noted.fitness_head) == ("pending", HEAD)
    for _ in range(K - 1):
        trial.after([0.4], [0.6])
        assert trial.said(earlier=noted) is None
    trial.after([0.4], [0.6])
    verdict = trial.said(earlier=noted)
    assert verdict is not None
    assert verdict.outcome == "kept"


def test_gaps_say_nothing():
    trial = both((0.4, 0.5), (0.3, 0.7))
    whole = trial.weighed()
    trial.write(
        Gap(
            window_start=hour(90),
            window_end=hour(95),
            window_seconds=5 * 3600,
            config_sha256=CONFIG,
            inputs={},
        )
    )
    assert trial.weighed() == whole
