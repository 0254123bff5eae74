"""What a page may say of the facts. Pure; every sentence is a key of the language file.

The first page's promise ("Nothing has left this machine") is made here, from the spend
ledger's counts, and at nothing less than a known zero.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from gnomon.domain.events import Event
from gnomon.domain.instants import DAY, Millis, iso
from gnomon.domain.json_value import Fields
from gnomon.domain.views import Check, JailLevel, ModelOffer, Status
from gnomon.domain.views_history import Report
from gnomon.gateway.stream import Entry

UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ufeff\uffa0\ud800-\udfff]"
)
"""Control characters, marks that turn text around or hide in it, halves of characters: models
and transcripts may carry them, and a page shows none."""


INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


@dataclass(frozen=True)
class Sentence:
    """A key of the language file and what to put into it."""

    key: str
    values: Mapping[str, object] = field(default_factory=dict[str, object])


@dataclass(frozen=True)
class Happening:
    """An agent's step as a page lists it."""

    at: str
    label: Sentence
    agent: str
    complete: bool


def clean(text: str) -> str:
    """Text without what cannot be seen; tab and newline stay."""
    return UNSEEN.sub("", text)


def money(usd: float) -> str:
    """`$0.00` for nothing alone: a small amount shows its first digits."""
    if 0 < usd < 0.01:
        return f"${usd:.6f}".rstrip("0") if usd >= 0.000001 else "less than $0.000001"
    return f"${usd:,.2f}"


def moment(instant: str) -> str:
    """`2026-05-24 18:00 UTC`: within a sentence, where no script rewrites it."""
    return f"{instant[:10]} {instant[11:16]} UTC" if len(instant) > 16 else instant


def number(value: float) -> str:
    return f"{value:,.0f}"


ENVELOPE = frozenset({"seq", "at", "kind", "schema", "prev", "sha256"})
GIST_CHARACTERS = 120


def gist(line: Fields) -> str:
    """What a ledger's line says, in one short row: its plain values, without the envelope."""
    said = [
        f"{name} {value}"
        for name, value in line.items()
        if name not in ENVELOPE and isinstance(value, str | int | float) and value != ""
    ]
    text = " · ".join(" ".join(each.split()) for each in said)
    return text if len(text) <= GIST_CHARACTERS else f"{text[: GIST_CHARACTERS - 1]}…"


def pretty(line: Fields) -> str:
    """A line's fields, each on its own row."""
    return msgspec.json.format(msgspec.json.encode(line), indent=2).decode()


def headline(status: Status) -> Sequence[Sentence]:
    """The first page's opening: three sentences that are true."""
    return [_running(status), _left(status), _spent(status)]


def _running(status: Status) -> Sentence:
    if status.paused_until is None:
        return Sentence("headline.running")
    return Sentence("headline.paused-until", {"until": moment(status.paused_until)})


def _left(status: Status) -> Sentence:
    model, calls = status.model, status.remote_calls
    match model.kind, calls:
        case "remote", 0:
            return Sentence("headline.nothing-left-yet", {"model": model.name})
        case "remote", _:
            return Sentence("headline.leaves", {"model": model.name})
        case _, 0:
            return Sentence("headline.nothing-left")
        case _, int(n):
            return Sentence("headline.left-before", {"n": n})
        case _:
            return Sentence("headline.model-here")


def _spent(status: Status) -> Sentence:
    if status.usd_spent is None:
        return Sentence("headline.spent-today", {"usd": money(status.budget.usd_spent_today)})
    return Sentence("headline.spent", {"usd": money(status.usd_spent)})


def doing(status: Status) -> str:
    """A word of the language file's `doing`: one state, which the pause has the first word in. An
    answer that was asked for goes on; a thought that had begun is still ended.
    """
    if status.paused_until is None or status.doing == "chat":
        return status.doing or "nothing"
    return "pausing" if status.doing == "reflecting" else "paused"


def lasted(minutes: float) -> Sentence:
    """`25 s`, `12 min`, `3 h`: in the unit that people would say."""
    seconds = round(minutes * 60)
    if seconds < 60:
        return Sentence("report.seconds", {"n": max(seconds, 1)})
    if minutes < 120:
        return Sentence("report.minutes", {"n": _one_place(minutes)})
    return Sentence("report.hours", {"n": _one_place(minutes / 60)})


def _one_place(value: float) -> str:
    return f"{value:,.1f}".removesuffix(".0")


def several(detail: str) -> Sequence[str]:
    """What a check found of each of several, its moments as people write them."""
    return [INSTANT.sub(lambda found: moment(found[0]), each) for each in detail.split("; ")]


def offer_button(offer: ModelOffer, usd_per_day: float) -> Sentence:
    """[Use], and for one that costs, what it may cost: the budget's bound."""
    if offer.kind == "remote":
        bound = money(usd_per_day).removesuffix(".00")
        return Sentence("card.model.use-capped", {"usd": bound})
    return Sentence("card.model.use")


def worth_offering(offers: Sequence[ModelOffer]) -> Sequence[ModelOffer]:
    """What could be used instead; to have no model at all is no better one."""
    return [offer for offer in offers if not offer.current and offer.kind != "none"]


def by_weight(checks: Sequence[Check]) -> Sequence[Check]:
    """Faults first, then what needs a look, then what is well."""
    order = ("error", "warning", "ok")
    return sorted(checks, key=lambda check: order.index(check.level))


def happening(entry: Entry) -> Happening:
    """An entry of kind `event` in words. Raises msgspec.ValidationError on any other."""
    event = msgspec.json.decode(entry.data, type=Event)
    name = event.facts.get("name") or event.facts.get("tool")
    if event.step == "tool" and isinstance(name, str):
        label = Sentence("step.tool-named", {"name": name[:64]})
    else:
        label = Sentence(f"step.{event.step}")
    return Happening(at=entry.at, label=label, agent=event.agent, complete=event.complete)


def happenings(entries: Sequence[Entry], limit: int) -> Sequence[Happening]:
    """The newest steps, newest first; of a step's two events the later one."""
    shown: dict[str, Happening] = {}
    for entry in entries:
        span = msgspec.json.decode(entry.data, type=Event).span
        if span not in shown:
            shown[span] = happening(entry)
    return list(shown.values())[:limit]


def weakest(levels: Mapping[str, JailLevel]) -> JailLevel | None:
    """The level that the worst held part has; None while nothing runs."""
    order: Sequence[JailLevel] = ("none", "partial", "full")
    return next((level for level in order if level in levels.values()), None)


def days_ago(now: Millis, days: int) -> str:
    """The date, in UTC, that a filter's link names."""
    return iso(Millis(now - days * DAY))[:10]


def is_empty(report: Report) -> bool:
    """Whether nothing was read at all; what was read may still show nothing."""
    return report.turns == 0 and not any(
        (report.corrections, report.failures, report.repeats, report.loose_ends, report.cost)
    )
