"""One HTTP exchange with a model's server: blocking, run in a thread, ended from outside.

Why not an async client: `docs/adr/0301-model-http-client.md`. Addresses come resolved from
the gateway, so this process needs no name service. No redirect is followed, no proxy used.
What is read is bounded in bytes; the caller bounds the time with `abort`.
"""

import contextlib
import http.client
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import quote

from gnomon.domain.errors import (
    ModelAuthError,
    ModelError,
    ModelRateLimitError,
    ModelReplyError,
    ModelRequestError,
    ModelTimeoutError,
    ModelUnavailableError,
)
from gnomon.models.openai_wire import EventLines, ReplyBuilder, error_words

REPLY_BYTES = 4 * 1024 * 1024
"""A longer reply is refused: 4 MiB is a thousand times a usual one."""
LINE_BYTES = 1024 * 1024
ERROR_BYTES = 8 * 1024


@dataclass(frozen=True)
class Server:
    """Where to ask. `addresses` are of `host`; `path` is the base's, usually `/v1`."""

    host: str
    port: int
    tls: bool
    path: str
    addresses: tuple[str, ...]
    connect_seconds: float = 10.0
    first_byte_seconds: float = 120.0
    stall_seconds: float = 60.0

    @property
    def label(self) -> str:
        """How errors name it."""
        return f"{self.host}:{self.port}"


class Scrubber:
    """Takes a key out of any text."""

    def __init__(self, key: str | None) -> None:
        self._forms = sorted({key, quote(key, safe="")}, key=len, reverse=True) if key else []

    def __call__(self, text: str) -> str:
        for form in self._forms:
            text = text.replace(form, "[key]")
        return text


