"""Wrong usage, told without the framework's own words."""

import pytest

from gnomon.cli.usage_words import did_you_mean, plain_usage


@pytest.mark.parametrize(
    ("framework", "said"),
    [
        ("", ""),
        ("No such option: --foo", "No such option: --foo."),
        ("Missing argument 'ID'.", "Missing argument 'ID'."),
        (
            "Invalid value for '--lines': Input should be greater than or equal to 1",
            "--lines is at least 1.",
        ),
        (
            "Invalid value for '--days': Input should be less than or equal to 3660.",
            "--days is at most 3660.",
        ),
        (
            "Invalid value for '--lines': Input should be a valid integer, unable to parse",
            "--lines takes a whole number.",
        ),
        (
            "Invalid value for '--kind': Value error, 'pendin' is not one of 'a', 'pending'.",
            "--kind cannot be 'pendin'; it is one of: a, pending. Did you mean pending?",
        ),
        ("Invalid value for 'X': It is odd", "X: It is odd."),
    ],
)
def test_wrong_usage_is_told_in_our_words(framework: str, said: str) -> None:
    assert plain_usage(framework) == said


def test_only_what_is_near_is_suggested() -> None:
    assert did_you_mean("zzz", ["pending"]) == ""
