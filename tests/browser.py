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

TOO_WIDE = """() => [...document.querySelectorAll("body *")]
    .filter(each => each.getBoundingClientRect().right > innerWidth + 1
        && !each.closest(".scroll, .messages, pre, .sr, .skip"))
    .map(each => each.outerHTML.slice(0, 90))"""
"""What stands beyond the right edge, but for what scrolls by itself."""
CONTRAST = """() => {
    const light = (rgb) => {
        const [r, g, b] = rgb.map(v => v / 255)
            .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const parse = (text) => (text.match(/[\\d.]+/g) ?? []).map(Number);
    const behind = (node) => {
        for (let each = node; each; each = each.parentElement) {
            const colour = parse(getComputedStyle(each).backgroundColor);
            if (colour.length === 3 || colour[3] === 1) return colour.slice(0, 3);
        }
        return [255, 255, 255];
    };
    return [...document.querySelectorAll("body *")]
        .filter(node => node.checkVisibility()
            && [...node.childNodes].some(each => each.nodeType === 3 && each.data.trim()))
        .map(node => {
            const [a, b] = [light(parse(getComputedStyle(node).color).slice(0, 3)),
                light(behind(node))];
            const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
            return [ratio, node.className, node.textContent.trim().slice(0, 40)];
        })
        .filter(([ratio]) => ratio < 4.5);
}"""
"""Texts below WCAG AA: 4.5 to 1 between them and what is behind."""
NAMELESS = """() => [...document.querySelectorAll("button, input, textarea, a, summary, svg")]
    .filter(each => each.checkVisibility() && !each.ariaHidden)
    .filter(each => !(each.ariaLabel || each.textContent.trim()
        || each.labels?.[0]?.textContent.trim()))
    .map(each => each.outerHTML)"""
"""Fields and buttons without a name."""


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