class Exchange:
    """One `POST <base>/chat/completions`. `run` blocks; `abort` may come from any thread."""

    def __init__(self, server: Server, key: str | None) -> None:
        self._server = server
        self._key = key
        self._scrub = Scrubber(key)
        self._socket: socket.socket | None = None
        self._aborted = False
        self._answered = False

    def abort(self) -> None:
        """End the exchange: what it waits for fails at once."""
        self._aborted = True
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)

    def run(self, body: bytes, builder: ReplyBuilder, on_text: Callable[[str], None]) -> None:
        """Send `body` and feed `builder` until the answer is whole.

        Raises the ModelError tree; no error holds the key.
        """
        try:
            self._run(body, builder, on_text)
        except ModelError:
            raise
        except TimeoutError as error:
            raise self._timeout() from error
        except ssl.SSLCertVerificationError as error:
            raise ModelRequestError(
                f"{self._server.label} shows a certificate that is not trusted: "
                f"{error.verify_message}.",
                next_step="Check model.url; nothing was sent.",
            ) from None
        except (OSError, http.client.HTTPException) as error:
            words = self._scrub(str(error)) or type(error).__name__
            raise ModelUnavailableError(
                f"{self._server.label} broke off: {words}",
                next_step="See whether the server runs and is reachable.",
            ) from None
        finally:
            if self._socket is not None:
                self._socket.close()

    def _run(self, body: bytes, builder: ReplyBuilder, on_text: Callable[[str], None]) -> None:
        connection = self._connection()
        connection.request("POST", f"{self._server.path}/chat/completions", body, self._headers())
        with connection.getresponse() as response:
            self._answered = True
            if self._socket is not None:
                self._socket.settimeout(self._server.stall_seconds)
            self._check(response)
            if "text/event-stream" in (response.headers.get_content_type() or ""):
                self._read_stream(response, builder, on_text)
            else:
                on_text(builder.add(self._read_all(response, REPLY_BYTES)))

    def _connection(self) -> http.client.HTTPConnection:
        server = self._server
        sock = self._connect()
        self._socket = sock
        if self._aborted:
            raise OSError("aborted")
        if server.tls:
            sock = ssl.create_default_context().wrap_socket(
                sock, server_hostname=server.host, do_handshake_on_connect=False
            )
            self._socket = sock  # first, so that `abort` ends a handshake too
            sock.do_handshake()
            connection = http.client.HTTPSConnection(server.host, server.port)
        else:
            connection = http.client.HTTPConnection(server.host, server.port)
        sock.settimeout(server.first_byte_seconds)
        connection.sock = sock
        return connection

    def _connect(self) -> socket.socket:
        last: OSError | None = None
        for address in self._server.addresses:
            try:
                return socket.create_connection(
                    (address, self._server.port), timeout=self._server.connect_seconds
                )
            except OSError as error:
                last = error
        raise ModelUnavailableError(
            f"{self._server.label} cannot be reached: {last or 'it has no address'}.",
            next_step="See whether the server runs and is reachable.",
        )

    def _headers(self) -> dict[str, str]:
        headers = {
            "Content-Type": "application/json",
            "Accept": "text/event-stream, application/json",
            "Accept-Encoding": "identity",
            "User-Agent": "gnomon",
            "Connection": "close",
        }
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        return headers

    # --- answers -----------------------------------------------------------------------------

    def _check(self, response: http.client.HTTPResponse) -> None:
        """Raise what a status other than 200 means."""
        status, label = response.status, self._server.label
        if status == 200:
            return
        if status in {401, 403}:  # its words may hold a part of the key: they are not read
            raise ModelAuthError(
                f"{label} refused the key ({status})."
                if self._key
                else f"{label} asks for a key ({status}).",
                next_step="Set GNOMON_MODEL_KEY (or model.key_env, model.key_file) to a key that "
                "is valid there, then: gnomon model use.",
                status=status,
            )
        if 300 <= status < 400:
            raise ModelRequestError(
                f"{label} redirects, which is not followed.",
                next_step="Set model.url to the server's final address.",
                status=status,
            )
        words = self._scrub(error_words(self._read_all(response, ERROR_BYTES, cut=True)))
        match status:
            case 429:
                raise ModelRateLimitError(
                    f"{label} limits the rate: {words}",
                    next_step="Wait, or use a model with a higher limit.",
                    status=status,
                    retry_after_seconds=_seconds(response.headers.get("Retry-After")),
                )
            case 404:
                raise ModelRequestError(
                    f"{label} knows no such model or path (404): {words}",
                    next_step="Check model.name, and that model.url ends in /v1.",
                    status=status,
                )
            case _ if status >= 500 or status in {408, 425}:
                raise ModelUnavailableError(
                    f"{label} failed ({status}): {words}",
                    next_step="Look at the server's log, or wait.",
                    status=status,
                    retry_after_seconds=_seconds(response.headers.get("Retry-After")),
                )
            case _:
                raise ModelRequestError(
                    f"{label} refused the request ({status}): {words}",
                    next_step="Check the account, the model's name and what it can do.",
                    status=status,
                )

    def _read_all(
        self, response: http.client.HTTPResponse, limit: int, *, cut: bool = False
    ) -> bytes:
        data = response.read(limit + 1)
        if len(data) > limit and not cut:
            raise self._too_long(limit)
        if self._aborted:
            raise OSError("aborted")
        return data[:limit]

    def _read_stream(
        self,
        response: http.client.HTTPResponse,
        builder: ReplyBuilder,
        on_text: Callable[[str], None],
    ) -> None:
        events = EventLines()
        left = REPLY_BYTES
        while line := response.readline(LINE_BYTES + 1):
            left -= len(line)
            if left < 0 or len(line) > LINE_BYTES:
                raise self._too_long(REPLY_BYTES)
            data = events.line(line)
            if data is not None and self._event(data, builder, on_text):
                return
        data = events.rest()
        if data is not None and not self._aborted:
            self._event(data, builder, on_text)
        if self._aborted or not builder.complete:
            raise ModelUnavailableError(
                f"{self._server.label} broke off in mid-answer.",
                next_step="Look at the server's log.",
            )

    def _event(self, data: bytes, builder: ReplyBuilder, on_text: Callable[[str], None]) -> bool:
        """Take one event; true at the last."""
        if data == b"[DONE]":
            builder.done()
            return True
        try:
            text = builder.add(data)
        except ModelUnavailableError as error:
            raise ModelUnavailableError(self._scrub(error.message)) from None
        if text:
            on_text(text)
        return False

    def _too_long(self, limit: int) -> ModelReplyError:
        return ModelReplyError(
            f"{self._server.label} sent more than {limit} bytes.",
            next_step="Use another model; this one does not end its answers.",
            bytes=limit,
        )

    def _timeout(self) -> ModelTimeoutError:
        server = self._server
        seconds = server.stall_seconds if self._answered else server.first_byte_seconds
        what = "went silent" if self._answered else "did not begin to answer"
        return ModelTimeoutError(
            f"{server.label} {what} within {seconds:.0f} s.",
            next_step="Try a smaller model, or raise model.timeout_seconds in config.toml.",
            seconds=seconds,
        )


def _seconds(retry_after: str | None) -> float | None:
    """`Retry-After` in seconds; null for a date or for garbage."""
    try:
        seconds = float(retry_after) if retry_after is not None else -1.0
    except ValueError:
        return None
    return seconds if 0 <= seconds < 86_400 else None
