"""Readiness for refinement, in words. Pure."""

from gnomon.cli.line import Line
from gnomon.cli.render import moment, one_line, plural
from gnomon.domain.views_change import Readiness


def readiness_lines(found: Readiness) -> list[Line]:
    """Whether it may run, then what is missing, then what it wanted and was refused."""
    lines: list[Line] = []
    if found.dev_mode:
        lines.append(Line("DEV MODE: tested on two windows, without margin.", "bad"))
    if found.ready:
        when = f" It is next due {moment(found.next_at)}." if found.next_at is not None else ""
        lines.append(Line(f"It may propose edits to its instructions.{when}", "good"))
    else:
        lines.append(Line("It proposes no edits to its instructions yet:", "heading"))
        lines.extend(Line(f"  {one_line(reason)}") for reason in found.reasons)
    if found.refused_calls:
        calls = plural(found.refused_calls, "call")
        lines.append(Line(f"Refused: {calls} beyond its four tools.", "faint"))
    return lines


def disabled_lines(found: Readiness) -> list[Line]:
    """Your word is taken back; and how it stands."""
    return [Line("Noted: you take that word back.", "good"), *readiness_lines(found)]


def enabled_lines(found: Readiness) -> list[Line]:
    """Your word is taken; and what is missing besides."""
    return [Line("Noted: the number fits what you see.", "good"), *readiness_lines(found)]
