"""The HTTP application: a door for each operation, the event stream, and the pages.

A route has no logic of its own. What may be asked stands in the table of operations, who may
ask in `authority`, and what an answer looks like in `answer`.
"""

from functools import cache
from typing import TYPE_CHECKING

from aiohttp import web

from gnomon.gateway.admit import Admission, add_security_headers
from gnomon.gateway.api import Api
from gnomon.gateway.connections import Connections
from gnomon.gateway.events import Events
from gnomon.gateway.wiring import Wiring

if TYPE_CHECKING:
    from gnomon.gateway.dashboard.pages import Pages

MAX_BODY_BYTES = 1024 * 1024
"""Of a request. What is larger is a file, and operations take paths of files."""


def build(wiring: Wiring, port: int, connections: Connections) -> web.Application:
    """Make the application that answers at 127.0.0.1:`port`."""

    @cache
    def pages() -> "Pages":
        """Loaded with their template engine when the first page is asked for, not before."""
        from gnomon.gateway.dashboard.pages import Pages

        return Pages(wiring)

    async def page(asked: web.Request) -> web.StreamResponse:
        return await pages().serve(asked)

    admission = Admission(wiring, port, lambda notice: pages().notice(notice), connections)
    app = web.Application(middlewares=[admission.admit], client_max_size=MAX_BODY_BYTES)
    app.on_response_prepare.append(add_security_headers)

    api = Api(wiring.operations)
    app.router.add_get("/api", api.table, allow_head=False)
    app.router.add_get("/api/openapi.json", api.openapi, allow_head=False)
    app.router.add_get("/api/{name}", api.read, allow_head=False)
    app.router.add_post("/api/{name}", api.act)

    events = Events(wiring.stream)
    app.router.add_get("/events", events.serve, allow_head=False)
    app.on_shutdown.append(events.end)

    app.router.add_get("/login", admission.login, allow_head=False)
    app.router.add_get("/{path:.*}", page, allow_head=False)
    return app
