"""The parts that pages are made of: for each, what it asks, and when it is stale.

A part is drawn by itself: with its page, when an event says that it is stale, and after an
act. It asks by the table of operations, as the CLI does, so that both say the same. A part
whose operation does not exist is absent.
"""

from collections.abc import Mapping

from gnomon.domain.errors import UsageError
from gnomon.domain.views import ArtifactShown, Diagnosis, InboxItem, InboxShown, ModelOffer, Status
from gnomon.domain.views_history import HistoryFound, Report
from gnomon.domain.views_referee import Fitness, LedgerPage
from gnomon.gateway.dashboard import documents, fitness_words, wording
from gnomon.gateway.dashboard.part import Ask, Facts, Part, Query
from gnomon.gateway.dashboard.parts_change import CHANGE_PARTS
from gnomon.gateway.trust_rows import trust_rows
from gnomon.observe.report import keeps_failing, misses, total

EVENTS_SHOWN = 10
EVENTS_READ = 80
JOURNAL_LINES = 40
INBOX_SHOWN = 20
EARLIER_SHOWN = 20
WINDOWS_SHOWN = 12
LINES_SHOWN = 100


async def _status(ask: Ask, _: Query) -> Facts:
    status: Status = await ask("status.show")
    return {"status": status, "sentences": wording.headline(status)}


async def _card_history(ask: Ask, _: Query) -> Facts:
    """Shown until some history was read; put away or done with, nothing is looked for."""
    hidden: list[str] = await ask("cards.hidden")
    found: list[HistoryFound] = [] if "history" in hidden else await ask("history.found")
    return {"found": found, "wanted": "history" not in hidden}


async def _card_model(ask: Ask, _: Query) -> Facts:
    status: Status = await ask("status.show")
    offers: list[ModelOffer] = []
    hidden: list[str] = await ask("cards.hidden")
    wanted = "model" not in hidden and status.model.kind in {"none", "demo"}
    if wanted:  # looking for servers takes a moment: not for a card that nobody sees
        offers = await ask("model.list")
    return {
        "wanted": wanted,
        "kind": status.model.kind,
        "usd_per_day": status.budget.usd_per_day,
        "offers": wording.worth_offering(offers),
    }


async def _card_more(ask: Ask, _: Query) -> Facts:
    return {"folders": await ask("folders.list"), "hidden": await ask("cards.hidden")}


async def _sessions(ask: Ask, _: Query) -> Facts:
    return {"sessions": await ask("chat.sessions")}


async def _messages(ask: Ask, query: Query) -> Facts:
    session = query["session"]
    return {"messages": await ask("chat.messages", session=session) if session else []}


async def _inbox(ask: Ask, _: Query) -> Facts:
    items: list[InboxItem] = await ask("inbox.list")
    waiting = fitness_words.waiting(items)
    shown: list[InboxShown] = [
        await ask("inbox.show", surface_id=each.surface_id) for each in waiting[:INBOX_SHOWN]
    ]
    return {
        "shown": shown,
        "more": len(waiting) - len(shown),
        "earlier": fitness_words.settled(items, EARLIER_SHOWN),
    }


async def _artifact(ask: Ask, query: Query) -> Facts:
    """An artifact by the surface that brought it. Asking is only looking."""
    shown: InboxShown = await ask("inbox.show", surface_id=query["surface"])
    if shown.item.artifact is None:
        raise UsageError("This item brought no document.", next_step="Go back to the inbox.")
    found: ArtifactShown = await ask("artifact.show", artifact=shown.item.artifact)
    return {"item": shown.item, "document": documents.read_document(found.text)}


async def _hours(ask: Ask, query: Query) -> Facts:
    since = {"since": query["since"]} if query["since"] else {}
    fitness: Fitness = await ask("fitness.show", **since)
    limit = len(fitness.windows) + len(fitness.gaps) if since else WINDOWS_SHOWN
    return {"fitness": fitness, "rows": fitness_words.rows(fitness, limit)}


async def _lines(ask: Ask, query: Query) -> Facts:
    after, limit = query["after"] or "0", query["limit"] or str(LINES_SHOWN)
    if not (after.isascii() and after.isdecimal() and limit.isascii() and limit.isdecimal()):
        raise UsageError("`after` and `limit` are whole numbers.")
    named = {"id": query["id"]} if query["id"] else {}
    found: LedgerPage = await ask(
        "ledger.read", name=query["name"], after=int(after), limit=int(limit), **named
    )
    return {"found": found, "after": int(after), "limit": int(limit)}


