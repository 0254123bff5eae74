"""Draws pages and their parts. Loaded when the first page is asked for."""

import asyncio
import hashlib
import logging
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from aiohttp import hdrs, web

from gnomon import __version__
from gnomon.domain.errors import GnomonError
from gnomon.domain.json_value import Fields
from gnomon.gateway import answer
from gnomon.gateway.admit import Notice
from gnomon.gateway.answer import NotFoundError
from gnomon.gateway.dashboard import wording
from gnomon.gateway.dashboard.part import Part, Query
from gnomon.gateway.dashboard.parts import EVENTS_READ, EVENTS_SHOWN, PAGES, PARTS
from gnomon.gateway.dashboard.render import environment
from gnomon.gateway.request import arguments_of_fields
from gnomon.gateway.wiring import Wiring

WAIT_SECONDS = 1.0
"""A page waits so long for its parts; what is later comes by itself."""
QUERY = (
    *("session", "since", "project", "surface", "name", "id", "after", "limit"),
    *("file", "from", "to"),
)
"""What pages read of their address; the rest is nobody's."""
HTML = "text/html"
OF_A_LIFE = frozenset(
    {
        *("kernel.pause", "kernel.resume", "chat.turn", "model.use", "folders.add"),
        *("history.import", "history.watch", "refine.enable", "refine.disable"),
    }
)
"""Operations of a Gnomon that lives: the pages of a simulated home have no button for them."""
TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}

log = logging.getLogger(__name__)


class Pages:
    """GET the addresses of PAGES; /part/<name>; /static/<file>."""

    def __init__(self, wiring: Wiring) -> None:
        self._operations = wiring.operations
        self._hidden = OF_A_LIFE if wiring.simulated else frozenset[str]()
        self._stream = wiring.stream
        self._clock = wiring.clock
        self._environment = environment(
            self._has,
            self._happenings,
            self._clock.wall,
            wiring,
        )
        self._static: dict[str, tuple[bytes, str]] = {}

    async def serve(self, asked: web.Request) -> web.StreamResponse:
        """Answer any address that is no operation's."""
        path, query = asked.path, {name: asked.query.get(name, "") for name in QUERY}
        if path in PAGES:
            return await self._page(path, query)
        if path.startswith("/part/"):
            return await self._part(path.removeprefix("/part/"), query)
        if path.startswith("/static/"):
            return self._file(path.removeprefix("/static/"), asked)
        if path == "/favicon.ico":
            return self._file("gnomon.svg", asked)
        raise NotFoundError("There is no such page.", next_step="Start at the first one.")

    def notice(self, notice: Notice) -> web.Response:
        """A refusal as a page that says how to go on."""
        text = self._environment.get_template("notice.html").render(notice=notice, page="notice")
        return web.Response(text=text, status=notice.status, content_type=HTML)

    async def _page(self, path: str, query: Query) -> web.Response:
        name, wanted = PAGES[path]
        present = {each: PARTS[each] for each in wanted if self._has(*PARTS[each].needs)}
        drawn = await self._draw_at_once(present, query)
        text = self._environment.get_template(f"{name}.html").render(
            page=name,
            parts=present,
            drawn=drawn,
            query=query,
            life=self._stream.life,
            place=self._stream.event_id(self._stream.last),
            version=__version__,
        )
        return web.Response(text=text, content_type=HTML)

    async def _draw_at_once(self, parts: Mapping[str, Part], query: Query) -> Mapping[str, str]:
        waits = {
            name: asyncio.create_task(self._draw(name, query), name=f"part-{name}")
            for name, part in parts.items()
            if part.at_once and not part.on_press
        }
        if not waits:
            return {}
        _, late = await asyncio.wait(waits.values(), timeout=WAIT_SECONDS)
        for task in late:
            task.cancel()
        return {name: task.result() for name, task in waits.items() if task not in late}

    async def _part(self, name: str, query: Query) -> web.Response:
        if name not in PARTS or not self._has(*PARTS[name].needs):
            raise NotFoundError("There is no such part.")
        return web.Response(text=await self._draw(name, query), content_type=HTML)

    async def _draw(self, name: str, query: Query) -> str:
        """A part as HTML; what keeps it from being drawn is said in its place."""
        try:
            facts = await PARTS[name].load(self._ask, query)
            template = self._environment.get_template(f"parts/{name}.html")
            return template.render(facts, query=query, page="part")
        except GnomonError as error:
            return self._problem(error)
        except Exception as error:
            log.exception("The part %s could not be drawn.", name)
            return self._problem(error)

    def _problem(self, error: Exception) -> str:
        template = self._environment.get_template("parts/problem.html")
        return template.render(refusal=answer.refusal_of(error))

    async def _ask(self, name: str, /, **fields: Any) -> Any:
        operation = self._operations[name]
        return await operation.run(arguments_of_fields(operation, fields), _unheard)

    def _has(self, *names: str) -> bool:
        return all(name in self._operations and name not in self._hidden for name in names)

    def _happenings(self) -> Any:
        return wording.happenings(self._stream.recent("event", EVENTS_READ), EVENTS_SHOWN)

    def _file(self, name: str, asked: web.Request) -> web.Response:
        """A file of the package: the name must be one of its own, so no path leads out."""
        if name not in self._static:
            self._static |= _read_static(name)
        body, tag = self._static[name]
        headers = {hdrs.ETAG: tag, hdrs.CACHE_CONTROL: "no-cache"}
        if asked.headers.get(hdrs.IF_NONE_MATCH) == tag:
            return web.Response(status=304, headers=headers)
        kind = TYPES["." + name.rpartition(".")[2]]
        return web.Response(body=body, content_type=kind, charset="utf-8", headers=headers)


def _read_static(name: str) -> Mapping[str, tuple[bytes, str]]:
    for entry in files("gnomon.gateway.dashboard").joinpath("static").iterdir():
        if entry.name == name:
            body = entry.read_bytes()
            return {name: (body, f'"{hashlib.sha256(body).hexdigest()[:32]}"')}
    raise NotFoundError("There is no such file.")


def _unheard(_: Fields) -> None:
    """A page wants the result alone."""
