"""The pages in a real browser: what a newcomer sees, and what happens when they press it."""

import asyncio
from collections.abc import AsyncIterator

import msgspec
import pytest
import pytest_asyncio
from playwright.async_api import Browser

from gnomon.domain.events import Event
from gnomon.domain.views import Folder, MessageView, ModelView, SessionView
from gnomon.gateway.listen import listen
from gnomon.gateway.operation import Operation
from gnomon.testing.facts import QUOTE, a_status, damaged
from gnomon.testing.operations import PretendedHouse
from gnomon.testing.referee import some_items
from tests.browser import CONTRAST, NAMELESS, TOO_WIDE, Visit, a_browser, a_visit

pytestmark = [
    pytest.mark.browser,
    pytest.mark.system,
    pytest.mark.timeout(60),
    pytest.mark.asyncio(loop_scope="module"),
]
BOUND = 10
PATHS = (
    "/",
    "/fitness",
    "/report",
    "/trust",
    "/artifact?surface=sf-2",
    "/lines?name=decision-ledger",
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with a_browser() as opened:
        yield opened


@pytest_asyncio.fixture(loop_scope="module")
async def visit(browser: Browser) -> AsyncIterator[Visit]:
    """The first page, signed in. Ends with a look at what the console said."""
    async with a_visit(browser) as opened:
        yield opened
        assert opened.complaints == []
        assert opened.strangers == []


# --- the first page ----------------------------------------------------------------------------


async def test_a_newcomer_reads_where_they_are_and_what_to_do(visit: Visit):
    assert await visit.text("h1") == (
        "Gnomon is running here.\nNothing has left this machine. Spent: $0.00."
    )
    assert "?" not in visit.page.url, "no token stays in the address"
    assert "Claude Code 214 sessions (31 days), Codex 40: counted by file name only." in (
        await visit.text("#card-history")
    )
    await visit.sees_text("#card-model", "now: built-in demo model; don't trust what it says.")
    await visit.sees_text("#loose-ends", "claude --resume 5f1c-checkout")
    await visit.sees_text("#loose-ends", "now make the checkout test pass")
    await visit.sees_text("#loose-ends", "in /home/ada/shop")
    assert await visit.page.get_attribute("textarea", "placeholder") == (
        "Ask your history: how did I fix the flaky test?"
    )


async def test_the_cookie_is_out_of_a_scripts_reach(visit: Visit):
    assert await visit.page.evaluate("document.cookie") == ""
    [cookie] = await visit.context.cookies()
    assert (cookie.get("httpOnly"), cookie.get("sameSite")) == (True, "Strict")


async def test_the_headline_changes_with_the_facts(visit: Visit):
    remote = ModelView(name="claude", kind="remote", loaded=True)
    visit.house.gnomon.status = a_status(model=remote, remote_calls=3, usd_spent=0.25)
    visit.house.stream.publish("status")
    await visit.sees_text("#headline", "goes to claude")
    assert "Nothing has left" not in await visit.text("#headline")
    assert "Spent: $0.25." in await visit.text("#headline")


async def test_reading_the_history_shows_its_progress_and_then_what_was_read(visit: Visit):
    gnomon = visit.house.gnomon
    gnomon.gate.clear()
    await visit.page.click("text=Read them: no model, stays here")
    await visit.sees("#card-history progress")
    assert "0 of 3 · a.jsonl" in await visit.text("#card-history [data-words]")
    gnomon.gate.set()
    await visit.sees_text("#card-history", "Read 3 files: 18 of your messages, 15 new notes")
    await visit.sees_text("#card-history", "3 lines that could not be read")
    await visit.sees("text=See your report")
    [asked] = gnomon.called("history.import")
    assert asked.sources == ("claude-code", "codex")
    assert gnomon.hidden == ["history"]
    await visit.page.reload()
    await visit.sees("#card-model h2")
    assert not await visit.page.is_visible("#card-history")


async def test_one_chooses_what_is_read(visit: Visit):
    await visit.page.click("text=Choose")
    await visit.page.uncheck("input[value=codex]")
    await visit.page.fill("[name=paths]", "/mnt/old/transcripts")
    await visit.page.click("text=Read what I chose")
    await visit.sees_text("#card-history", "Read 3 files")
    [asked] = visit.house.gnomon.called("history.import")
    assert asked.sources == ("claude-code",)
    assert asked.paths == ("/mnt/old/transcripts",)


async def test_a_file_that_is_no_transcript_is_told_as_a_fault_and_the_card_stays(visit: Visit):
    gnomon = visit.house.gnomon
    gnomon.files = gnomon.strangers = ("notes.txt",)
    await visit.page.click("text=Choose")
    await visit.page.fill("[name=paths]", "/home/ada/notes.txt")
    await visit.page.click("text=Read what I chose")
    await visit.sees_text("#card-history", "Nothing was read of notes.txt: not a transcript")
    await visit.sees_text("#card-history", "Claude Code and Codex")
    assert await visit.page.is_visible("#card-history .outcome.fault")
    assert not await visit.page.is_visible("#card-history >> text=See your report")
    await visit.page.reload()
    await visit.sees_text("#card-history", "Your agents left a history.")
    gnomon.files = gnomon.strangers = ("a.txt", "b.txt")
    await visit.page.click("text=Read them: no model, stays here")
    await visit.sees_text("#card-history", "None of these 2 files holds a transcript.")
    gnomon.files = ("a.txt", "b.txt", "c.jsonl")
    await visit.page.click("text=Read them: no model, stays here")
    await visit.sees_text("#card-history", "Read 1 file: 6 of your messages")
    await visit.sees_text("#card-history", "2 other files held no transcript.")


async def test_the_report_reads_another_history_after_the_card_is_gone(visit: Visit):
    gnomon = visit.house.gnomon
    gnomon.hidden.append("history")
    await visit.go("/report")
    await visit.page.click("text=Read another history")
    await visit.page.fill("#more-history [name=paths]", "/mnt/old")
    await visit.page.click("text=Read it")
    await visit.sees_text("#more-history", "Read 3 files: 18 of your messages")
    [asked] = gnomon.called("history.import")
    assert asked.paths == ("/mnt/old",)


async def test_a_simulated_month_is_lived_with_its_progress_and_then_offered(visit: Visit):
    gnomon = visit.house.gnomon
    gnomon.gate.clear()
    await visit.page.click("text=See a simulated month")
    await visit.sees_text("#card-more", "Living a simulated month: day 1 of 2.")
    assert not await visit.page.is_visible("text=Open it")
    gnomon.gate.set()
    await visit.sees_text("#card-more", "The month is ready.")
    link = visit.page.locator("#card-more >> text=Open it")
    assert await link.get_attribute("href") == "http://127.0.0.1:9/login?t=x"
    assert await link.get_attribute("target") == "_blank"
    assert len(gnomon.called("demo.open")) == 1


async def test_not_now_hides_a_card_for_good(visit: Visit):
    await visit.page.click("#card-history >> text=Not now")
    await visit.page.wait_for_selector("#card-history", state="hidden")
    await visit.page.reload()
    await visit.sees("#card-model h2")
    assert not await visit.page.is_visible("#card-history")


async def test_a_model_is_chosen_by_its_button(visit: Visit):
    await visit.page.click("#card-model >> text=Use")
    await visit.page.wait_for_selector("[data-acting]", state="detached")
    [asked] = visit.house.gnomon.called("model.use")
    assert (asked.name, asked.url) == ("qwen3:8b", "http://127.0.0.1:11434/v1")


async def test_a_folder_is_granted_and_taken_back(visit: Visit):
    await visit.page.click("text=Let it read a folder")
    await visit.page.fill("[name=path]", "/home/ada/notes")
    await visit.page.press("[name=path]", "Enter")
    await visit.sees_text("#card-more", "/home/ada/notes")
    assert visit.house.gnomon.folders == [Folder(path="/home/ada/notes", writable=False)]
    await visit.page.click("text=Take back")
    await visit.page.wait_for_selector(".folders", state="detached")
    assert visit.house.gnomon.folders == []


async def test_a_refused_act_says_why_beside_its_button(browser: Browser):
    from gnomon.domain.errors import UsageError

    async with a_visit(browser) as visit:
        visit.house.gnomon.failing["kernel.pause"] = UsageError("It is busy.", next_step="Wait.")
        await visit.page.click("text=Pause for 1 hour")
        await visit.sees_text("#now .outcome.fault", "It is busy. Wait.")


# --- chat --------------------------------------------------------------------------------------


async def test_a_question_is_answered_with_dated_quotes(visit: Visit):
    gnomon = visit.house.gnomon
    gnomon.gate.clear()
    await visit.page.click("text=How did I fix the flaky test?")
    await visit.page.press("textarea", "Enter")
    await visit.sees_text(".message.user", "How did I fix the flaky test?")
    await visit.sees_text(".progress", "Looks through your history")
    gnomon.gate.set()
    await visit.sees_text(".message.assistant", "so you bound port 0.")
    await visit.page.click(".source summary")
    await visit.sees_text(".source blockquote", "it ran 200 times clean after that")
    await visit.sees_text(".source code", "5f1c.jsonl:212")
    assert "Claude Code" in await visit.text(".source summary")
    assert not await visit.page.is_visible(".model-says .prose"), "the demo model is folded away"
    await visit.page.click(".model-says summary")
    await visit.sees_text(".model-says", "The flaky test is a test which is flaky.")
    assert "don't trust it" in await visit.text(".model-says summary")
    assert visit.page.url.endswith("/?session=s-1")


async def test_an_answer_that_is_only_quotes_shows_them_once_and_opens_the_best(visit: Visit):
    gnomon = visit.house.gnomon
    quote = f"2026-05-12 · claude-code: “{QUOTE.quote}”\n  {QUOTE.path}:{QUOTE.line}"
    gnomon.reply = msgspec.structs.replace(gnomon.reply, reply=quote)
    await visit.page.fill("textarea", "how?")
    await visit.page.press("textarea", "Enter")
    await visit.sees_text(".source blockquote", "it ran 200 times clean after that")
    assert "Found in your history" in await visit.text(".message.assistant")
    assert await visit.text(".message.assistant > .prose") == ""


async def test_words_appear_as_they_are_written(visit: Visit):
    gnomon = visit.house.gnomon
    gnomon.free_pieces = 1
    gnomon.gate.clear()
    await visit.page.fill("textarea", "go on")
    await visit.page.press("textarea", "Enter")
    await visit.sees_text(".message.assistant .prose", "You fixed it")
    assert "bound port 0" not in await visit.text(".message.assistant .prose >> nth=0")
    gnomon.gate.set()
    await visit.sees(".source")


async def test_stop_calls_the_turn_off_and_keeps_the_conversation(visit: Visit):
    gnomon = visit.house.gnomon
    gnomon.gate.clear()
    await visit.page.fill("textarea", "a long one")
    await visit.page.click("text=Ask >> visible=true")
    await visit.page.click("[data-stop]")
    await asyncio.wait_for(gnomon.settled.wait(), BOUND)
    assert gnomon.cancelled == ["chat.turn"]
    await visit.sees_text(".progress", "Stopped.")
    gnomon.gate.set()
    await visit.page.fill("textarea", "and now?")
    await visit.page.press("textarea", "Enter")
    await visit.sees(".source")


async def test_an_earlier_conversation_is_taken_up_again(visit: Visit):
    gnomon = visit.house.gnomon
    gnomon.sessions = [
        SessionView(session="s-9", title="The <b>flaky</b> one", turns=2, last_at=None)
    ]
    gnomon.messages = [
        MessageView(turn=1, role="user", text="why?", at="2026-05-01T10:00:00.000Z"),
        MessageView(
            turn=1, role="assistant", text="Run `pnpm test`.", at="2026-05-01T10:00:01.000Z"
        ),
    ]
    visit.house.stream.publish("chat")
    await visit.page.click("text=Earlier conversations")
    await visit.page.click("text=The <b>flaky</b> one")
    await visit.sees_text(".message.assistant code", "pnpm test")
    await visit.page.fill("textarea", "and then?")
    await visit.page.press("textarea", "Enter")
    await visit.sees(".source")
    assert gnomon.called("chat.turn")[-1].session == "s-9"
    await visit.page.click("text=New conversation")
    await visit.sees(".empty")
    assert visit.page.url.endswith("/")


# --- what it is doing --------------------------------------------------------------------------


async def test_what_happens_is_shown_as_it_happens(visit: Visit):
    event = Event(
        agent="gnomon", run="r", step="tool", span="1", complete=False, facts={"name": "shell"}
    )
    visit.house.stream.publish("event", event)
    await visit.sees_text("#events .under-way", "Uses shell")
    visit.house.stream.publish("event", msgspec.structs.replace(event, complete=True))
    await visit.page.wait_for_selector("#events li:not(.under-way)")


async def test_pausing_and_resuming_is_one_press(visit: Visit):
    await visit.page.click("text=Pause for 1 hour")
    await visit.page.wait_for_selector("[data-acting]", state="detached")
    assert visit.house.gnomon.called("kernel.pause")[0].for_seconds == 3600
    visit.house.gnomon.status = a_status(paused_until="you resume it")
    visit.house.stream.publish("status")
    await visit.page.click("#now >> button:text-is('Resume')")
    await visit.page.wait_for_selector("[data-acting]", state="detached")
    assert len(visit.house.gnomon.called("kernel.resume")) == 1
    await visit.sees_text("#headline", "Gnomon is paused until you resume it.")


async def test_a_keystroke_says_that_the_operator_is_here_and_not_which(visit: Visit):
    async with visit.page.expect_response("**/api/presence.touch") as touched:
        await visit.page.keyboard.type("hello hello")
    assert (await touched.value).ok
    assert (await touched.value).request.post_data == "{}"
    assert len(visit.house.gnomon.called("presence.touch")) == 1


# --- without its data (case 20) ----------------------------------------------------------------


async def test_a_page_whose_gnomon_is_gone_says_so_and_comes_back_by_itself(browser: Browser):
    async with a_visit(browser) as visit:
        await visit.sees("#loose-ends ul")
        port = visit.listener.port
        await visit.listener.close()
        await visit.page.locator("#banner", has_text="Gnomon is not answering.").wait_for(
            timeout=5_000
        )
        restarted = PretendedHouse(kept=list(visit.house.kept))
        restarted.gnomon.status = a_status(last_focus="What changed while it was away")
        visit.listener = await listen(restarted.wiring(), port)
        await visit.sees_text("#now", "What changed while it was away")
        await visit.page.wait_for_selector("#banner", state="hidden")


async def test_a_page_whose_session_ended_says_how_to_get_in(browser: Browser):
    async with a_visit(browser) as visit:
        port = visit.listener.port
        await visit.listener.close()
        visit.listener = await listen(PretendedHouse().wiring(), port)
        await visit.sees_text("#banner", "You are signed out. Run gnomon open")
        await visit.page.reload()
        await visit.sees_text("main", "gnomon open")


async def test_a_part_that_takes_long_says_so_within_five_seconds(browser: Browser):
    async def never(arguments, progress):
        await asyncio.Event().wait()

    house = PretendedHouse()
    table = house.gnomon.table()
    slow = Operation("history.report", "", table["history.report"].arguments, None, never, True)
    listener = await listen(house.wiring(**{"history.report": slow}), 0)
    context = await browser.new_context()
    try:
        page = await context.new_page()
        await page.goto(house.authority.login_link(listener.url, house.clock.wall()).url)
        await page.locator("#loose-ends", has_text="longer than usual").wait_for(timeout=5_000)
    finally:
        await context.close()
        await listener.close()


async def test_a_tab_that_nobody_looks_at_listens_to_nothing(visit: Visit):
    await visit.sees("#loose-ends ul")
    hide = """value => {
        Object.defineProperty(document, "hidden", {value, configurable: true});
        document.dispatchEvent(new Event("visibilitychange"));
    }"""
    await visit.page.evaluate(hide, True)
    visit.house.gnomon.status = a_status(last_focus="Seen only after a look")
    visit.house.stream.publish("status")
    async with visit.page.expect_request("**/events?after=*"):
        await visit.page.evaluate(hide, False)
    await visit.sees_text("#now", "Seen only after a look")


# --- report and trust --------------------------------------------------------------------------


async def test_the_report_has_its_five_sections_and_opens_its_sources(visit: Visit):
    await visit.page.click("nav >> text=Report")
    await visit.sees("text=What you keep correcting")
    headings = await visit.page.locator("#report h2").all_inner_texts()
    assert headings == [
        "What you keep correcting",
        "What keeps failing",
        "What repeats",
        "Loose ends",
        "Cost",
    ]
    assert "List price, not your bill." in await visit.text("#report")
    await visit.page.click("text=2 sources")
    await visit.page.click(".source >> nth=0")
    await visit.sees_text(".source blockquote", "no, use pnpm, not npm here")


async def test_a_filtered_report_asks_as_the_command_line_does(visit: Visit):
    await visit.go("/report")
    await visit.page.fill("[name=project]", "shop")
    await visit.page.fill("[name=since]", "2026-05-01")
    await visit.page.click("button:text-is('Show')")
    await visit.sees("#report h2")
    asked = visit.house.gnomon.called("history.report")[-1]
    assert (asked.since, asked.project) == ("2026-05-01", "shop")
    await visit.page.click("text=7 days")
    await visit.sees("#report h2")
    assert visit.house.gnomon.called("history.report")[-1].since == "2026-05-21"


async def test_the_trust_page_shows_what_holds_and_verifies_on_request(visit: Visit):
    await visit.page.click("nav >> text=Trust")
    await visit.sees_text("#doctor", "1 thing needs a look.")
    await visit.sees_text("#jail", "the kernel shows each part its own files alone")
    assert visit.house.gnomon.called("trust.verify") == []
    await visit.page.click("text=Verify every line")
    await visit.sees_text("#ledgers", "Every line is as it was written.")
    visit.house.gnomon.verified = damaged()
    await visit.page.click("text=Verify every line")
    await visit.sees_text("#ledgers", "line 17: prev does not match")


# --- for everybody -----------------------------------------------------------------------------


async def test_no_page_is_wider_than_a_phone(visit: Visit):
    visit.house.gnomon.inbox.items = some_items()
    for path in PATHS:
        await visit.go(path)
        await visit.page.wait_for_selector("[data-late]", state="detached")
        for width in (320, 390, 768):
            await visit.page.set_viewport_size({"width": width, "height": 800})
            assert await visit.page.evaluate(TOO_WIDE) == [], (path, width)


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_text_can_be_read_by_day_and_by_night(browser: Browser, scheme):
    """WCAG AA: 4.5 to 1 between every text and what is behind it."""
    async with a_visit(browser, scheme=scheme) as visit:
        visit.house.gnomon.inbox.items = some_items()
        for path in PATHS:
            await visit.go(path)
            await visit.page.wait_for_selector("[data-late]", state="detached")
            assert await visit.page.evaluate(CONTRAST) == []


async def test_everything_is_reached_by_keyboard(visit: Visit):
    await visit.page.keyboard.press("Tab")
    assert await visit.page.evaluate("document.activeElement.textContent") == "Skip to the content"
    reached = set()
    for _ in range(40):
        await visit.page.keyboard.press("Tab")
        reached.add(await visit.page.evaluate("document.activeElement.textContent.trim()"))
    assert {
        "Today",
        "Report",
        "Fitness",
        "Trust",
        "Read them: no model, stays here",
        "Choose",
        "Not now",
        "Use",
        "Let it read a folder",
        "Ask",
        "Pause for 1 hour",
    } <= reached


async def test_every_field_and_button_has_a_name(visit: Visit):
    await visit.page.click("text=Choose")
    nameless = await visit.page.evaluate(NAMELESS)
    assert nameless == []