async def _loose_ends(ask: Ask, _: Query) -> Facts:
    report: Report = await ask("history.report")
    return {"loose_ends": report.loose_ends}


async def _report(ask: Ask, query: Query) -> Facts:
    chosen = {name: query[name] for name in ("since", "project") if query[name]}
    report: Report = await ask("history.report", **chosen)
    failing, failed_once = keeps_failing(report.failures)
    return {
        "report": report,
        "found": await ask("history.found"),
        "watching": await ask("history.watching"),
        "empty": wording.is_empty(report) and not chosen,
        "misses": misses(report),
        "total": total(report.cost),
        "failing": failing,
        "failed_once": failed_once,
    }


async def _jail(ask: Ask, _: Query) -> Facts:
    status: Status = await ask("status.show")
    rows = trust_rows(status.jail)
    shown = [row for row in rows if row.level is not None or row.role == "gateway"]
    return {
        "weakest": wording.weakest(status.jail),
        "shown": shown,
        "others": [row for row in rows if row not in shown],
    }


async def _doctor(ask: Ask, _: Query) -> Facts:
    diagnosis: Diagnosis = await ask("trust.doctor")
    checks = wording.by_weight(diagnosis.checks)
    return {"checks": checks, "count": sum(check.level != "ok" for check in checks)}


async def _ledgers(ask: Ask, _: Query) -> Facts:
    return {"verification": await ask("trust.verify")}


async def _journal(ask: Ask, _: Query) -> Facts:
    return {"lines": (await ask("journal.tail", lines=JOURNAL_LINES)).lines}


async def _nothing(ask: Ask, _: Query) -> Facts:
    return {}


PARTS: Mapping[str, Part] = {
    "headline": Part(("status.show",), _status, stale_on=("status", "chat")),
    "card-history": Part(("history.found", "history.import", "cards.hidden"), _card_history),
    "card-model": Part(("status.show", "model.list", "model.use", "cards.hidden"), _card_model),
    "card-more": Part(("folders.list", "folders.add", "cards.hidden"), _card_more),
    "sessions": Part(("chat.sessions",), _sessions, stale_on=("chat",)),
    "messages": Part(("chat.messages",), _messages),
    "now": Part(("status.show",), _status, stale_on=("status", "chat", "event")),
    "events": Part((), _nothing, stale_on=("event",)),
    "inbox": Part(("inbox.list", "inbox.show"), _inbox, stale_on=("inbox", "status")),
    "artifact": Part(("inbox.show", "artifact.show"), _artifact, stale_on=("inbox",)),
    "hours": Part(("fitness.show",), _hours, stale_on=("fitness",), every=60),
    "lines": Part(("ledger.read",), _lines),
    "loose-ends": Part(("history.report",), _loose_ends, stale_on=("history",), at_once=False),
    "report": Part(
        ("history.report", "history.found", "history.watching"),
        _report,
        stale_on=("history",),
        at_once=False,
    ),
    "more-history": Part(("history.import",), _nothing),
    "jail": Part(("status.show",), _jail, stale_on=("status",)),
    "doctor": Part(("trust.doctor",), _doctor, at_once=False),
    "ledgers": Part(("trust.verify",), _ledgers, on_press=True),
    "journal": Part(("journal.tail",), _journal, stale_on=("journal", "status")),
    **CHANGE_PARTS,
}
PAGES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "/": (
        "today",
        (
            "headline",
            "card-history",
            "card-model",
            "card-more",
            "held",
            "inbox",
            "sessions",
            "messages",
            "chat-held",
            "now",
            "events",
            "loose-ends",
        ),
    ),
    "/report": ("report", ("report", "more-history")),
    "/fitness": ("fitness", ("fitness", "readiness", "history", "hours", "now")),
    "/changes": ("changes", ("changes",)),
    "/change": ("change", ("change",)),
    "/approvals": ("approvals", ("approvals",)),
    "/approval": ("approval", ("approval",)),
    "/learning": ("learning", ("learning",)),
    "/artifact": ("artifact", ("artifact",)),
    "/lines": ("lines", ("lines",)),
    "/trust": ("trust", ("jail", "doctor", "ledgers", "journal")),
}
"""An address, its template, and the parts that stand in it."""
