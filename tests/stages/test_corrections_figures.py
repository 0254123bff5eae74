"""How good the rules for "corrects" are: measured, printed, and equal to what the docs say."""

import json
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from gnomon.observe.corrections import Situation, correcting_rule
from gnomon.observe.identity import Owners
from gnomon.observe.transcripts.file_fold import FoundTurn
from gnomon.observe.transcripts.reading import Reading

ROOT = Path(__file__).parents[2]
CASES = ROOT / "tests" / "cases"
DOCS = ROOT / "docs" / "corrections.md"
EXPECTED = json.loads((CASES / "transcripts" / "expected.json").read_text("utf-8"))
ELSEWHERE = json.loads((CASES / "transcripts" / "corrected-elsewhere.json").read_text("utf-8"))


@dataclass
class Figures:
    right: int = 0
    wrong: int = 0
    missed: int = 0
    precise: bool = True

    def row(self, name: str) -> str:
        found = self.right + self.wrong
        precision = f"{self.right / found:.2f}" if found and self.precise else "-"
        recall = f"{self.right / (self.right + self.missed):.2f}"
        return f"| {name} | {self.right} | {self.wrong} | {self.missed} | {precision} | {recall} |"


def handed() -> Figures:
    """The labelled cases of the formats that are read. A debatable turn may go either way."""
    figures = Figures()
    for name, facts in EXPECTED.items():
        label = facts.get("corrected_by_hand")
        if label is None:
            continue
        reading = Reading(CASES / "transcripts" / name, Owners())
        found = [each.observation for each in reading.run() if isinstance(each, FoundTurn)]
        said = [
            "(inside the rejected tool_result)" if seen.correction else seen.task
            for seen in found
            if seen.corrected
        ]
        wanted = list(label.get("turns", []))
        for text in said:
            if any(text.startswith(turn[:60]) for turn in wanted):
                figures.right += 1
            elif not any(text.startswith(turn[:60]) for turn in label.get("debatable", [])):
                figures.wrong += 1
        figures.missed += sum(
            not any(text.startswith(turn[:60]) for text in said) for turn in wanted
        )
    return figures


def elsewhere() -> Figures:
    """The corrections that the other formats' cases name (`count_at_least`): recall alone."""
    figures = Figures(precise=False)
    for facts in {json.dumps(each): each for each in ELSEWHERE.values()}.values():
        for turn in facts["corrected_by_hand"].get("turns", []):
            if correcting_rule(turn, Situation(after_work=True)) is None:
                figures.missed += 1
            else:
                figures.right += 1
    return figures


def sentences(name: str) -> Figures:
    figures = Figures()
    for line in (CASES / name).read_text("utf-8").splitlines():
        case = json.loads(line)
        corrects = correcting_rule(case["text"], Situation(after_work=True)) is not None
        figures.right += corrects and case["corrects"]
        figures.wrong += corrects and not case["corrects"]
        figures.missed += case["corrects"] and not corrects
    return figures


def table() -> list[str]:
    return [
        handed().row("handed transcripts"),
        elsewhere().row("handed, formats not read yet"),
        sentences("corrections-seen.jsonl").row("own sentences, rules revised after them"),
        sentences("corrections-unseen.jsonl").row("own sentences, written after the rules"),
    ]


def test_precision_and_recall_are_printed_and_are_what_the_docs_say(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = table()
    with capsys.disabled():
        print("\ncorrections: | cases | right | wrong | missed | precision | recall |")
        print("\n".join(f"corrections: {row}" for row in rows))
    published = re.findall(r"^\|.*\|$", DOCS.read_text("utf-8"), re.MULTILINE)
    assert [row for row in published if re.search(r"\| \d", row)] == rows


def test_the_handed_corrections_are_found_and_nothing_else() -> None:
    figures = handed()
    assert (figures.wrong, figures.missed) == (0, 0)
    assert figures.right == 3


def test_two_judgement_corrections_are_marked_and_make_no_procedure() -> None:
    for text in ("I said prepare it, not do it", "I said: prepare it. Do not do it."):
        assert correcting_rule(text, Situation(after_work=True)) is not None
