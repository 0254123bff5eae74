"""Pages of self-change in a real browser: is it learning, what changed, what waits for a word."""

from collections.abc import AsyncIterator

import msgspec
import pytest
import pytest_asyncio
from playwright.async_api import Browser

from gnomon.domain.errors import ConflictError
from gnomon.domain.records_change import VerdictOutcome
from gnomon.domain.unified_diff import unified
from gnomon.testing.changes import a_health, a_readiness, some_changes
from gnomon.testing.held_cards import an_approval, some_approvals
from gnomon.testing.operations import PretendedHouse
from gnomon.testing.referee import SHA
from tests.browser import CONTRAST, NAMELESS, TOO_WIDE, Visit, a_browser, a_visit

pytestmark = [
    pytest.mark.browser,
    pytest.mark.system,
    pytest.mark.timeout(60),
    pytest.mark.asyncio(loop_scope="module"),
]
UNDONE: tuple[VerdictOutcome, ...] = ("rolled_back",) * 5
PATHS = ("/fitness", "/changes", "/change?id=ch-8", "/approvals", "/approval?id=ap-1", "/learning")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with a_browser() as opened:
        yield opened


@pytest_asyncio.fixture(loop_scope="module")
async def visit(browser: Browser) -> AsyncIterator[Visit]:
    """Someone whose Gnomon has changed itself for two weeks."""
    house = PretendedHouse()
    house.gnomon.changes.fill()
    house.gnomon.approvals.held = some_approvals()
    async with a_visit(browser, house) as opened:
        yield opened
        assert opened.complaints == []
        assert opened.strangers == []


# --- is it learning? -----------------------------------------------------------------------------


async def test_the_light_answers_first_and_follows_what_happens(visit: Visit):
    changes = visit.house.gnomon.changes
    await visit.go("/fitness")
    assert await visit.text("#fitness .health b") == (
        "Improving: at least 1 of the last 3 changes kept, and the week is up."
    )
    assert "no more than chance" in await visit.text("#fitness .page-head")
    assert (
        "How far to trust this: simulated at 6 items an hour, this rule keeps 1 in 4 edits that "
        "change nothing and 1 in 8 that cost 10 points. You get about 5 a day. "
        "At 5 a day, verdicts say nothing of usefulness. How we know"
    ) in await visit.text("#fitness .honest")
    for health, light, sentence in (
        (a_health(*UNDONE), "red", "Not improving: last 5 changes undone."),
        (a_health("kept", "kept", "kept", week=0.4), "red", "Worse than last week."),
        (a_health(shrinking=True), "red", "Its instructions keep shrinking"),
        (a_health("rolled_back", "kept", "kept", week=0.55), "yellow", "No clear change."),
        (a_health("kept"), "grey", "Too early to say: 1 of 3 verdicts."),
    ):
        changes.health = health
        visit.house.stream.publish("changes", {})
        await visit.sees_text(f"#fitness .light-{light} b", sentence)


async def test_the_panel_tells_each_outcome_in_words_and_refusals_apart(visit: Visit):
    await visit.go("/fitness")
    outcomes = await visit.page.locator("#refinements .changes .pill").all_inner_texts()
    assert outcomes == [
        "Being tested",
        "Kept",
        "Undone (not better)",
        "Kept (usefulness unknown)",
        "Undone (not enough evidence)",
        "Stopped (you edited it)",
        "Undone (not better)",
    ]
    row = await visit.text("#refinements .changes tbody tr >> nth=1")
    assert "Say what you noticed in at most two sentences." in row
    assert "+8" in row
    assert "\N{MINUS SIGN}0.06" in row
    await visit.page.click("#refinements .fold summary")
    assert "It carries a number that the text before it did not: 0.8." in (
        await visit.text("#refinements .refusals")
    )
    assert await visit.page.locator("#refinements .diff del mark").all_inner_texts() == [
        "three",
        "Be helpful and mention everything of interest",
    ]


async def test_any_two_texts_of_its_instructions_are_compared(visit: Visit):
    await visit.go("/fitness")
    await visit.sees_text("#history .diff ins", "If nothing is new")
    await visit.page.check("#history [name=from] >> nth=2")
    await visit.page.check("#history [name=to] >> nth=1")
    await visit.page.press("#history [name=to] >> nth=1", "Enter")
    await visit.sees_text("#history .diff del mark", "five")
    await visit.sees_text("#history .diff ins mark", "three")
    await visit.page.click("#history >> text=executive-prompt.md")
    await visit.sees_text("#history", "This file reads as it did at the beginning.")


