"""Wrong usage in our words, where the framework speaks of types and inputs. Pure."""

import difflib
import re

VALUE = re.compile(r"Invalid value for '([^']+)': (.*)", re.DOTALL)
BOUND = re.compile(r"Input should be (greater|less) than or equal to (\S+)")
CHOICE = re.compile(r"(?:Value error, )?'(.*)' is not one of (.*)\.", re.DOTALL)
NUMBER = re.compile(r"Input should be a valid (?:integer|number).*")


def plain_usage(said: str) -> str:
    """One sentence for what the framework said; what is none of its own stays as it is."""
    value = VALUE.fullmatch(said)
    if value is None:
        return said if not said or said.endswith((".", "?", "!")) else f"{said}."
    option, what = value[1], value[2]
    if bound := BOUND.fullmatch(what.rstrip(".")):
        side = "at least" if bound[1] == "greater" else "at most"
        return f"{option} is {side} {bound[2]}."
    if choice := CHOICE.fullmatch(what):
        return _no_choice(option, choice[1], re.findall(r"'([^']*)'", choice[2]))
    if NUMBER.fullmatch(what):
        return f"{option} takes a whole number."
    return f"{option}: {what.rstrip('.')}."


def did_you_mean(word: str, known: list[str]) -> str:
    """The one that was meant, if one is near enough; else empty."""
    near = difflib.get_close_matches(word, known, n=1)
    return f" Did you mean {near[0]}?" if near else ""


def _no_choice(option: str, word: str, known: list[str]) -> str:
    listed = ", ".join(known)
    return f"{option} cannot be {word!r}; it is one of: {listed}.{did_you_mean(word, known)}"
