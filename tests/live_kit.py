"""A whole gateway in this process, over a real home: its core, its life, its pages.

What it writes is read from its files by the tests, and what only its parts can make (an
artifact, a surface of the model's) is asked of them directly.
"""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gnomon.daemon.acts import Acts
from gnomon.daemon.core import Core
from gnomon.daemon.inbox.surfaces import Asked, Payload
from gnomon.daemon.life import Life
from gnomon.daemon.operations import table
from gnomon.daemon.store.create import ensure_root
from gnomon.daemon.this_machine import this_machine
from gnomon.daemon.wire import open_core
from gnomon.domain.records import SurfaceKind
from gnomon.gateway.authority import Authority, digest
from gnomon.gateway.listen import Listener, listen
from gnomon.gateway.wiring import Wiring
from gnomon.home import Home
from gnomon.resident.protocol import ArtifactArguments

ENVIRON = {"GNOMON_MODEL": "none", "HOME": "/nonexistent"}
DOCUMENT = """---
kind: research-brief
title: Why the checkout tests run three times
summary: The runner retries on a port that is taken.
points:
  - Two cases bind port 8080.
sources: []
---
# What was found

Two cases bind **port 8080**, and `pnpm test` starts again.

- The first one wins.
- The second one is called a flake.

<script>document.title = "taken over"</script>
[a link](javascript:alert(1))
"""


@dataclass
class LiveGateway:
    core: Core
    listener: Listener
    authority: Authority

    def login(self) -> str:
        return self.authority.login_link(self.listener.url, self.core.platform.clock.wall()).url

    async def bring(
        self, title: str, kind: SurfaceKind = "notification", artifact: str | None = None
    ) -> str:
        """A surface of the model's."""
        payload = Payload(kind=kind, title=title, body=f"About {title}.", artifact=artifact)
        surface = await self.core.surfaces.emit(
            Asked(
                payload=payload,
                origin="model",
                scaffold_version="000001-25e59ed12225",
                at_once=True,
            )
        )
        assert surface is not None
        return surface

    async def write_document(self, title: str) -> str:
        made = await self.core.artifacts.put(
            ArtifactArguments(
                action_kind="research-brief", title=title, query="why?", text=DOCUMENT
            )
        )
        return made.artifact

    def lines(self, path: Path) -> list[dict[str, Any]]:
        return [json.loads(line) for line in path.read_text().splitlines()]

    def outcomes(self) -> list[tuple[str, str, str]]:
        """Surface, outcome and source of each outcome line, as they stand in the file."""
        found = self.lines(self.core.agent.engagement_ledger)
        return [
            (line["surface_id"], line["outcome"], line["source"])
            for line in found
            if line["kind"] == "outcome"
        ]


@asynccontextmanager
async def a_live_gateway(root: Path) -> AsyncGenerator[LiveGateway, None]:
    """Begin a life in a new home; end it in order."""
    home = Home(root)
    ensure_root(home)
    platform = replace(this_machine(), environ=ENVIRON)
    async with open_core(home, "main", platform) as core:
        token = home.operator_token.read_text().strip()
        authority = Authority(operator_sha256=digest(token), keep=core.memo.keep_browsers)
        operations = table(core, Acts(core))
        listener = await listen(Wiring(operations, authority, core.stream, platform.clock), 0)
        life = Life(core)
        await life.begin()
        try:
            yield LiveGateway(core, listener, authority)
        finally:
            await listener.close()
            await life.end()
