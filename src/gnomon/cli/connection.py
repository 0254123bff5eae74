"""How a verb reaches Gnomon: the running gateway, else its core in this process.

The home's lock says which: who holds it names itself there, with the gateway's address.
"""

import time
from collections.abc import Callable
from typing import Protocol, TypeVar
from urllib.parse import urlsplit

from gnomon.cli.asks import Ask
from gnomon.domain.errors import HomeLockedError, UsageError
from gnomon.domain.json_value import Fields
from gnomon.home import Home
from gnomon.lock import Holder, holder

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
        held = holder(home.lock)
        if held is not None and held.url and answers(held.url):
            _check_agent(held, agent)
            from gnomon.cli.http_connection import HttpConnection

            return HttpConnection(held.url, home.operator_token)
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


def _check_agent(held: Holder, agent: str) -> None:
    """A gateway runs one agent; it must not answer for another in silence."""
    if held.agent is not None and held.agent != agent:
        raise UsageError(
            f"The Gnomon that runs this home runs the agent {held.agent!r}, not {agent!r}.",
            next_step=f"Ask it with --agent {held.agent}, or stop it first: `gnomon down`.",
            agent=held.agent,
        )
