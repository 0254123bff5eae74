"""Who is asking, and from where: every decision about that, and no I/O.

Four doors, each with its own proof:

- the CLI reads the operator's token from its 0600 file and sends it as a bearer;
- a browser opens a one-time link, which becomes a session cookie;
- a client (another program) has a token of its own, with scope `client`;
- a request that has a foreign Host or Origin gets in by none of them.

Only hashes of sessions are kept and handed to `keep`, so that what lies on disk opens nothing.
What this does not defend against: a program of the same user that reads the token's file, and
another server on the same host name, which browsers send our cookie to whatever its port
(docs/adr/0701-loopback-authority.md).
"""

import hashlib
import hmac
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import msgspec

from gnomon.domain.instants import DAY, MINUTE, Millis, iso
from gnomon.domain.views import LoginLink
from gnomon.gateway.operation import Authority as Scope

SESSION_LIFE = 30 * DAY
"""Since it was last used."""
LINK_LIFE = 10 * MINUTE
MAX_SESSIONS = 32
MAX_LINKS = 16
MAX_FAILURES = 20
"""Wrong proofs a minute, after which a wrong one is answered 429. A right one always passes:
nobody can lock the operator out. Tokens have 256 bits; this bound is for the log and the
processor, not for the odds."""

LOCAL_NAMES = ("127.0.0.1", "localhost", "[::1]")
TOKEN_BYTES = 32
TOKEN_LETTERS = 43
"""Of 32 bytes in base64, which is what `new_token` writes."""


def new_token() -> str:
    """256 random bits as text, for the operator's file, a link or a session."""
    return secrets.token_urlsafe(TOKEN_BYTES)


def is_token(text: str) -> bool:
    """Whether a text has the length and the letters of a token."""
    return len(text) >= TOKEN_LETTERS and all(
        letter.isascii() and (letter.isalnum() or letter in "-_") for letter in text
    )


def digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def same(left: str, right: str) -> bool:
    """Compare hex digests in a time that says nothing about where they differ."""
    return hmac.compare_digest(left.encode(), right.encode())


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """A browser that was let in. `sha256` is of the cookie's value, which is not kept."""

    sha256: str
    opened_at: Millis
    seen_at: Millis
    """To the day: a visit a minute later is not worth a write."""

    def open_at(self, now: Millis) -> bool:
        return now - self.seen_at <= SESSION_LIFE


class Proof(msgspec.Struct, frozen=True, kw_only=True):
    """What a request brings to show who asks. Both null: nobody in particular."""

    bearer: str | None = None
    cookie: str | None = None


class Origins(msgspec.Struct, frozen=True, kw_only=True):
    """Where a request says that it comes from, and what it wants to do."""

    host: str | None
    origin: str | None
    fetch_site: str | None
    """`Sec-Fetch-Site`: sent by browsers alone, and out of reach of a page's script."""
    acts: bool
    """POST and the event stream: refused unless the request shows that it is ours."""
    navigates: bool
    """A page opened by its address or a link. It may come from anywhere and changes nothing."""


def host_is_ours(host: str | None, port: int) -> bool:
    """Whether the Host header names this server. A name that was rebound to 127.0.0.1 does not."""
    return host is not None and host.lower() in {f"{name}:{port}" for name in LOCAL_NAMES}


def origin_is_ours(origin: str, port: int) -> bool:
    return origin.lower() in {f"http://{name}:{port}" for name in LOCAL_NAMES}


def fault_of_origin(asked: Origins, port: int, *, by_bearer: bool) -> str | None:
    """Why a request is refused for where it comes from; None when it is not.

    A page of another server on this machine is "same-site" to a browser, which sends our
    cookie along: so a cookie that acts must come with our own Origin, or with the browser's
    word that the page is ours. A bearer is no browser's doing and needs neither.
    """
    if asked.origin is not None and not origin_is_ours(asked.origin, port):
        return "foreign-origin"
    if by_bearer:
        return None
    if asked.fetch_site in {"cross-site", "same-site"} and not asked.navigates:
        return "foreign-site"
    if asked.acts and asked.origin is None and asked.fetch_site != "same-origin":
        return "no-origin"
    return None


@dataclass
class Authority:
    """The proofs that open this gateway, in memory. Every method takes the time it is.

    `operator_sha256` is the digest of the operator's token. `client_of` answers the scope of a
    client's token by digest, or None. `keep` is called with all sessions whenever one is
    opened, renewed or closed, to be stored as they are.
    """

    operator_sha256: str
    keep: Callable[[Sequence[Session]], None]
    client_of: Callable[[str], Scope | None] = field(default=lambda _: None)
    sessions: tuple[Session, ...] = ()
    _links: dict[str, Millis] = field(default_factory=dict[str, Millis])
    _failures: list[Millis] = field(default_factory=list[Millis])

    @property
    def cookie_name(self) -> str:
        """Differs by home: two Gnomons on one host share the browser's one cookie jar."""
        return f"gnomon-{self.operator_sha256[:8]}"

    def scope(self, proof: Proof, now: Millis) -> Scope | None:
        """Whom this proof lets in. None: nobody."""
        if proof.bearer is not None:
            found = digest(proof.bearer)
            return "operator" if same(found, self.operator_sha256) else self.client_of(found)
        if proof.cookie is not None and self._session(digest(proof.cookie), now) is not None:
            return "operator"
        return None

    def open_link(self, now: Millis) -> tuple[str, Millis]:
        """A secret that opens one session, once, and until when. The oldest give way."""
        self._links = {key: until for key, until in self._links.items() if until > now}
        while len(self._links) >= MAX_LINKS:
            self._links.pop(next(iter(self._links)))
        secret, until = new_token(), Millis(now + LINK_LIFE)
        self._links[digest(secret)] = until
        return secret, until

    def login_link(self, base: str, now: Millis) -> LoginLink:
        """An address to open in a browser, once. `base` is the listener's `url`."""
        secret, until = self.open_link(now)
        return LoginLink(url=f"{base}/login?t={secret}", expires_at=iso(until))

    def use_link(self, secret: str, now: Millis) -> str | None:
        """Turn a link's secret into a new session's cookie; None when it is spent or unknown."""
        until = self._links.pop(digest(secret), None)
        return self._open_session(now) if until is not None and now < until else None

    def renew(self, cookie: str, now: Millis) -> bool:
        """Note that a session is in use, once a day. True: send the cookie again."""
        session = self._session(digest(cookie), now)
        if session is None or now - session.seen_at < DAY:
            return False
        others = tuple(each for each in self.sessions if each is not session)
        self._store((*others, msgspec.structs.replace(session, seen_at=now)))
        return True

    def may_try(self, now: Millis) -> bool:
        """Whether a wrong proof is still answered plainly, or the minute's bound is reached."""
        self._failures = [at for at in self._failures if now - MINUTE < at <= now]
        return len(self._failures) < MAX_FAILURES

    def failed(self, now: Millis) -> None:
        if self.may_try(now):
            self._failures.append(now)

    def _session(self, sha256: str, now: Millis) -> Session | None:
        found = [each for each in self.sessions if same(each.sha256, sha256)]
        return found[0] if found and found[0].open_at(now) else None

    def _open_session(self, now: Millis) -> str:
        cookie = new_token()
        alive = [each for each in self.sessions if each.open_at(now)][-(MAX_SESSIONS - 1) :]
        new = Session(sha256=digest(cookie), opened_at=now, seen_at=now)
        self._store((*alive, new))
        return cookie

    def _store(self, sessions: tuple[Session, ...]) -> None:
        self.sessions = sessions
        self.keep(sessions)
