"""What nobody sees is told by its code; what people write stays as it is."""

import pytest

from gnomon.domain.unseen import is_crowded, unseen_shown


def test_where_joiners_crowd_none_is_looked_at() -> None:
    assert not is_crowded("👩‍🔬" * 5_000)
    assert is_crowded("👩‍🔬" * 5_001)
    assert unseen_shown("👩‍🔬", lambda _: "!", joined=False) == "👩!🔬"


def test_codes_are_forgotten_when_there_are_very_many() -> None:
    many = "".join(map(chr, range(0x4E00, 0x4E00 + 20_500)))
    assert shown(many + "\u200b") == many + "<200b>"


def shown(text: str) -> str:
    return unseen_shown(text, lambda each: f"<{ord(each):x}>")


HIDDEN = (
    *(0x00, 0x0D, 0x1B, 0x7F, 0x9B, 0xAD, 0x34F, 0x61C, 0x115F, 0x180B, 0x180E, 0x200B, 0x200C),
    *(0x200D, 0x200E, 0x2028, 0x2029, 0x202E, 0x2060, 0x2066, 0x2800, 0x3164, 0xD800, 0xE000),
    *(0xFE00, 0xFE0F, 0xFEFF, 0xFFA0, 0xFFFF, 0xE0001, 0xE0041, 0xE0100, 0xF0000),
)


@pytest.mark.parametrize("code", HIDDEN)
def test_each_is_shown_within_a_word(code: int) -> None:
    assert shown(f"ali{chr(code)}ce") == f"ali<{code:x}>ce"


@pytest.mark.parametrize(
    "text",
    [
        "plain",
        "two\n\tlines",
        "Grüße, Ελληνικά, кириллица, 你好, 한국어, かな",
        "👩‍🔬 ❤️ 🏳️‍🌈 👍🏽 1️⃣ ‼️ 🇩🇪 \U0001fae9",
        "می‌خواهم ക്‍ष \u06dd",
        "a\xa0b",
    ],
)
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert shown(text) == text


def test_a_joiner_without_two_to_join_is_shown() -> None:
    assert shown("👩\u200d") == "👩<200d>"
    assert shown("\u200d👩\u200da") == "<200d>👩<200d>a"
    assert shown("👩\u200d\u200d🔬") == "👩<200d><200d>🔬"
    assert shown("م\u200c") == "م<200c>"
