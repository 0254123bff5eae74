"""Acts on what `authority` decides: lets requests in, refuses the others, sets the cookie."""

import logging
from collections.abc import Callable, Mapping
from typing import NoReturn

import msgspec
from aiohttp import hdrs, web
from aiohttp.typedefs import Handler

from gnomon.domain.errors import UsageError
from gnomon.domain.instants import SECOND
from gnomon.gateway import answer
from gnomon.gateway.answer import (
    BusyError,
    ForbiddenError,
    MethodError,
    NotFoundError,
    TooLargeError,
    TooManyTriesError,
    UnauthorisedError,
)
from gnomon.gateway.authority import (
    SESSION_LIFE,
    Origins,
    Proof,
    fault_of_origin,
    host_is_ours,
)
from gnomon.gateway.connections import Connections
from gnomon.gateway.door import Door, Way, entered
from gnomon.gateway.operation import Authority as Scope
from gnomon.gateway.operation import Operation
from gnomon.gateway.wiring import Wiring

SECURITY_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'; trusted-types gnomon-parts"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Server": "gnomon",
}
PUBLIC = ("/static/", "/login", "/favicon.ico")
"""Needs no proof: it is the same for everybody, or takes the proof itself."""

log = logging.getLogger(__name__)


class Notice(msgspec.Struct, frozen=True, kw_only=True):
    """A refusal that a person reads in a browser."""

    status: int
    code: str
    address: str
    """Where the dashboard is, for whoever came by another name."""
    message: str
    next_step: str


async def add_security_headers(asked: web.Request, response: web.StreamResponse) -> None:
    """On every answer, streams and refusals too."""
    response.headers.update(SECURITY_HEADERS)
    response.headers.setdefault(hdrs.CACHE_CONTROL, "no-store")


