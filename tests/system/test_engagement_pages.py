"""What the operator does on the pages stands in the ledger, and the number follows: a real
gateway, a real home, a real browser.
"""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page

from tests.browser import BOUND_MS, DESK, a_browser
from tests.live_kit import LiveGateway, a_live_gateway

pytestmark = [
    pytest.mark.browser,
    pytest.mark.system,
    pytest.mark.timeout(90),
    pytest.mark.asyncio(loop_scope="module"),
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with a_browser() as opened:
        yield opened


@pytest_asyncio.fixture(loop_scope="module")
async def gateway(tmp_path: Path) -> AsyncIterator[LiveGateway]:
    async with a_live_gateway(tmp_path / "home") as live:
        yield live


@pytest_asyncio.fixture(loop_scope="module")
async def page(browser: Browser, gateway: LiveGateway) -> AsyncIterator[Page]:
    context = await browser.new_context(viewport=DESK)
    opened = await context.new_page()
    opened.set_default_timeout(BOUND_MS)
    complaints: list[str] = []
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on(
        "console", lambda said: complaints.append(said.text) if said.type == "error" else None
    )
    await opened.goto(gateway.login())
    yield opened
    await context.close()
    assert complaints == []


def item(surface: str) -> str:
    return f'[data-item="{surface}"]'


async def press(page: Page, surface: str, word: str) -> None:
    await page.click(f'{item(surface)} button:has-text("{word}")')


async def rewrite(page: Page, surface: str, text: str) -> None:
    await press(page, surface, "Edit text")
    await page.fill(f"{item(surface)} textarea", text)
    await press(page, surface, "Keep this text")
    await settled(page, surface)


async def reply(page: Page, surface: str, text: str) -> None:
    """By keyboard alone."""
    await page.focus(item(surface))
    await page.keyboard.press("r")
    assert "Shall I watch /shop?" in await page.inner_text("[data-replying]")
    await page.keyboard.type(text)
    await page.keyboard.press("Enter")
    await settled(page, surface)
    assert not await page.is_visible("[data-replying]")


async def settled(page: Page, surface: str) -> None:
    """Wait until it stands among what was answered."""
    await page.wait_for_selector(f".items {item(surface)}", state="detached")


async def number(page: Page, url: str) -> str:
    await page.goto(f"{url}/fitness")
    return await page.inner_text("#fitness .big >> nth=0")


async def test_each_answer_changes_the_ledger_and_then_the_number(gateway: LiveGateway, page: Page):
    url = gateway.listener.url
    used = await gateway.bring("The tests ran three times")
    dismissed = await gateway.bring("The import was slow")
    replied = await gateway.bring("Shall I watch /shop?")
    decided = await gateway.bring("npm or pnpm?", "pending")
    edited = await gateway.bring("Your note of Monday")
    opened = await gateway.bring(
        "Why the tests run three times", "artifact", await gateway.write_document("checkout")
    )
    read = await gateway.bring(
        "What the log says", "artifact", await gateway.write_document("the log")
    )
    assert await number(page, url) == (
        "Too early to say. Brought 7, used 0, open 7. A score appears after 3 have settled."
    )

    await page.goto(url)
    await press(page, used, "Use")
    await settled(page, used)
    await page.focus(item(dismissed))
    await page.keyboard.press("d")
    await settled(page, dismissed)
    await press(page, decided, "Resolved")
    await settled(page, decided)
    await rewrite(page, edited, "Monday: the port")
    await reply(page, replied, "yes, do")
    await press(page, opened, "Open")
    await page.wait_for_selector("#artifact h1")
    assert "Used" in await page.inner_text("#artifact")

    before = gateway.outcomes()
    await page.goto(f"{url}/artifact?surface={read}")
    await page.wait_for_selector("#artifact .document h2")
    assert gateway.outcomes() == before, "to look is not to use"
    await page.click("#artifact >> text=I read this")
    await page.wait_for_selector("#artifact .outcome-acted")

    assert gateway.outcomes() == [
        (used, "acted", "dashboard_click"),
        (dismissed, "acked", "dashboard_click"),
        (decided, "acted", "agenda_resolved"),
        (edited, "acted", "text_edited"),
        (replied, "acted", "reply_in_conversation"),
        (opened, "acted", "artifact_file_open"),
        (read, "acted", "dashboard_click"),
    ]
    assert await number(page, url) == (
        "Used 6 of 7 (86%), last 7 days. You dismissed 1, let 0 pass."
    )
    await page.goto(url)
    await page.click("#inbox summary")
    earlier = await page.inner_text("#inbox .earlier")
    assert "Dismissed" in earlier
    assert "Used" in earlier


async def test_a_document_is_shown_as_text_that_cannot_act(gateway: LiveGateway, page: Page):
    surface = await gateway.bring("A brief", "artifact", await gateway.write_document("brief"))
    await page.goto(f"{gateway.listener.url}/artifact?surface={surface}")
    await page.wait_for_selector("#artifact .document h2")
    shown = await page.inner_text("#artifact .document")
    assert "What was found" in shown
    assert '<script>document.title = "taken over"</script>' in shown
    assert "a link (javascript:alert(1))" in shown
    assert await page.locator("#artifact .document :is(a, script, img, iframe)").count() == 0
    assert await page.locator("#artifact .document li").count() == 2
    assert "taken over" not in await page.title()
    facts = await page.inner_text("#artifact .facts")
    assert "The runner retries on a port that is taken." in facts


async def test_the_fitness_page_follows_an_answer_that_is_given_elsewhere(
    gateway: LiveGateway, page: Page
):
    surfaces = [await gateway.bring(f"Note {n}") for n in range(3)]
    await page.goto(f"{gateway.listener.url}/fitness")
    await page.wait_for_selector("text=Brought 3, used 0, open 3")
    for surface in surfaces:
        await gateway.core.book.record(surface, "acted", "cli")
    await page.wait_for_selector("text=Used 3 of 3 (100%)")
