"""Text from models, transcripts and other programs tries to act on the pages (fault 51)."""

from collections.abc import AsyncIterator

import msgspec
import pytest
import pytest_asyncio
from playwright.async_api import Browser

from gnomon.domain.events import Event
from gnomon.domain.views import Check, Diagnosis, Folder, MessageView, ModelOffer, SessionView
from gnomon.domain.views_history import (
    Correction,
    CostRow,
    FailureGroup,
    HistoryFound,
    LooseEnd,
    Repeat,
)
from gnomon.gateway import admit
from gnomon.gateway.dashboard import pages
from gnomon.testing.facts import QUOTE, a_report, a_status
from gnomon.testing.operations import PretendedHouse
from tests.browser import Visit, a_browser, a_visit

pytestmark = [
    pytest.mark.redteam,
    pytest.mark.browser,
    pytest.mark.timeout(60),
    pytest.mark.asyncio(loop_scope="module"),
]

ATTACKS = (
    "<script>pwned=1</script>",
    "</script><script>pwned=1</script>",
    "</title></textarea></template><script>pwned=1</script>",
    '"><img src=x onerror=pwned=1>',
    "'><svg onload=pwned=1>",
    '" onfocus=pwned=1 autofocus tabindex=0 x="',
    "<details open ontoggle=pwned=1>",
    '<iframe srcdoc="<script>parent.pwned=1</script>"></iframe>',
    '<a href="javascript:pwned=1">x</a> [x](javascript:pwned=1)',
    '<meta http-equiv=refresh content="0;url=http://evil.example/">',
    "<base href=http://evil.example/>",
    "<style>body{background:url(http://evil.example/)}</style>",
    "<link rel=stylesheet href=http://evil.example/x.css>",
    "<form action=http://evil.example/><input autofocus></form>",
    "![x](http://evil.example/x.png) <img src=http://evil.example/x.png>",
    "{{7*191}} {% raw %} ${7*191} &lt;script&gt;pwned=1&lt;/script&gt;",
    "\x1b[31m\x1b]8;;http://evil.example\x07\u202e\u2066\x00\ud800",
    "`</code><script>pwned=1</script>`",
)
HOSTILE = " ".join(ATTACKS)
WHOLE = HOSTILE.replace("\ud800", "")
"""The same without half a character, which JSON over HTTP cannot hold."""
SIMPLE = "<img src=x onerror=pwned=1>"
"""One that stays on its page: others lead away, which no content policy can forbid."""


def a_hostile_house(x: str = HOSTILE) -> PretendedHouse:
    """Every text that a page shows and that is not Gnomon's own is an attack."""
    house = PretendedHouse()
    gnomon, whole = house.gnomon, x.replace("\ud800", "")
    quote = msgspec.structs.replace(QUOTE, quote=whole, path=whole, session=whole, source=whole)
    status = a_status(last_focus=x, doing=x, paused_until=None, skipped={x: 3})
    gnomon.status = msgspec.structs.replace(
        status, model=msgspec.structs.replace(status.model, name=x)
    )
    gnomon.report = msgspec.structs.replace(
        a_report(),
        corrections=(Correction(text=x, sessions=2, last_at=x, sources=(quote,)),),
        failures=(FailureGroup(tool=x, family=x, count=2, median_minutes_to_success=None),),
        repeats=(Repeat(procedure=x, count=3, clean=3),),
        loose_ends=(LooseEnd(session=x, kind="error", at=x, resume=x),),
        cost=(CostRow(project=x, model=x, usd=1.0),),
    )
    gnomon.found = [HistoryFound(source=x, path=x, sessions=2, days=None)]
    gnomon.offers.append(
        ModelOffer(name=x, kind="local", current=False, detail=x, use={"name": whole})
    )
    gnomon.folders = [Folder(path=whole, writable=False)]
    gnomon.sessions = [SessionView(session="s-1", title=x, turns=1, last_at=x)]
    gnomon.messages = [
        MessageView(turn=1, role="user", text=x, at=x),
        MessageView(turn=1, role="assistant", text=x + "\n```\n" + x + "\n```", at=x),
    ]
    gnomon.journal = [x]
    gnomon.diagnosis = Diagnosis(checks=(Check(name=x, ok=False, level="error", detail=x, fix=x),))
    gnomon.reply = msgspec.structs.replace(
        gnomon.reply, reply=whole, model_says=whole, model=whole,
        sources=(quote,), stop_reason=whole,
    )  # fmt: skip
    gnomon.reply_pieces = (whole, "`" + whole, "\n```\n" + whole)
    event = Event(
        agent=whole, run="r", step="tool", span="1", complete=False,
        facts={"name": whole},
    )  # fmt: skip
    house.stream.publish("event", event)
    return house


async def walk(visit: Visit) -> None:
    """Look at everything and open every fold."""
    for path in (
        "/?session=s-1",
        "/report",
        "/trust",
        "/report?since=%22%3E%3Cscript%3Epwned=1%3C/script%3E&project=%22onfocus=pwned=1%20autofocus",
    ):
        await visit.go(path)
        await visit.page.wait_for_selector("[data-late]", state="detached")
        await visit.page.evaluate(
            "document.querySelectorAll('details').forEach(d => d.open = true)"
        )
    await visit.go("/")
    await visit.page.fill("textarea", WHOLE.replace("\x00", ""))
    await visit.page.press("textarea", "Enter")
    await visit.sees(".message.assistant > .meta")
    await visit.page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")


async def was_owned(visit: Visit) -> bool:
    return await visit.page.evaluate("typeof pwned !== 'undefined'")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with a_browser() as opened:
        yield opened


async def test_hostile_text_is_shown_and_does_nothing(browser: Browser):
    async with a_visit(browser, a_hostile_house()) as visit:
        await walk(visit)
        assert not await was_owned(visit)
        assert visit.complaints == []
        assert visit.strangers == []
        foreign = "img, iframe, base, object, embed, [onload], [onerror], [onfocus], [ontoggle]"
        assert await visit.page.locator(foreign).count() == 0
        assert await visit.page.locator("a[href^=javascript], main style, main link").count() == 0
        shown = await visit.text("body")
        assert "<script>pwned=1</script>" in shown, "it is shown as what it is: text"
        assert "1337" not in shown, "no template runs inside a text"
        assert not any(mark in shown for mark in "\x1b\u202e\u2066")


async def test_a_page_that_forgot_to_escape_is_still_held_by_its_policy(
    browser: Browser, monkeypatch
):
    forget_to_escape(monkeypatch)
    async with a_visit(browser, a_hostile_house(SIMPLE), path="/report") as visit:
        await visit.page.wait_for_selector("[data-late]", state="detached")
        assert not await was_owned(visit)
        assert any("Content Security Policy" in said for said in visit.complaints)


async def test_without_escaping_and_policy_the_attack_succeeds(browser: Browser, monkeypatch):
    forget_to_escape(monkeypatch)
    monkeypatch.setattr(admit, "SECURITY_HEADERS", {})
    async with a_visit(browser, a_hostile_house(SIMPLE), path="/") as visit:
        await visit.page.wait_for_function("typeof pwned !== 'undefined'")


def forget_to_escape(monkeypatch: pytest.MonkeyPatch) -> None:
    real = pages.environment

    def careless(*wired, **more):
        made = real(*wired, **more)
        made.autoescape = False
        made.finalize = lambda value: (
            value.encode(errors="replace").decode() if isinstance(value, str) else value
        )
        return made

    monkeypatch.setattr(pages, "environment", careless)
