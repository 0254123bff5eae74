"""What a newcomer stumbled over, in a real browser: narrow screens, a simulated home, raw signs."""

from collections.abc import AsyncIterator

import msgspec
import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page

from gnomon.domain.views import Check, Diagnosis, MessageView, ModelView
from gnomon.domain.views_history import CostRow, LooseEnd
from gnomon.testing.facts import a_report, a_status
from gnomon.testing.operations import PretendedHouse
from gnomon.testing.referee import an_item, some_items
from tests.browser import TOO_WIDE, a_browser, a_visit

pytestmark = [
    pytest.mark.browser,
    pytest.mark.system,
    pytest.mark.timeout(60),
    pytest.mark.asyncio(loop_scope="module"),
]
WIDTHS = (320, 390, 640, 768)
PAGES = ("/", "/fitness", "/changes", "/approvals", "/report", "/trust")
OF_NAV = """() => [...document.querySelectorAll(".top nav a")].map(each => {
    const box = each.getBoundingClientRect();
    return [each.textContent, box.left >= 0 && box.right <= innerWidth && box.height > 0];
})"""
BROKEN_WORDS = """() => [...document.querySelectorAll("td, th")]
    .filter(each => each.checkVisibility())
    .flatMap(each => [...each.querySelectorAll("code"), each])
    .flatMap(each => [...each.childNodes].filter(node => node.nodeType === 3))
    .flatMap(node => [...node.data.matchAll(/(?<!\\S)\\S{1,12}(?!\\S)/g)].map(found => {
        const range = document.createRange();
        range.setStart(node, found.index);
        range.setEnd(node, found.index + found[0].length);
        return [found[0], new Set([...range.getClientRects()].map(box => box.top)).size];
    }))
    .filter(([, rows]) => rows > 1)"""
