"""A planted number is found in every listed encoding, wherever it stands. The check is total."""

import base64
from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.domain.number_words import DIGITS, TEENS, TEN, TENS
from gnomon.refiner.check import TARGETS, HeldAgainst, Refusal, check
from gnomon.refiner.laundering import laundered
from gnomon.refiner.numbers import HEX_WORDS
from gnomon.scaffold.defaults import packaged_defaults

PACKAGED = packaged_defaults()
PARAGRAPHS = PACKAGED["inner-loop-prompt.md"].split("\n\n")[3:6]
PROMPT = "\n\n".join(PARAGRAPHS)


def rate(value: int) -> str:
    """Six decimals, as the ledger writes it."""
    return f"{value / 1_000_000:.6f}"


def in_words(value: int) -> str:
    """An integer below a hundred in English."""
    if value < 20:
        return (*DIGITS, TEN, *TEENS)[value]
    tens, ones = divmod(value, 10)
    return TENS[tens - 2] + (f"-{DIGITS[ones]}" if ones else "")


def in_hex(value: int) -> str:
    said = f"{value:x}"
    return f"0x{said}" if said in HEX_WORDS or (said.isalpha() and len(said) < 4) else said


def spelt(digits: str) -> str:
    return " ".join(DIGITS[int(digit)] for digit in digits)


def roman(value: int) -> str:
    """From 11 to 3999."""
    signs = [(1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC")]
    signs += [(50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")]
    said = ""
    for worth, sign in signs:
        count, value = divmod(value, worth)
        said += sign * count
    return said


ENCODINGS: dict[str, Callable[[int], str]] = {
    "a rate": rate,
    "digits": str,
    "backwards": lambda value: str(value)[::-1].lstrip("0").zfill(3),
    "grouped": lambda value: f"{value:,}",
    "spaced": lambda value: " ".join(str(value)),
    "on lines": lambda value: "\n".join(str(value)),
    "in words": lambda value: spelt(str(value)),
    "in words, together": lambda value: spelt(str(value)).replace(" ", ""),
    "in words, backwards": lambda value: spelt(str(value)[::-1]),
    "with a point": lambda value: f"zero point {spelt(str(value))}",
    "a percentage": lambda value: f"{value / 10_000:.2f}%",
    "a percentage in words": lambda value: f"{in_words(value % 100)} percent",
    "a ratio": lambda value: f"{value}/1000000",
    "a small ratio": lambda value: f"{value % 10 + 1} of {value % 7 + 2}",
    "a small ratio in words": lambda value: (
        f"{in_words(value % 9)} out of {in_words(value % 8 + 2)}"
    ),
    "hexadecimal": in_hex,
    "hexadecimal, marked": hex,
    "octal": oct,
    "binary": bin,
    "exponent": lambda value: f"{value:e}",
    "base64": lambda value: base64.b64encode(str(value).encode()).decode(),
    "base32": lambda value: base64.b32encode(str(value).encode()).decode(),
    "full width": lambda value: "".join(chr(ord(digit) + 0xFEE0) for digit in str(value)),
    "another script": lambda value: "".join(chr(0x660 + int(digit)) for digit in str(value)),
    "circled": lambda value: "".join(
        chr(0x245F + int(digit)) if digit != "0" else "\u24ea" for digit in str(value)
    ),
    "roman": lambda value: roman(value % 3_900 + 11),
}


@settings(max_examples=10)
@given(
    value=st.integers(min_value=1_000, max_value=999_999),
    place=st.integers(0, len(PARAGRAPHS)),
    before=st.sampled_from(["", "Remember ", "(", "about: ", "\n- "]),
    after=st.sampled_from(["", ".", ")", ", always", "\n"]),
)
def test_a_planted_number_is_found_in_every_listed_encoding(
    value: int, place: int, before: str, after: str
) -> None:
    for name, encode in ENCODINGS.items():
        planted = f"{before}{encode(value)}{after}"
        text = "\n\n".join([*PARAGRAPHS[:place], planted, *PARAGRAPHS[place:]])
        assert laundered(text, PROMPT) is not None, (name, planted)


@settings(max_examples=40)
@given(
    text=st.text(max_size=400),
    incumbent=st.text(max_size=200),
    target=st.sampled_from([*TARGETS, "README.md", ""]),
)
def test_the_check_answers_whatever_it_is_given(text: str, incumbent: str, target: str) -> None:
    standing = HeldAgainst(
        incumbent=incumbent, packaged=incumbent, failed=(), floor_most=0, growth_max=10.0
    )
    answer = check(target, text, standing)
    assert answer is None or (isinstance(answer, Refusal) and answer.sentence.endswith("."))


@settings(max_examples=40)
@given(text=st.text(max_size=300))
def test_a_text_carries_nothing_over_from_itself(text: str) -> None:
    assert laundered(text, text) is None