async def test_what_is_missing_is_said_and_the_operators_word_is_one_press(visit: Visit):
    changes = visit.house.gnomon.changes
    changes.readiness = a_readiness(few_days="It has been measured on 3 of 7 days.")
    await visit.go("/fitness")
    await visit.sees_text("#readiness", "It has been measured on 3 of 7 days.")
    assert not await visit.page.is_visible("text=The number is right")
    changes.readiness = a_readiness(not_enabled="You have not said that the number fits.")
    visit.house.stream.publish("changes", {})
    await visit.page.click("text=The number is right: let it change itself")
    await visit.sees_text("#readiness", "Yes: one small edit at a time, while you are away.")
    await visit.page.click("text=Take my word back")
    await visit.sees_text("#readiness", "You have not said that the number fits.")


async def test_how_it_is_known_is_read_without_a_network(visit: Visit):
    await visit.go("/fitness")
    await visit.page.click("text=How we know")
    await visit.sees("#learning h2")
    assert await visit.page.locator("#learning li p").count() == 0, "an item's lines are one"
    await visit.page.click("text=Back to Fitness")
    await visit.sees("#fitness .health")


# --- changes -------------------------------------------------------------------------------------


async def test_one_that_changed_nothing_says_so(browser: Browser):
    async with a_visit(browser, path="/changes") as visit:
        assert "It has changed nothing about itself." in await visit.text("#changes")
        await visit.go("/approvals")
        assert await visit.text("#approvals .lead") == (
            "Nothing waits. Gnomon asks here before it writes into a folder that you gave it for "
            "reading."
        )


async def test_a_change_shows_its_life_and_each_step_its_line(visit: Visit):
    await visit.go("/changes")
    await visit.page.click("text=Say what you noticed in at most two sentences.")
    await visit.sees_text("h1", "A change to inner-loop-prompt.md")
    shown = await visit.text("#change")
    assert "It said that you would use more of what it brings. That came true." in shown
    assert "55%" in shown
    assert "63%" in shown
    steps = await visit.page.locator(".life b").all_inner_texts()
    assert steps == ["Proposed", "Put in force", "The test began", "Verdict: keep it", "Kept"]
    await visit.page.click(".life a >> nth=3")
    await visit.sees_text("h1", "judgment-ledger")
    assert visit.page.url.endswith("after=6&limit=1")


async def test_undoing_is_two_presses_and_is_shown(visit: Visit):
    await visit.go("/change?id=ch-8")
    await visit.page.click("text=Undo this change")
    await visit.sees_text("#change", "gets back exactly the text that it had before this change.")
    await visit.page.click("text=Put the old text back")
    await visit.sees_text("#change .pill", "Undone (by you)")
    assert visit.house.gnomon.changes.undone == ["ch-8"]
    assert not await visit.page.is_visible("text=Undo this change")


# --- approvals -----------------------------------------------------------------------------------


async def test_what_it_wants_is_read_whole_before_a_word_is_given(visit: Visit):
    await visit.go("/approvals")
    card = await visit.text('[data-item="ap-3"]')
    for line in (
        "Wants to write skill 'release' (6 lines).",
        "Why: you did these steps 4 times.",
        "Based on: Codex sessions (untrusted)",
        "If you approve: exactly this text; undo any time.",
        "If you do nothing: expires in 6 days.",
        "1. Run the tests with `pnpm test`.",
    ):
        assert line in card
    await visit.page.focus('[data-item="ap-3"]')
    await visit.page.keyboard.press("a")
    await visit.sees_text("#approvals .earlier", "write skill 'release'")
    assert visit.house.gnomon.approvals.acts == [("approvals.approve", "ap-3")]


