import msgspec

from gnomon.cli.line import Line
from gnomon.cli.render_refine import enabled_lines, readiness_lines
from gnomon.domain.views_change import Readiness

READY = Readiness(
    ready=True,
    enabled=True,
    dev_mode=False,
    codes=(),
    reasons=(),
    next_at="2026-05-24T18:00:00.000Z",
    refused_calls=0,
)


def words(lines: list[Line]) -> list[str]:
    return [line.text for line in lines]


def test_it_says_when_it_is_next_due() -> None:
    assert words(readiness_lines(READY)) == [
        "It may propose edits to its instructions. It is next due 2026-05-24 18:00 UTC."
    ]
    never = msgspec.structs.replace(READY, next_at=None)
    assert words(readiness_lines(never)) == ["It may propose edits to its instructions."]


def test_it_says_all_that_is_missing_and_what_was_refused() -> None:
    missing = msgspec.structs.replace(
        READY, ready=False, reasons=("One.", "Two.\x1b[2J"), dev_mode=True, refused_calls=2
    )
    said = words(readiness_lines(missing))
    assert said[0].startswith("DEV MODE")
    assert said[1:3] == ["It proposes no edits to its instructions yet:", "  One."]
    assert said[-1] == "Refused: 2 calls beyond its four tools."


def test_the_operators_word_is_noted() -> None:
    assert words(enabled_lines(READY))[0] == "Noted: the number fits what you see."
