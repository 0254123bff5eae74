"""A chat completion as servers really send it: one whole answer, or a chunk of a stream. Pure.

What a field means is taken where it is clear, in whichever shape it comes: content as text or as
a list of parts, counts as numbers or as their digits. What is not clear is unknown, never made up.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import cast

import msgspec

LARGEST_COUNT = 2**53 - 1


class Function(msgspec.Struct):
    name: str | None = None
    arguments: str | dict[str, object] | None = None


class Call(msgspec.Struct):
    index: int | None = None
    id: str | None = None
    function: Function | None = None


class Part(msgspec.Struct):
    """A piece of content. One without `text` (a picture, say) is none that we can read."""

    text: str | None = None


class Said(msgspec.Struct):
    content: str | list[Part | str] | None = None
    tool_calls: list[Call] | None = None

    @property
    def text(self) -> str:
        match self.content:
            case None:
                return ""
            case str():
                return self.content
            case _:
                return "".join(
                    each if isinstance(each, str) else each.text or "" for each in self.content
                )


class Choice(msgspec.Struct):
    delta: Said | None = None
    message: Said | None = None
    finish_reason: str | None = None


class Answer(msgspec.Struct):
    """A chunk of a stream, or a whole answer: they differ in `delta` and `message`."""

    choices: list[Choice] | None = None
    usage: object = None
    model: str | None = None
    error: object = None


@dataclass(frozen=True)
class Usage:
    """Tokens. Null where the server does not say, or says it in no way that is clear."""

    tokens_in: int | None = None
    tokens_out: int | None = None
    cached: int | None = None


def usage_of(said: object) -> Usage:
    """What a server's `usage` says."""
    if not isinstance(said, Mapping):
        return Usage()
    told = cast("Mapping[str, object]", said)
    details = told.get("prompt_tokens_details")
    cached = cast("Mapping[str, object]", details) if isinstance(details, Mapping) else None
    return Usage(
        tokens_in=_count(told.get("prompt_tokens")),
        tokens_out=_count(told.get("completion_tokens")),
        cached=None if cached is None else _count(cached.get("cached_tokens")),
    )


def _count(said: object) -> int | None:
    """A count, also written as `12.0` or `"12"`."""
    if isinstance(said, str) and said.isascii() and said.strip().isdecimal():
        said = float(said[:400])
    if isinstance(said, bool) or not isinstance(said, int | float):
        return None
    whole = isfinite(said) and 0 <= said <= LARGEST_COUNT
    return round(said) if whole else None


_HALVES = re.compile(
    rb"(\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})"
    rb"|\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
)
"""An escaped backslash or a whole pair, which stay; or half of a pair."""


def decoded(data: bytes | str) -> Answer:
    """One document. A server that cuts its text between the halves of a character escapes each
    half by itself, which is no text: each becomes a replacement mark, and the reply is kept.

    Raises msgspec.DecodeError, RecursionError.
    """
    try:
        return msgspec.json.decode(data, type=Answer)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        raw = data.encode("utf-8", "replace") if isinstance(data, str) else data
        return msgspec.json.decode(
            _HALVES.sub(lambda found: found[1] or b"\\ufffd", raw), type=Answer
        )
