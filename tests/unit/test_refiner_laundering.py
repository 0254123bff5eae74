"""What an edit must not carry over: names of the measure, and numbers."""

import pytest

from gnomon.refiner.laundering import NAMES, coded, laundered, names
from gnomon.refiner.numbers import numbers
from gnomon.refiner.spelling import hidden_characters, plain
from gnomon.scaffold.defaults import packaged_defaults

PACKAGED = packaged_defaults()
PROMPT = PACKAGED["inner-loop-prompt.md"]


def _wide(text: str) -> str:
    return "".join(chr(ord(character) + 0xFEE0) for character in text)


def _bold(text: str) -> str:
    """Letters of mathematics."""
    return "".join(chr(ord(character) - ord("a") + 0x1D41A) for character in text)


NUMBERS = [
    "0.428571",
    ".42",
    "428,571",
    "428 571",
    "4.2e-1",
    "42%",
    "5 %",
    "7 percent",
    "five per cent",
    "a half",
    "two thirds",
    "three out of seven",
    "3 of 7",
    "3/7",
    "3 of the 7",
    "½",
    "four two eight",
    "zero point four",
    "forty-two",
    "nineteen",
    "fourtwoeight",
    "f o u r  t w o",
    "ruof owt",
    "0x68a1b",
    "68a1b",
    "abcde",
    "XLII",
    "xlii",
    "Ⅹⅼⅱ",
    _wide("42"),
    "٤٢",
    "四二",
    "①②",
    "4️⃣2️⃣",
    "11",
    "007",
    "11th",
    "v2",
    "4 then 2 and then 8",
    "10:30",
    "a dozen",
    "2-3 lines",
    "in the thirties",
    "fiftyish",
    "a third of it",
    "more than a third",
    "3 of roughly 7",
    "3 (of 7)",
    "3 from 7",
    "three for every seven",
    "thir**ty-s**ix",
    "thir<b></b>ty",
    "guvegl-fvk",
    "guerr fvk frira",
]
NONE = [
    "",
    "Take one of them, or none.",
    "At most 3 items, in 2 lines.",
    "1. Refine\n2. Think",
    "the first of them, then the second",
    "3rd and last",
    "One by one, and one at a time: one thing, then one more.",
    "Look at IV and X; add some beef, a mix, and fade the faces.",
    "10 words",
    "a 3-step plan",
    "I am here.",
    "zero doubts",
    "one thing, then another, and then a third",
    "raise the bar, and by the bar one more",
]


@pytest.mark.parametrize("text", NUMBERS)
def test_a_number_is_found_however_it_is_written(text: str) -> None:
    assert numbers(f"Remember {text} always")


@pytest.mark.parametrize("text", NONE)
def test_plain_words_and_bare_integers_up_to_ten_are_no_numbers(text: str) -> None:
    assert numbers(text) == frozenset()


def test_the_packaged_texts_hold_no_number_but_the_length_of_a_hash() -> None:
    held = {name: numbers(text) for name, text in PACKAGED.items()}
    assert {name: found for name, found in held.items() if found} == {"README.md": {"256"}}


def test_numbers_that_stand_closely_are_one_and_far_apart_none() -> None:
    assert numbers("4 then 2 then 8") == {"4 .. 2 .. 8"}
    far = "Take 4 items of the list that you carry, and later on perhaps 2 more of them; then 8."
    assert numbers(far) == frozenset()


def test_the_same_digits_written_otherwise_are_another_number() -> None:
    assert numbers("160") != numbers("1.60")
    assert laundered("Keep to 1.60.", "Keep to 160.") is not None
    assert laundered("Keep to 160, or less than 160.", "Keep to 160.") is None


@pytest.mark.parametrize("name", [f"{n}{e}" for n, endings in NAMES.items() for e in endings])
def test_each_name_of_the_measure_is_found_in_any_case(name: str) -> None:
    for text in (name, name.upper(), name.title()):
        assert names(f"mind the {text}, always"), text


DISGUISED = [
    "fit-ness",
    "f.i.t.n.e.s.s",
    "f i t n e s s",
    "fit\nness",
    _wide("fitness"),
    _bold("fitness"),
    "fitn\N{CYRILLIC SMALL LETTER IE}ss",
    "fi\u200btness",
    "fítness",
    "ꜰɪᴛɴᴇꜱꜱ",
    "f1tne55",
    "fittnesss",
    "ssentif",
    "svgarff",
    "engagement_rate",
    "ENGAGEMENTRATE: engagement rate",
    "system_unavailable",
    "rolled-back",
    "sc0re",
    "r.a.t.e",
]


@pytest.mark.parametrize("text", DISGUISED)
def test_a_name_of_the_measure_is_found_in_disguise(text: str) -> None:
    assert names(f"mind the {text}, always"), text


@pytest.mark.parametrize(
    "text",
    ["its core", "the agent's core", "separate", "accurate", "a drawer", "packed", "instal led"],
)
def test_harmless_neighbours_are_no_names(text: str) -> None:
    assert not names(text)


@pytest.mark.parametrize("token", ["Zml0bmVzcw", "Zml0bmVzcw==", "MTIz", "GQZDQ", "MZUXI3TFONZQ"])
def test_what_is_hidden_in_base64_or_base32_is_found(token: str) -> None:
    assert coded(f"Mind {token} always") == {token}
    assert laundered(f"Mind {token} always", "") is not None


def test_an_edit_may_keep_what_the_text_had_and_not_add_to_it() -> None:
    before = "Do not grade yourself. Aim for 160 characters."
    assert laundered(before.replace("Aim", "Stay"), before) is None
    found = laundered(f"{before} Never grade others.", before)
    assert found is not None
    assert (found.kind, found.found) == ("name", "grade")
    found = laundered(f"{before} Or 170.", before)
    assert found is not None
    assert (found.kind, found.found) == ("number", "170")
    assert laundered("", before) is None


def test_hidden_characters_are_those_that_nobody_sees() -> None:
    assert hidden_characters("a\tb\nc é 🙂") == set()
    assert hidden_characters("a\u200bb\x00c\u202ed") == {"\u200b", "\x00", "\u202e"}


def test_a_text_without_disguises_reads_the_same() -> None:
    assert plain(PROMPT) == PROMPT
    assert plain("naïve café") == "naive cafe"
    assert plain("🄵🅸🆃").lower() == "fit"