async def test_a_text_of_ones_own_is_approved_to_the_last_sign(visit: Visit):
    """It outlives a new drawing of its card; meanwhile no button approves the other text."""
    held = visit.house.gnomon.approvals
    theirs = "  <b>one</b>\r\n\u200btwo\r\n\r\n"
    write = {"action": "file.write", "target_sha256": SHA, "can_edit": True, "can_always": True}
    diff = unified("", theirs, "a.md")
    held.held = [
        an_approval("ap-5", text=theirs, diff=diff, **write),
        an_approval("ap-6", **write),
    ]
    await visit.go("/approvals")
    card, field = '[data-item="ap-5"]', '[data-item="ap-5"] textarea'
    assert "⟨U+200B⟩two⟨U+000D⟩" in await visit.text(card), "what cannot be seen is told"
    await visit.page.focus(card)
    await visit.page.keyboard.press("e")
    await visit.sees(field)
    assert await visit.page.input_value(field) == theirs.replace("\r\n", "\n")
    assert await visit.page.evaluate(NAMELESS) == []
    assert await visit.page.evaluate(CONTRAST) == []
    assert not await visit.page.is_visible(f"{card} >> text=Approve this text")
    await visit.page.fill(field, " mine\n\ntoo \n")
    await visit.page.focus(card)
    await visit.page.keyboard.press("a")
    held.held.insert(0, an_approval("ap-7"))
    visit.house.stream.publish("approvals", {})
    await visit.sees('[data-item="ap-7"]')
    await visit.page.click('[data-item="ap-6"] >> text=Reject')
    await visit.page.wait_for_selector('[data-item="ap-6"]', state="detached")
    assert await visit.page.input_value(field) == " mine\n\ntoo \n"
    held.failing["approvals.edit"] = ConflictError("The file is gone. Nothing was done.")
    await visit.page.click("text=Approve my text")
    await visit.sees_text("#approvals [data-outcome]", "The file is gone. Nothing was done.")
    held.failing.clear()
    await visit.page.click("text=Approve my text")
    await visit.page.wait_for_selector(card, state="detached")
    assert held.acts == [
        ("approvals.reject", "ap-6"),
        ("approvals.edit", "ap-5", " mine\r\n\r\ntoo \r\n"),
    ]
    await visit.go("/approval?id=ap-5")
    await visit.page.click("#approval >> text=ap-9")
    await visit.sees_text("#approval .pill", "Done")


async def test_an_edit_is_left_and_a_text_that_a_page_would_change_is_not_begun(visit: Visit):
    held = visit.house.gnomon.approvals
    write = {"action": "file.write", "target_sha256": SHA, "can_edit": True}
    held.held = [an_approval("ap-5", **write), an_approval("ap-6", text="a\r\nb\n", **write)]
    await visit.go("/approvals")
    await visit.page.click('[data-item="ap-5"] >> text=Edit')
    await visit.page.fill('[data-item="ap-5"] textarea', "mine")
    await visit.page.click("text=Leave it as it was")
    await visit.sees('[data-item="ap-5"] >> text=Approve this text')
    await visit.page.click('[data-item="ap-6"] >> text=Edit')
    await visit.sees_text("#approvals [data-outcome]", "gnomon approvals edit ap-6")
    assert await visit.page.locator("#approvals textarea").count() == 0
    assert held.acts == []


async def test_a_stale_one_says_what_changed_and_is_asked_anew(visit: Visit):
    await visit.go("/approvals")
    stale = '[data-item="ap-2"]'
    assert "The file changed since. Nothing was written." in await visit.text(stale)
    assert "Approve" not in await visit.text(stale)
    await visit.page.click(f"{stale} >> text=What changed")
    await visit.sees_text(stale, "its text is another")
    await visit.page.click(f"{stale} >> text=Redo on the new version")
    await visit.sees_text('[data-item="ap-9"]', "Approve this text")
    await visit.page.click('[data-item="ap-9"] >> text=Reject')
    await visit.page.wait_for_selector('[data-item="ap-9"]', state="detached")
    assert [act for act, _ in visit.house.gnomon.approvals.acts] == [
        "approvals.redo",
        "approvals.reject",
    ]


async def test_a_standing_yes_is_seen_and_taken_back(visit: Visit):
    held = visit.house.gnomon.approvals
    held.held = [an_approval("ap-5", action="file.write", target="notes.md", can_always=True)]
    await visit.go("/approvals")
    await visit.page.click("text=Always for this target")
    await visit.page.click("#approvals .earlier a")
    await visit.sees_text("#approval", "Your yes stands for every later one of this target.")
    await visit.page.click("text=Ask me again next time")
    await visit.page.wait_for_selector("text=Your yes stands", state="detached")
    assert held.acts == [("approvals.approve", "ap-5", "always"), ("approvals.forget", "ap-5")]


