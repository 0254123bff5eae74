"""A conversation with the running gateway: JSON lines over loopback HTTP."""

import contextlib
import http.client
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

import msgspec

from gnomon.cli.asks import Ask
from gnomon.cli.connection import OnPart
from gnomon.domain import errors
from gnomon.domain.errors import GnomonError, NeedsOperatorError, UsageError
from gnomon.domain.json_value import Fields

R = TypeVar("R")

NDJSON = "application/x-ndjson"
TIMEOUT_SECONDS = 900.0
"""Of silence. A turn of a slow model says nothing for minutes; a dead gateway closes at once."""


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """An error as it crosses a border."""

    code: str
    message: str
    next_step: str = ""
    facts: Fields = {}


class StreamLine(msgspec.Struct, frozen=True, kw_only=True):
    """One line of an answer: a part, then either the result or an error."""

    part: Fields | None = None
    ok: msgspec.Raw = msgspec.Raw(b"")
    err: Refusal | None = None


class HttpConnection:
    """`url` is the gateway's base address, `token_file` the operator's (0600)."""

    running = True

    def __init__(self, url: str, token_file: Path) -> None:
        self._where = urlsplit(url)
        try:
            self._token = token_file.read_text(encoding="ascii").strip()
        except OSError as error:
            raise NeedsOperatorError(
                f"The operator's token {token_file} cannot be read: {error.strerror}.",
                next_step="Run this as the user who started Gnomon.",
            ) from error

    def call(self, ask: Ask[R], arguments: Fields, on_part: OnPart | None = None) -> R:
        connection = http.client.HTTPConnection(
            self._where.hostname or "", self._where.port, timeout=TIMEOUT_SECONDS
        )
        headers = {
            "Authorization": f"Bearer {self._token}",
            "Content-Type": "application/json",
            "Accept": NDJSON,
        }
        with contextlib.closing(connection):
            try:
                body = msgspec.json.encode(arguments)
                connection.request("POST", f"/api/{ask.name}", body, headers)
                with contextlib.closing(connection.getresponse()) as response:
                    result = _result(_lines(response), on_part)
                return msgspec.json.decode(result, type=ask.result)
            except UnicodeEncodeError as error:
                raise UsageError(
                    "An argument is not UTF-8 text.", next_step="Give it a name that is."
                ) from error
            except (OSError, http.client.HTTPException, msgspec.DecodeError) as error:
                raise GnomonError(
                    f"Gnomon did not answer {ask.name} as expected: {error or 'it went away'}.",
                    next_step="`gnomon status` shows whether it runs.",
                ) from error

    def close(self) -> None:
        """Nothing stays open between calls."""


def _lines(response: http.client.HTTPResponse) -> Iterator[StreamLine]:
    if (response.getheader("Content-Type") or "").startswith(NDJSON):
        for line in response:
            if line.strip():
                yield msgspec.json.decode(line, type=StreamLine)
        return
    body = response.read()
    if response.status == http.HTTPStatus.OK:
        yield StreamLine(ok=msgspec.Raw(body))
    else:
        yield msgspec.json.decode(body, type=StreamLine)


def _result(lines: Iterator[StreamLine], on_part: OnPart | None) -> msgspec.Raw:
    for line in lines:
        if line.err is not None:
            raise error_of(line.err)
        if line.part is None:
            return line.ok
        if on_part is not None:
            on_part(line.part)
    raise http.client.IncompleteRead(b"")


def error_of(refusal: Refusal) -> GnomonError:
    """The error that crossed the border, as the class of its code; of an unknown one, the root."""
    kind = error_classes().get(refusal.code)
    if kind is None:
        kind = type("ForeignError", (GnomonError,), {"code": refusal.code})
    made = kind(refusal.message, next_step=refusal.next_step)
    made.facts = refusal.facts
    return made


def error_classes() -> dict[str, type[GnomonError]]:
    """Every class of the tree by its code."""
    found = [value for value in vars(errors).values() if isinstance(value, type)]
    return {each.code: each for each in found if issubclass(each, GnomonError)}