"""Short words of a table that stand in more than one row."""
CUT_OFF = """() => [...document.querySelectorAll("table.narrow td, .command")]
    .filter(each => each.checkVisibility() && each.getBoundingClientRect().right > innerWidth)
    .map(each => each.textContent.slice(0, 60))"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with a_browser() as opened:
        yield opened


async def narrow(page: Page, width: int) -> None:
    await page.set_viewport_size({"width": width, "height": 800})


async def test_every_page_is_seen_in_the_navigation_on_every_screen(browser: Browser):
    async with a_visit(browser) as visit:
        for path in PAGES:
            await visit.go(path)
            for width in WIDTHS:
                await narrow(visit.page, width)
                seen = dict(await visit.page.evaluate(OF_NAV))
                assert seen == dict.fromkeys(seen, True), (path, width)
                assert await visit.page.is_visible(".top nav a[aria-current=page]")


async def test_no_short_word_of_a_table_is_broken_on_a_phone(browser: Browser):
    house = PretendedHouse()
    long = CostRow(project="/home/ada/a_folder_with/a_long_name/and_more/of_it", model="m", usd=1)
    house.gnomon.report = msgspec.structs.replace(a_report(), cost=(long,))
    async with a_visit(browser, house) as visit:
        for path in ("/report", "/trust"):
            await visit.go(path)
            await visit.page.wait_for_selector("[data-late]", state="detached")
            for width in WIDTHS:
                await narrow(visit.page, width)
                assert await visit.page.evaluate(BROKEN_WORDS) == [], (path, width)
                assert await visit.page.evaluate(TOO_WIDE) == [], (path, width)
                assert await visit.page.evaluate(CUT_OFF) == [], (path, width)


async def test_the_self_test_of_many_parts_is_folded_into_a_list(browser: Browser):
    house = PretendedHouse()
    parts = [f"{each} (full, 2026-11-30T19:27:13.068Z): exec held" for each in ("a", "b", "c")]
    house.gnomon.diagnosis = Diagnosis(
        checks=(Check(name="jail-self-test", ok=True, level="ok", detail="; ".join(parts), fix=""),)
    )
    async with a_visit(browser, house, path="/trust") as visit:
        await visit.page.click("text=What each of 3 showed")
        shown = await visit.page.locator("#doctor .plain-list li").all_inner_texts()
        assert shown[0] == "a (full, 2026-11-30 19:27 UTC): exec held"
        assert len(shown) == 3
        await narrow(visit.page, 390)
        box = await visit.page.locator("#doctor .plain-list li").first.bounding_box()
        assert box is not None
        assert box["width"] > 200, "not a column of words"


async def test_the_footer_ends_the_window_and_pages_begin_at_one_edge(browser: Browser):
    async with a_visit(browser) as visit:
        left = set()
        for path in ("/changes", "/approvals", "/report", "/change?id=ch-8"):
            await visit.go(path)
            footer = await visit.page.locator("footer").bounding_box()
            heading = await visit.page.locator("main .part, main .page-head").first.bounding_box()
            assert footer is not None
            assert heading is not None
            assert footer["y"] + footer["height"] >= 899, path
            left.add(heading["x"])
        assert len(left) == 1


# --- a simulated home ----------------------------------------------------------------------------


def a_simulated_house() -> PretendedHouse:
    house = PretendedHouse(simulated=True, home_option=" --home /h/gnomon-demo")
    house.gnomon.inbox.items = some_items()
    nothing = ModelView(name="none", kind="none", loaded=False)
    house.gnomon.status = a_status(model=nothing, doing="no-model", next_tick_at=None)
    return house


async def test_a_simulated_home_says_that_it_is_one_and_offers_nothing_of_a_life(browser: Browser):
    async with a_visit(browser, a_simulated_house()) as visit:
        assert (await visit.text("h1")).startswith("A simulated month with Gnomon.")
        shown = await visit.text("body")
        for untrue in ("is running here", "Pause", "Waiting for a model", "none none", "Quiet."):
            assert untrue not in shown
        for absent in (".card", "#chat", "#events", "#loose-ends", "[data-do='kernel.pause']"):
            assert await visit.page.locator(absent).count() == 0
        assert "Why the checkout tests were run" in await visit.text("#now")
        assert await visit.page.locator("#inbox .item").count() == 3
        await visit.go("/report")
        await visit.sees("#report h2")
        assert await visit.page.locator("[data-do^='history.']").count() == 0
        assert visit.complaints == []


async def test_who_is_not_let_in_reads_how_to_open_this_home(browser: Browser):
    async with a_visit(browser, a_simulated_house()) as visit:
        await visit.context.clear_cookies()
        await visit.page.reload()
        assert await visit.text(".command") == "gnomon open --home /h/gnomon-demo"
        await narrow(visit.page, 320)
        assert await visit.page.evaluate(CUT_OFF) == []
    async with a_visit(browser) as visit:
        await visit.context.clear_cookies()
        await visit.page.reload()
        assert await visit.text(".command") == "gnomon open"


async def test_a_month_that_was_open_before_is_not_said_to_end_with_this_gnomon(browser: Browser):
    house = PretendedHouse()
    house.gnomon.month_is_ours = False
    async with a_visit(browser, house) as visit:
        await visit.page.click("text=See a simulated month")
        await visit.sees_text("#card-more", "The month was open already")
        assert "ends when Gnomon does" not in await visit.text("#card-more")
        assert await visit.text("#card-more .outcome code") == "gnomon demo"


# --- words ---------------------------------------------------------------------------------------


async def test_backticks_of_our_own_are_code(browser: Browser):
    async with a_visit(browser, path="/changes") as visit:
        await visit.sees_text("#changes code", "gnomon refine status")
        assert "`" not in await visit.text("#changes")


async def test_a_body_has_no_heading_larger_than_its_title_and_no_raw_emphasis(browser: Browser):
    house = PretendedHouse()
    house.gnomon.inbox.items = [an_item("sf-1")]
    house.gnomon.inbox.edits["sf-1"] = "# Head\n\nSome *text* of `src/*.py,*.js` and 2 * 3 * 4"
    async with a_visit(browser, house) as visit:
        sizes = await visit.page.evaluate(
            """() => ["#inbox .item > h3", ".item-body :is(h1, h2)"].map(each =>
                parseFloat(getComputedStyle(document.querySelector(each)).fontSize))"""
        )
        assert sizes[0] > sizes[1]
        assert await visit.text(".item-body em") == "text"
        assert await visit.text(".item-body p") == "Some text of src/*.py,*.js and 2 * 3 * 4"


async def test_a_fence_within_a_line_is_code_as_a_whole(browser: Browser):
    house = PretendedHouse()
    at = "2026-05-01T10:00:00.000Z"
    said = "the lantern: ```go we split the gate``` and ``more``"
    house.gnomon.messages = [MessageView(turn=1, role="assistant", text=said, at=at)]
    async with a_visit(browser, house, path="/?session=s-1") as visit:
        assert await visit.page.locator("#messages code").all_inner_texts() == [
            "go we split the gate",
            "more",
        ]
        assert "`" not in await visit.text("#messages")


async def test_a_loose_end_without_a_title_says_so(browser: Browser):
    house = PretendedHouse()
    end = LooseEnd(session="s", kind="error", at=None, resume="codex resume s")
    house.gnomon.report = msgspec.structs.replace(a_report(), loose_ends=(end,))
    async with a_visit(browser, house) as visit:
        await visit.sees_text("#loose-ends .loose-title", "A session without a title")


async def test_what_was_missed_and_is_still_open_says_that_it_can_be_answered(browser: Browser):
    house = PretendedHouse()
    house.gnomon.inbox.items = [an_item("sf-1", outcome="system_unavailable")]
    async with a_visit(browser, house) as visit:
        assert await visit.text("[data-state]") == (
            "Gnomon was paused or off meanwhile; you can still answer"
        )


async def test_the_page_of_a_ledger_says_what_its_words_mean(browser: Browser):
    async with a_visit(browser, path="/lines?name=engagement-ledger") as visit:
        said = await visit.text("#lines .page-head .fine")
        assert "acted “Used”; acked “Dismissed”; ignored “Let pass”; system_unavailable" in said
        await visit.go("/lines?name=decision-ledger")
        assert await visit.page.locator("#lines .page-head .fine").count() == 0


async def test_a_pause_is_the_one_state_that_is_shown(browser: Browser):
    house = PretendedHouse()
    house.gnomon.status = a_status(doing="reflecting", paused_until="you resume it")
    async with a_visit(browser, house) as visit:
        assert await visit.text("#now .doing") == (
            "Paused, once it has ended the thought that it is in."
        )
        assert "it only thinks" not in await visit.text("#now")
