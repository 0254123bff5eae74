"""How a verb reaches Gnomon: the running gateway, else its core in this process.

The home's lock says which: its file holds `{"pid", "url"}` while a Gnomon has the home.
"""

import time
from collections.abc import Callable
from typing import Protocol, TypeVar
from urllib.parse import urlsplit

import msgspec

from gnomon.cli.asks import Ask
from gnomon.domain.errors import HomeLockedError
from gnomon.domain.json_value import Fields
from gnomon.home import Home

R = TypeVar("R")
OnPart = Callable[[Fields], None]

WAIT_SECONDS = 10.0
"""For another one that is starting, or a short verb that has the home at the moment."""
RETRY_SECONDS = 0.1


class Connection(Protocol):
    """One conversation with Gnomon. A KeyboardInterrupt cancels the call, not the connection."""

    @property
    def running(self) -> bool:
        """Whether a daemon answers, which goes on when this connection is closed."""
        ...

    def call(self, ask: Ask[R], arguments: Fields, on_part: OnPart | None = None) -> R:
        """Raises GnomonError with the words, code and facts of the other side."""
        ...

    def close(self) -> None: ...


Connect = Callable[[Home, str], Connection]


class LockFile(msgspec.Struct, frozen=True, kw_only=True):
    """What `home.lock` says of who has the home. `url` is null until the gateway listens."""

    pid: int
    url: str | None = None


def read_lock(home: Home) -> LockFile | None:
    """Who last had the home; they may be gone. None when nobody left word."""
    try:
        return msgspec.json.decode(home.lock.read_bytes(), type=LockFile)
    except (OSError, msgspec.DecodeError):
        return None


def answers(url: str | None) -> bool:
    """Whether something accepts a connection there."""
    import socket

    where = urlsplit(url or "")
    if not where.hostname or not where.port:
        return False
    try:
        socket.create_connection((where.hostname, where.port), timeout=2).close()
    except OSError:
        return False
    return True


def connect(home: Home, agent: str) -> Connection:
    """Open the home by the door that is there.

    Raises HomeLockedError when another process keeps it for longer than `WAIT_SECONDS` and
    does not listen.
    """
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        lock = read_lock(home)
        if lock is not None and lock.url and answers(lock.url):
            from gnomon.cli.http_connection import HttpConnection

            return HttpConnection(lock.url, home.operator_token)
        from gnomon.cli.local_connection import LocalConnection

        local = LocalConnection(home, agent)
        try:
            local.open()
        except HomeLockedError:
            local.close()
            if time.monotonic() > deadline:
                raise
            time.sleep(RETRY_SECONDS)
            continue
        except BaseException:
            local.close()
            raise
        return local
