"""The inbox and the Fitness page in a real browser, against a pretended Gnomon."""

import asyncio
from collections.abc import AsyncIterator

import msgspec
import pytest
import pytest_asyncio
from playwright.async_api import Browser

from gnomon.domain.errors import UsageError
from gnomon.testing.operations import PretendedHouse
from gnomon.testing.referee import an_item, some_items
from tests.browser import Visit, a_browser, a_visit

pytestmark = [
    pytest.mark.browser,
    pytest.mark.system,
    pytest.mark.timeout(60),
    pytest.mark.asyncio(loop_scope="module"),
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with a_browser() as opened:
        yield opened


@pytest_asyncio.fixture(loop_scope="module")
async def visit(browser: Browser) -> AsyncIterator[Visit]:
    house = PretendedHouse()
    house.gnomon.inbox.items = some_items()
    async with a_visit(browser, house) as opened:
        yield opened
        assert opened.complaints == []
        assert opened.strangers == []


async def test_an_empty_inbox_says_what_will_come(browser: Browser):
    async with a_visit(browser) as visit:
        await visit.sees_text("#inbox", "Nothing waits for you.")


async def test_every_item_says_what_it_is_and_how_long_it_stays(visit: Visit):
    first = await visit.text('[data-item="sf-1"]')
    assert "Note" in first
    assert "Open 19 h left" in first
    assert "port 0 would end it" in first
    assert await visit.text("#inbox .count") == "3"
    await visit.page.click("#inbox summary")
    earlier = await visit.text("#inbox .earlier")
    assert "Dismissed" in earlier
    assert "Let pass" in earlier


async def test_keys_move_between_items_and_answer_them(visit: Visit):
    await visit.page.focus('[data-item="sf-1"]')
    await visit.page.keyboard.press("ArrowDown")
    await visit.page.keyboard.press("j")
    assert await visit.page.evaluate("document.activeElement.dataset.item") == "sf-3"
    await visit.page.keyboard.press("u")
    await visit.page.wait_for_selector('.items [data-item="sf-3"]', state="detached")
    assert await visit.page.evaluate("document.activeElement.dataset.item") == "sf-2"
    await visit.page.keyboard.press("k")
    await visit.page.keyboard.press("d")
    await visit.page.wait_for_selector('.items [data-item="sf-1"]', state="detached")
    assert visit.house.gnomon.inbox.acts == [
        ("sf-3", "acted", "agenda_resolved"),
        ("sf-1", "acked", "dashboard_click"),
    ]


async def test_what_did_not_reach_the_record_is_taken_back_with_its_reason(visit: Visit):
    visit.house.gnomon.inbox.failing["inbox.use"] = UsageError(
        "Its time is over.", next_step="Answer what is still open."
    )
    await visit.page.click('[data-item="sf-1"] button:has-text("Use")')
    await visit.sees_text('[data-item="sf-1"] [data-problem]', "Its time is over.")
    assert await visit.text('[data-item="sf-1"] [data-state]') == "Open 19 h left"
    assert await visit.page.is_enabled('[data-item="sf-1"] button:has-text("Use")')
    assert visit.house.gnomon.inbox.acts == []


async def test_an_item_that_arrives_appears_by_itself(visit: Visit):
    inbox = visit.house.gnomon.inbox
    inbox.items = [*inbox.items, an_item("sf-7", title="It <b>just</b> came")]
    visit.house.stream.publish("inbox", {})
    await visit.sees_text('[data-item="sf-7"]', "It <b>just</b> came")


async def test_a_reply_names_what_it_answers_and_can_be_called_off(visit: Visit):
    await visit.page.click('[data-item="sf-1"] button:has-text("Reply")')
    await visit.sees_text("[data-replying]", "You answer: The checkout tests ran")
    await visit.page.click("text=Not an answer")
    await visit.page.fill("textarea", "something else")
    await visit.page.press("textarea", "Enter")
    await visit.sees(".source")
    [turn] = visit.house.gnomon.called("chat.turn")
    assert turn.reply_to is None
    assert visit.house.gnomon.inbox.acts == []


# --- fitness -------------------------------------------------------------------------------------


async def test_someone_new_reads_the_answer_first(visit: Visit):
    await visit.go("/fitness")
    assert await visit.text("#fitness h1") == "Is it learning?"
    health = await visit.text("#fitness .health")
    assert health == "Too early to say: 0 of 3 verdicts."
    shown = await visit.text("#fitness")
    assert "Used 14 of 22 (64%), last 7 days. You dismissed 3, let 5 pass." in shown
    assert "2 came while it was off and don't count; 3 are open." in shown
    assert "Going in circles: 0.19 (0 fresh, 1 stuck)" in shown
    assert "At 5 a day, a 10-point difference shows after about 100 days." in shown
    assert await visit.page.locator("#fitness svg.spark").count() == 2
    viewport = visit.page.viewport_size
    box = await visit.page.locator("#fitness .pair").bounding_box()
    assert viewport is not None
    assert box is not None
    assert box["y"] < viewport["height"] / 2, "it is read without scrolling"


async def test_each_number_opens_the_lines_behind_it(visit: Visit):
    await visit.go("/fitness")
    await visit.page.click(".windows tbody tr:first-child td.n a >> nth=0")
    await visit.sees_text("h1", "decision-ledger")
    assert await visit.page.locator(".line").count() == 41
    await visit.page.click("#line-90 summary")
    await visit.sees_text("#line-90 pre", '"skip_reason": "idle"')
    await visit.page.click("text=Earlier lines")
    await visit.sees("#line-49")


async def test_the_pooled_number_opens_the_lines_behind_it_too(visit: Visit):
    await visit.go("/fitness")
    await visit.page.click("text=The lines behind this >> nth=0")
    await visit.sees_text("h1", "engagement-ledger")
    assert await visit.page.locator(".line").count() == 79


async def test_what_may_still_change_is_called_provisional(visit: Visit):
    await visit.go("/fitness")
    assert await visit.page.locator(".windows .provisional").count() == 3
    assert "It did not run, until" in await visit.text(".windows")


async def test_how_it_is_counted_is_told_in_plain_words(visit: Visit):
    await visit.go("/fitness")
    await visit.page.click("text=How is this counted?")
    await visit.sees_text(".how", "used / (used + dismissed + let pass)")
    await visit.sees_text(".how", "0.3 \N{MULTIPLICATION SIGN} too-soon work")


async def test_the_page_counts_again_each_minute_while_it_is_looked_at(browser: Browser):
    house = PretendedHouse()
    async with a_visit(browser, house) as visit:
        await visit.page.clock.install()
        await visit.go("/fitness")
        await visit.sees_text("#fitness .big", "Used 14 of 22 (64%)")
        inbox = house.gnomon.inbox
        inbox.settled = msgspec.structs.replace(inbox.settled, acted=15)
        await visit.page.clock.run_for(59_000)
        assert "Used 14 of 22" in await visit.text("#fitness .big >> nth=0")
        await visit.page.clock.run_for(2_000)
        await visit.sees_text("#fitness .big", "Used 15 of 23 (65%)")


async def test_a_page_that_is_not_looked_at_asks_for_nothing(browser: Browser):
    house = PretendedHouse()
    async with a_visit(browser, house) as visit:
        await visit.page.clock.install()
        await visit.go("/fitness")
        asked: list[str] = []
        visit.page.on("request", lambda request: asked.append(request.url))
        await visit.page.evaluate(HIDE)
        await visit.page.clock.run_for(600_000)
        await asyncio.sleep(0)
        assert [url for url in asked if "/part/" in url] == []
        async with visit.page.expect_request("**/part/fitness**"):
            await visit.page.evaluate(SHOW)


HIDE = """() => {
    Object.defineProperty(document, "hidden", { value: true, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
}"""
SHOW = """() => {
    delete document.hidden;
    document.dispatchEvent(new Event("visibilitychange"));
}"""
