"""What became of a change is one code, and each surface has one word for it."""

import typing

import msgspec
import pytest

from gnomon.cli.render_changes import STEPS, VERDICTS, WORDS, change_lines, verdict_words
from gnomon.domain.records_change import Basis, ChangeStatus, VerdictOutcome
from gnomon.domain.verdict_codes import VerdictCode, verdict_code
from gnomon.gateway.dashboard.change_words import verdict
from gnomon.gateway.dashboard.labels import read_labels
from gnomon.testing.changes import a_change, a_change_shown, some_changes

LABELS = read_labels()
CODES = typing.get_args(VerdictCode)
OUTCOMES: tuple[VerdictOutcome | None, ...] = (*typing.get_args(VerdictOutcome), None)
BASES: tuple[Basis | None, ...] = (*typing.get_args(Basis), None)


def test_both_surfaces_have_one_word_for_each_code_and_it_is_the_same():
    assert set(WORDS) == set(LABELS.under("verdict")) == set(CODES)
    assert {code: LABELS(f"verdict.{code}").lower() for code in CODES} == WORDS


def test_both_surfaces_tell_a_step_in_the_same_words():
    told = {key: text.lower() for key, text in LABELS.under("change-step").items()}
    judged = {f"judged-{key}": text for key, text in VERDICTS.items()}
    assert told == {**STEPS, **judged}


def test_the_command_line_shows_no_code_of_a_program():
    for change in some_changes():
        lines = [line.text for line in change_lines(a_change_shown(change))]
        text = "\n".join(lines)
        assert "rolled_back" not in text
        assert "not-better" not in text
        assert "engagement should go up" not in text


@pytest.mark.parametrize("status", typing.get_args(ChangeStatus))
def test_the_surfaces_agree_on_whatever_may_have_become_of_a_change(status):
    met = set()
    for outcome in OUTCOMES:
        for basis in BASES:
            for applied_at in ("2026-03-02T08:00:00.000Z", None):
                facts = {"outcome": outcome, "basis": basis, "applied_at": applied_at}
                change = msgspec.structs.replace(a_change("ch-1"), status=status, **facts)
                page = verdict(change)
                assert LABELS(page.key).lower() == verdict_words(change)
                met.add(verdict_code(change))
    ways = {"kept": 2, "reverted": 3, "voided": 2}
    assert len(met) == ways.get(status, 1)
