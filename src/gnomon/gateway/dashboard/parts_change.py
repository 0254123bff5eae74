"""The parts of self-change: whether it learns, what it changed, what waits for the operator."""

from collections.abc import Mapping
from importlib.resources import files

from gnomon.domain.views_change import (
    ApprovalShown,
    ApprovalView,
    ChangeView,
    Learning,
    Readiness,
    VersionDiff,
    VersionView,
)
from gnomon.domain.views_referee import Fitness
from gnomon.gateway.dashboard import change_words, fitness_words
from gnomon.gateway.dashboard.part import Ask, Facts, Part, Query

CHANGES_SHOWN = 200
HELD_SHOWN = 20
EARLIER_SHOWN = 30
CARDS_SHOWN = 5


async def _fitness(ask: Ask, _: Query) -> Facts:
    """The answer first: the light, and what it rests on."""
    fitness: Fitness = await ask("fitness.show")
    learning: Learning = await ask("learning.show")
    return {
        "fitness": fitness,
        "learning": learning,
        "compared": fitness_words.trend(fitness),
        "pace": fitness_words.pace(fitness.forecast),
        "forecast": fitness_words.forecast(fitness.forecast),
        "tally": change_words.tally(learning.health),
        "tested": next(
            (each for each in learning.changes if each.change_id == learning.testing), None
        ),
    }


async def _readiness(ask: Ask, _: Query) -> Facts:
    """What is missing before it may change itself."""
    found: Readiness = await ask("refine.status")
    return {"readiness": found, "by_you": change_words.waits_for_you(found)}


async def _history(ask: Ask, query: Query) -> Facts:
    """The texts of one file, and how two of them differ."""
    versions: list[VersionView] = await ask("scaffold.versions")
    names = change_words.files_of(versions)
    file = query["file"] if query["file"] in names else next(iter(names), "")
    rows = change_words.version_rows(versions, file)
    pair = change_words.chosen(rows, query["from"], query["to"])
    difference: VersionDiff | None = None
    if pair is not None:
        difference = await ask("scaffold.diff", file=file, before=pair[0], after=pair[1])
    return {"files": names, "file": file, "rows": rows, "pair": pair, "difference": difference}


async def _changes(ask: Ask, _: Query) -> Facts:
    changes: list[ChangeView] = await ask("changes.list", limit=CHANGES_SHOWN)
    return {
        "tried": [each for each in changes if each.status != "refused"],
        "refused": [each for each in changes if each.status == "refused"],
    }


async def _change(ask: Ask, query: Query) -> Facts:
    return {"shown": await ask("changes.show", change_id=query["id"])}


async def _approvals(ask: Ask, _: Query) -> Facts:
    every: list[ApprovalView] = await ask("approvals.list")
    waiting = change_words.waiting(every)
    shown: list[ApprovalShown] = [
        await ask("approvals.show", id=each.id) for each in waiting[:HELD_SHOWN]
    ]
    return {
        "waiting": shown,
        "more": len(waiting) - len(shown),
        "settled": change_words.settled(every, EARLIER_SHOWN),
    }


async def _approval(ask: Ask, query: Query) -> Facts:
    return {"shown": await ask("approvals.show", id=query["id"])}


async def _held(ask: Ask, _: Query) -> Facts:
    every: list[ApprovalView] = await ask("approvals.list")
    return {"n": len(change_words.waiting(every))}


async def _chat_held(ask: Ask, query: Query) -> Facts:
    """What a conversation's turns held and nobody decided: a card each, under the reply."""
    if not query["session"]:
        return {"waiting": []}
    of_it: list[ApprovalView] = await ask("approvals.list", session=query["session"])
    waiting = change_words.waiting(of_it)[:CARDS_SHOWN]
    return {"waiting": [await ask("approvals.show", id=each.id) for each in waiting]}


async def _learning(_: Ask, __: Query) -> Facts:
    page = files("gnomon.data").joinpath("learning.md")
    return {"text": page.read_text(encoding="utf-8")}


CHANGE_PARTS: Mapping[str, Part] = {
    "fitness": Part(
        ("fitness.show", "learning.show"),
        _fitness,
        stale_on=("inbox", "fitness", "changes"),
        every=60,
    ),
    "readiness": Part(("refine.status",), _readiness, stale_on=("changes", "fitness")),
    "history": Part(("scaffold.versions", "scaffold.diff"), _history, stale_on=("changes",)),
    "changes": Part(("changes.list",), _changes, stale_on=("changes",)),
    "change": Part(("changes.show",), _change, stale_on=("changes",)),
    "approvals": Part(("approvals.list", "approvals.show"), _approvals, stale_on=("approvals",)),
    "approval": Part(("approvals.show",), _approval, stale_on=("approvals",)),
    "held": Part(("approvals.list",), _held, stale_on=("approvals",)),
    "chat-held": Part(
        ("approvals.list", "approvals.show", "approvals.approve"),
        _chat_held,
        stale_on=("approvals",),
    ),
    "learning": Part((), _learning),
}
