"""Commands that sentences name, with what they need to mean the same home."""

import pytest

from gnomon.domain.commands import completed
from gnomon.domain.instants import in_words

OPTIONS = " --home '/h x'"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Start it: gnomon up", "Start it: gnomon --home '/h x' up"),
        (
            "`gnomon open` or `gnomon folders add ~/x`",
            "`gnomon --home '/h x' open` or `gnomon --home '/h x' folders add ~/x`",
        ),
        ("`gnomon down --home /demo` ends it", None),
        ("`gnomon up --help` lists what there is", None),
        ("codex: “run gnomon report now”", None),
        ("Gnomon is paused; cd /srv/gnomon and go", None),
        ("/opt/gnomon status", None),
    ],
)
def test_a_command_gets_the_options_and_nothing_else_does(text: str, said: str | None) -> None:
    assert completed(text, OPTIONS) == (said or text)
    assert completed(text, "") == text


def test_an_instant_is_told_to_the_minute_and_words_stay() -> None:
    assert in_words("2026-12-03T19:27:07.447Z") == "2026-12-03 19:27 UTC"
    assert in_words("you resume it") == "you resume it"
