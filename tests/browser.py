"""A real Chromium, driven by Playwright, against a gateway in this process."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Literal

from playwright.async_api import Browser, BrowserContext, Page, ViewportSize, async_playwright

from gnomon.gateway.listen import Listener, listen
from gnomon.testing.operations import PretendedHouse
from tests.capabilities import chromium

FLAGS = [
    "--no-sandbox",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
DESK: ViewportSize = {"width": 1280, "height": 900}
BOUND_MS = 10_000
Scheme = Literal["light", "dark"]


@dataclass
class Visit:
    """A signed-in page. `complaints` are what the console and the page's scripts said wrong,
    violations of the content policy among them; `strangers` are requests to other hosts.
    """

    house: PretendedHouse
    listener: Listener
    context: BrowserContext
    page: Page
    complaints: list[str] = field(default_factory=list[str])
    strangers: list[str] = field(default_factory=list[str])

    async def go(self, path: str) -> None:
        await self.page.goto(self.listener.url + path)

    async def text(self, selector: str) -> str:
        return await self.page.inner_text(selector)

    async def sees(self, selector: str) -> None:
        """Wait until it is there and visible."""
        await self.page.wait_for_selector(selector, timeout=BOUND_MS)

    async def sees_text(self, selector: str, text: str) -> None:
        await self.page.locator(selector, has_text=text).first.wait_for(timeout=BOUND_MS)

    def _listen(self) -> None:
        self.page.set_default_timeout(BOUND_MS)
        self.page.on(
            "console",
            lambda said: self.complaints.append(said.text) if said.type == "error" else None,
        )
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: self.complaints.append(f"dialog: {dialog.message}"))
        self.page.on("request", lambda asked: self._note(asked.url))

    def _note(self, url: str) -> None:
        if not url.startswith(self.listener.url + "/"):
            self.strangers.append(url)


@asynccontextmanager
async def a_browser() -> AsyncGenerator[Browser, None]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        yield browser
        await browser.close()


@asynccontextmanager
async def a_visit(
    browser: Browser,
    house: PretendedHouse | None = None,
    *,
    path: str = "/",
    scheme: Scheme = "light",
) -> AsyncGenerator[Visit, None]:
    """Open a page by a login link, as an operator does."""
    house = house or PretendedHouse()
    listener = await listen(house.wiring(), 0)
    made = await browser.new_context(viewport=DESK, color_scheme=scheme)
    visit = Visit(house, listener, made, await made.new_page())
    visit._listen()
    try:
        link = house.authority.login_link(listener.url, house.clock.wall())
        await visit.page.goto(link.url)
        if path != "/":
            await visit.go(path)
        yield visit
    finally:
        await made.close()
        await visit.listener.close()
