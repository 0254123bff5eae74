"""A text without its disguises, so that a word is found however its letters are written. Pure.

Taken off: compatibility forms (full width, mathematical, circled, superscript), accents,
invisible characters, look-alike letters of the Cyrillic and Greek alphabets, digits of other
scripts, emphasis and tags inside words, and letters set apart one by one. What is left is
searched; it is never shown.
"""

import re
import unicodedata

_LOOK_ALIKES = str.maketrans(
    "асԁеһіјкӏмноԛрѕтцѵԝхуԍАВСЕНІЈКМОРЅТХУαεικνορτυχηωϲΑΒΕΖΗΙΚΜΝΟΡΤΥΧıſ",
    "acdehijklmhoqpstuvwxygABCEHIJKMOPSTXYaeiknoptuxnwcABEZHIKMNOPTYXis",
)
_INVISIBLE = frozenset({"Cf", "Mn", "Me", "Mc"})
_NAMED = re.compile(r"LATIN (?:CAPITAL |SMALL )?LETTER (?:SMALL CAPITAL )?([A-Z])$")
_APART = re.compile(r"(?<![^\W_])(?:[^\W\d_][\s._·*|~/\\-]{1,3}){2,}[^\W\d_](?![^\W_])")
"""Three or more single letters with something between them."""
_MARKUP = re.compile(r"(?<=[^\W_])(?:[*~`]{1,3}|<[^<>\n]{0,60}>)+(?=[^\W_])")
"""Emphasis and tags inside a word: who reads it reads over them."""
ROT13 = str.maketrans("abcdefghijklmnopqrstuvwxyz", "nopqrstuvwxyzabcdefghijklm")


def plain(text: str) -> str:
    """The text without disguises; line breaks and case stay as they are."""
    if not text.isascii():
        folded = unicodedata.normalize("NFKD", text)
        text = "".join(map(_plain, folded)).translate(_LOOK_ALIKES)
    text = _MARKUP.sub("", text)
    return _APART.sub(lambda found: re.sub(r"[\W_]", "", found[0]), text)


def _plain(character: str) -> str:
    if character.isascii():
        return character
    if unicodedata.category(character) in _INVISIBLE:
        return ""
    number = unicodedata.numeric(character, None)
    if number is not None:
        return f"{number:g}"
    named = _NAMED.search(unicodedata.name(character, ""))
    return named[1].lower() if named else character


def hidden_characters(text: str) -> set[str]:
    """Those that nobody sees: control and format characters, but for line breaks and tabs."""
    return {
        character
        for character in text
        if unicodedata.category(character) in {"Cc", "Cf", "Co", "Cn", "Cs"}
        and character not in "\n\t"
    }