class Admission:
    """The one middleware. `notice` renders a refusal as a page."""

    def __init__(
        self,
        wiring: Wiring,
        port: int,
        notice: Callable[[Notice], web.Response],
        connections: Connections,
    ) -> None:
        self._operations: Mapping[str, Operation] = wiring.operations
        self._authority = wiring.authority
        self._clock = wiring.clock
        self._port = port
        self._notice = notice
        self._connections = connections

    @web.middleware
    async def admit(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Answer a request that may be answered, and refuse the others."""
        asked = request
        try:
            with entered(self._check(asked)):
                response = await handler(asked)
        except web.HTTPRedirection:
            raise
        except Exception as error:
            if asked.transport is None or asked.transport.is_closing():
                raise
            return self._refused(asked, _translated(error))
        self._renew(asked, response)
        return response

    async def login(self, asked: web.Request) -> NoReturn:
        """GET /login?t=<secret>: once, into a session; then away from the address with the secret.

        A browser that is let in already goes on to the first page, whatever its link.
        """
        if "prefetch" in asked.headers.get("Sec-Purpose", ""):
            raise BusyError("Looking ahead must not spend a link.")
        now = self._clock.wall()
        cookie = self._authority.use_link(asked.query.get("t", ""), now)
        if cookie is None and self._authority.scope(self._proof(asked), now) != "operator":
            self._turn_away(
                UnauthorisedError(
                    "This link was used already, or is too old.",
                    next_step="Run `gnomon open` for a fresh one.",
                )
            )
        redirect = web.HTTPSeeOther("/")
        if cookie is not None:
            self._set_cookie(redirect, cookie)
        raise redirect

    def _check(self, asked: web.Request) -> Door:
        """The door that it came in by. Raises what keeps this request out."""
        if not host_is_ours(asked.headers.get(hdrs.HOST), self._port):
            raise ForbiddenError(
                "Gnomon answers to its own local address alone.",
                next_step=f"Open http://127.0.0.1:{self._port}/ on this machine.",
                reason="foreign-host",
            )
        proof = self._proof(asked)
        fault = fault_of_origin(_origins(asked), self._port, by_bearer=proof.bearer is not None)
        if fault is not None:
            raise ForbiddenError("Another site may not ask this of Gnomon.", reason=fault)
        way: Way = "cli" if proof.bearer is not None else "dashboard"
        if asked.path.startswith(PUBLIC):
            return Door("client", way)
        scope = self._check_scope(proof, self._needed(asked.path))
        self._connections.has_shown_proof(asked.transport)
        return Door(scope, way)

    def _check_scope(self, proof: Proof, needed: Scope) -> Scope:
        scope = self._authority.scope(proof, self._clock.wall())
        if scope is None:
            error = UnauthorisedError("Gnomon does not know you.", next_step="Run `gnomon open`.")
            if proof == Proof():
                raise error
            self._turn_away(error)
        if needed == "operator" and scope != "operator":
            raise ForbiddenError("This is for the operator alone.", reason="scope", scope=scope)
        return scope

    def _turn_away(self, error: UnauthorisedError) -> NoReturn:
        """A wrong proof: counted, and past the bound told to wait."""
        now = self._clock.wall()
        if not self._authority.may_try(now):
            raise TooManyTriesError("Too many wrong keys.", next_step="Wait a minute.")
        self._authority.failed(now)
        raise error

    def _needed(self, path: str) -> Scope:
        operation = self._operations.get(path.removeprefix("/api/"))
        return "operator" if operation is None else operation.authority

    def _proof(self, asked: web.Request) -> Proof:
        scheme, _, token = asked.headers.get(hdrs.AUTHORIZATION, "").partition(" ")
        bearer = token.strip() if scheme.lower() == "bearer" else None
        return Proof(bearer=bearer, cookie=asked.cookies.get(self._authority.cookie_name))

    def _renew(self, asked: web.Request, response: web.StreamResponse) -> None:
        cookie = self._proof(asked).cookie
        if cookie is None or response.prepared:
            return
        if self._authority.renew(cookie, self._clock.wall()):
            self._set_cookie(response, cookie)

    def _set_cookie(self, response: web.StreamResponse, value: str) -> None:
        response.set_cookie(
            self._authority.cookie_name,
            value,
            max_age=SESSION_LIFE // SECOND,
            httponly=True,
            samesite="Strict",
            path="/",
        )

    def _refused(self, asked: web.Request, error: Exception) -> web.Response:
        status, refusal = answer.status_of(error), answer.refusal_of(error)
        if status >= 500:
            log.error("%s %s failed.", asked.method, asked.path, exc_info=error)
        if "text/html" in asked.headers.get(hdrs.ACCEPT, ""):
            response = self._notice(
                Notice(
                    status=status,
                    code=refusal.code,
                    address=f"http://127.0.0.1:{self._port}/",
                    message=refusal.message,
                    next_step=refusal.next_step,
                )
            )
        else:
            response = web.Response(
                body=answer.failure(error), status=status, content_type="application/json"
            )
        if isinstance(error, MethodError):
            response.headers[hdrs.ALLOW] = str(error.facts.get("allow", "GET"))
        return response


def _origins(asked: web.Request) -> Origins:
    headers = asked.headers
    navigates = headers.get("Sec-Fetch-Mode") == "navigate" and asked.method == hdrs.METH_GET
    acts = asked.method != hdrs.METH_GET or asked.path == "/events"
    return Origins(
        host=headers.get(hdrs.HOST),
        origin=headers.get(hdrs.ORIGIN),
        fetch_site=headers.get("Sec-Fetch-Site"),
        acts=acts,
        navigates=navigates and not acts and not asked.path.startswith("/api"),
    )


def _translated(error: Exception) -> Exception:
    """The server's own refusals in our words."""
    match error:
        case web.HTTPRequestEntityTooLarge():
            return TooLargeError(
                "The request is too large.", next_step="Send at most 1 MiB.", limit_bytes=1 << 20
            )
        case web.HTTPMethodNotAllowed(allowed_methods=allowed):
            return MethodError("Not by this method.", allow=", ".join(sorted(allowed)))
        case web.HTTPNotFound():
            return NotFoundError("There is nothing here.", next_step="Start at the first page.")
        case web.HTTPException():
            return UsageError("The request could not be read.")
        case _:
            return error
