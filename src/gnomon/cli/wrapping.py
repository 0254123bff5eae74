"""Long lines, broken between words: a terminal breaks them anywhere. Pure."""

import re
from textwrap import TextWrapper

UNBROKEN = re.compile(r"`[^`\n]*`|gnomon --home \S+(?: [a-z]+)+")
"""Commands: one that is copied out of two lines does not run."""
LEAD = re.compile(r" *(?:[-·] |\[\d+\] )?")
GAP = re.compile(r"( {2,})")
BETWEEN_COLUMNS = re.compile(r"(?<=\S) {2,}(?=\S)")
GLUE = "\0"
"""Stands for a space that is not to be broken at; what was cleaned holds none."""
IDEOGRAPHS = "\u2e80"
"""From here on scripts are written without spaces; they are broken anywhere."""


def wrapped(text: str, width: int) -> str:
    """Each line of `text` in rows of at most `width`, but for a word that is longer."""
    return "\n".join(_rows(line, width) for line in text.split("\n"))


def _rows(line: str, width: int) -> str:
    if len(line) <= width:
        return line
    wrapper = TextWrapper(
        width,
        subsequent_indent=" " * _indent(line, width),
        expand_tabs=False,
        replace_whitespace=False,
        break_long_words=False,
        break_on_hyphens=False,
    )
    glued = UNBROKEN.sub(lambda found: found[0].replace(" ", GLUE), _short_cells(line, width))
    return "\n".join(wrapper.wrap(glued)).replace(GLUE, " ")


def _short_cells(line: str, width: int) -> str:
    """The line, short cells of a table's row whole: a date is not broken for what follows it."""
    *cells, last = GAP.split(line)
    short = (
        cell.replace(" ", GLUE) if 0 < len(cell.strip()) <= width // 3 else cell for cell in cells
    )
    return "".join([*short, last])


def _indent(line: str, width: int) -> int:
    """Where what follows begins: below the last column that begins in the left half, else as the
    line itself; further to the left where a long word, such as a path, needs the room.
    """
    lead = len(line) - len(LEAD.sub("", line, count=1))
    columns = (found.end() for found in BETWEEN_COLUMNS.finditer(line))
    wanted = max((at for at in columns if at <= width // 2), default=lead)
    room = width - max(map(len, line.split()), default=0)
    return wanted if wanted <= room else max(lead, min(lead + 2, room))


class Flow:
    """The same for a text that comes in parts: a word waits until it is whole. Without a width
    each part goes on as it is.
    """

    def __init__(self, width: int | None) -> None:
        self._as_it_is = width is None
        self._width = width or 0
        self._column = 0
        self._gap = ""
        self._word = ""
        self._in_command = False

    def take(self, part: str) -> str:
        """What can be shown by now."""
        return part if self._as_it_is else "".join(map(self._character, part))

    def end(self) -> str:
        """What was still waiting. The next text begins a line."""
        last = self._flushed()
        self._column, self._gap, self._in_command = 0, "", False
        return last

    def _character(self, character: str) -> str:
        if character == "`":  # and no further than a row: one alone is none
            self._in_command = not self._in_command
        if character == "\n":
            return f"{self.end()}\n"
        if character.isspace() and not (self._in_command and len(self._word) < self._width):
            self._in_command = False
            shown = self._flushed()
            self._gap += character
            return shown
        shown = self._flushed() if max(character, self._word[-1:]) >= IDEOGRAPHS else ""
        self._word += character
        return shown

    def _flushed(self) -> str:
        if not self._word:
            return ""
        word, gap = self._word, self._gap
        self._word = self._gap = ""
        if self._column and self._column + len(gap) + len(word) > self._width:
            self._column = len(word)
            return f"\n{word}"
        self._column += len(gap) + len(word)
        return gap + word
