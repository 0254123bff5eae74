"""The Gnomon that already runs a home, as `up --if-needed` speaks to it: a fresh login link."""

import json
from urllib.parse import urlsplit

from gnomon.domain.errors import GnomonError
from gnomon.home import Home
from gnomon.lock import Holder, holder

TIMEOUT_SECONDS = 10.0


def who_runs(home: Home, agent: str) -> Holder | None:
    """Who runs this agent and listens; null while nobody does. Raises HomeError."""
    held = holder(home.lock)
    listens = held is not None and held.url is not None and held.agent == agent
    return held if listens else None


def fresh_link(home: Home, running: Holder) -> str:
    """A login link that works once. Raises GnomonError when it does not answer as it should."""
    import http.client  # not for a daemon, which shares this program's beginning

    where = urlsplit(running.url or "")
    calling = http.client.HTTPConnection(where.hostname or "", where.port, timeout=TIMEOUT_SECONDS)
    try:
        token = home.operator_token.read_text(encoding="ascii").strip()
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        calling.request("POST", "/api/login.link", b"{}", headers)
        answer = calling.getresponse()
        said = json.loads(answer.read())
        return str(said["url"])
    except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError) as error:
        raise GnomonError(
            f"Gnomon runs here (pid {running.pid}), and gave no login link: {error}.",
            next_step="`gnomon down` ends it, then start it again.",
            pid=running.pid,
        ) from error
    finally:
        calling.close()
