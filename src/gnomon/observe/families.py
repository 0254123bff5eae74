"""Families of errors: what a failed tool call failed of, by documented words.

The first rule that matches the text's beginning wins; the order is from particular to
general. A family is a stable code, never a quote: it may be shown and shared.
"""

import re

from gnomon.domain.plain_text import clean, one_line

LOOKED_AT = 2_000
"""Characters of an error that are looked at."""

REJECTED = "rejected_by_user"
_REJECTION = re.compile(
    r"doesn't want to (?:proceed|take this action)|rejected by (?:the )?user", re.IGNORECASE
)
_SAID = re.compile(r"the user said:\s*", re.IGNORECASE)

_FAMILIES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (code, re.compile(pattern, re.IGNORECASE))
    for code, pattern in (
        (
            "invalid-input",
            r"InputValidationError|failed to parse function|invalid (?:arguments|parameters|input)",
        ),
        ("file-not-read", r"has not been read yet|must read .{0,40}before"),
        ("file-changed", r"modified since (?:read|it was read)|has been unexpectedly modified"),
        ("text-not-found", (
            r"string to replace not found|no match(?:es)? found for|"
            r"failed to find (?:expected|context)"
        )),
        ("text-not-unique", r"found \d+ matches of the string"),
        ("too-large", r"exceeds maximum allowed|too large|output too long|token limit"),
        ("permission", (
            r"permission denied|operation not permitted|EACCES|EPERM|not allowed|"
            r"requires approval|forbidden"
        )),
        ("program-not-found", r"command not found|executable file not found|is not recognized as"),
        ("module-not-found", r"ModuleNotFoundError|Cannot find module|No module named"),
        ("file-not-found", (
            r"no such file or directory|file does not exist|ENOENT|"
            r"path does not exist|FileNotFoundError"
        )),
        ("is-a-directory", r"is a directory|EISDIR"),
        ("timeout", r"timed? ?out|ETIMEDOUT|deadline exceeded"),
        ("network", (
            r"could not resolve|connection (?:refused|reset)|ECONNREFUSED|ENOTFOUND|"
            r"unable to (?:fetch|verify)|status code [45]\d\d"
        )),
        ("syntax", r"SyntaxError|syntax error|unexpected token"),
        ("tests", r"\b\d+ failed\b|(?-i:\bFAILED\b)|AssertionError|assertion failed|tests? failed"),
        ("merge-conflict", r"CONFLICT \(|merge conflict"),
    )
)  # fmt: skip
_EXIT = re.compile(r"(?:exit(?:ed with)? code|exit status)[: ]+(-?\d{1,3})\b", re.IGNORECASE)


_TAG = re.compile(r"</?tool_use_error>")
_FRAME = re.compile(
    r"(?:exit(?:ed with)? (?:code|status)|process exited|wall time|chunk id|total output lines"
    r"|original token count|output:$)", re.IGNORECASE
)  # fmt: skip
"""Lines that an agent's program puts around what a command printed."""
TELLING = 200
"""Characters kept of an error's line."""


def telling_line(text: str) -> str | None:
    """The line of an error by which its family was told, else the first that says more than that
    there was one; null for no text.
    """
    head = text[:LOOKED_AT]
    known = _known(head)
    if known is not None:
        start = head.rfind("\n", 0, known[1]) + 1
        return _shown(head[start:].split("\n", 1)[0])
    lines = [line for line in map(_shown, head.splitlines()) if line]
    return next((line for line in lines if not _FRAME.match(line)), lines[0] if lines else None)


def _shown(line: str) -> str:
    return one_line(clean(_TAG.sub("", line)), TELLING)


def _known(head: str) -> tuple[str, int] | None:
    """The first family whose words stand in the text, and where they do."""
    for code, pattern in _FAMILIES:
        found = pattern.search(head)
        if found is not None:
            return code, found.start()
    return None


def is_rejection(text: str) -> bool:
    """Whether a failed result only says that the user did not allow the call."""
    return _REJECTION.search(text[:400]) is not None


def words_of_rejection(text: str) -> str | None:
    """What the user wrote while rejecting, or null."""
    found = _SAID.search(text[:LOOKED_AT])
    return text[found.end() :].strip() or None if found is not None else None


def family(text: str) -> str:
    """The family of an error's text; `exit-N` and `error` when no other is known."""
    head = text[:LOOKED_AT]
    if is_rejection(head):
        return REJECTED
    known = _known(head)
    if known is not None:
        return known[0]
    left = _EXIT.search(head)
    return f"exit-{left.group(1)}" if left is not None else "error"