async def test_what_was_done_can_be_undone_from_its_own_page(visit: Visit):
    await visit.go("/approvals")
    await visit.page.click("#approvals .earlier a")
    await visit.sees_text("#approval", "Decided by you, on the dashboard,")
    await visit.page.click("#approval >> text=Undo")
    await visit.sees_text("#approval .pill", "Undone")


async def test_the_first_page_says_that_something_waits(visit: Visit):
    await visit.sees_text("#held", "2 things wait for your word.")
    held = visit.house.gnomon.approvals
    held.held = [an_approval("ap-3", text="<b>bold</b> <script>alert(1)</script>")]
    visit.house.stream.publish("approvals", {})
    await visit.sees_text("#held", "1 thing waits for your word.")
    await visit.page.click("#held a")
    await visit.sees_text(".exact-text", "<script>alert(1)</script>")


# --- in chat -------------------------------------------------------------------------------------


async def test_what_a_turn_held_is_a_card_under_its_reply(visit: Visit):
    """Allow once by the button, always by its key, no by the other; each of them once."""
    approvals = visit.house.gnomon.approvals
    write = {"action": "file.write", "target_sha256": SHA, "session": "s-1", "can_always": True}
    approvals.held = []
    await visit.go("/")
    assert await visit.page.locator("#chat-held > *").count() == 0
    approvals.held = [an_approval(f"ap-{n}", **write) for n in (5, 6, 7)]
    await visit.page.fill("[data-composer] textarea", "Tidy my notes")
    await visit.page.click("[data-send]")
    card = '#chat-held [data-item="ap-{}"]'
    await visit.sees_text(card.format(5), "Wants to")
    assert await visit.page.evaluate(NAMELESS) == []
    assert await visit.page.evaluate(CONTRAST) == []
    await visit.page.click(f"{card.format(5)} >> text=Allow once")
    await visit.page.wait_for_selector(card.format(5), state="detached")
    for n, key in ((6, "a"), (7, "n")):
        await visit.page.focus(card.format(n))
        await visit.page.keyboard.press(key)
        await visit.page.wait_for_selector(card.format(n), state="detached")
    assert approvals.acts == [
        ("approvals.approve", "ap-5"),
        ("approvals.approve", "ap-6", "always"),
        ("approvals.reject", "ap-7"),
    ]


async def test_a_card_that_came_too_late_says_who_decided(visit: Visit):
    approvals = visit.house.gnomon.approvals
    approvals.held = [an_approval("ap-5", session="s-1")]
    approvals.failing["approvals.approve"] = ConflictError(
        "It was rejected already, by you, through the CLI, at 12:00."
    )
    await visit.go("/?session=s-1")
    await visit.page.click("#chat-held >> text=Allow once")
    await visit.sees_text("#chat-held [data-outcome]", "rejected already, by you")


# --- everywhere ----------------------------------------------------------------------------------


async def test_development_mode_is_on_every_page_and_stays(browser: Browser):
    async with a_visit(browser, PretendedHouse(dev_mode=True)) as visit:
        for path in ("/", "/fitness"):
            await visit.go(path)
            banner = await visit.text(".dev-mode")
            assert banner.startswith("Development mode: a change is judged on 2 windows a side")
            assert await visit.page.locator(".dev-mode :is(button, a)").count() == 0


async def test_the_pages_are_narrow_legible_and_named(visit: Visit):
    gnomon = visit.house.gnomon
    long = msgspec.structs.replace(some_changes()[1], summary="+1 -0: + " + "word" * 40)
    gnomon.changes.changes = [long, *some_changes()]
    for path in PATHS:
        await visit.go(path)
        await visit.page.set_viewport_size({"width": 320, "height": 800})
        assert await visit.page.evaluate(TOO_WIDE) == [], path
        assert await visit.page.evaluate(NAMELESS) == [], path
        await visit.page.set_viewport_size({"width": 1280, "height": 900})
        for scheme in ("light", "dark"):
            await visit.page.emulate_media(color_scheme=scheme)
            assert await visit.page.evaluate(CONTRAST) == [], (path, scheme)
