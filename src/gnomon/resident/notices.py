"""When a reflection speaks, and with which words. Pure.

Most reflections stay private. One speaks when it is about something of the operator's (their
lane, or a concern), or when a carried thread came to a conclusion; when it is no repeat; and
when the same was not said within a day. So many things a day leave as the operator lets, by
default five, and apart: what is said too often is not heard (page 3 counts on about five a day).
"""

from collections.abc import Sequence

import msgspec

from gnomon.domain.instants import DAY, HOUR, Millis
from gnomon.domain.json_value import Fields
from gnomon.domain.records import SurfaceKind
from gnomon.resident.reflection import ReflectionOutput
from gnomon.resident.stall import Weighed

A_DAY = 5
"""`notify.max_per_day` of page 7."""
APART = HOUR
"""Between two, unless the day's number asks for less."""


class HandedOver(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Something that was handed over within the last day. `at` is in UTC milliseconds."""

    title: str
    at: int


class Notice(msgspec.Struct, frozen=True, kw_only=True):
    """What would be brought to the operator. `material` is what of it is news."""

    kind: SurfaceKind
    title: str
    body: str
    dedupe_key: str
    material: Fields


def within_a_day(told: Sequence[HandedOver], now: Millis) -> tuple[HandedOver, ...]:
    """What still counts. What lies ahead (the clock was set back) does not."""
    return tuple(each for each in told if 0 <= now - each.at < DAY)


def apart(a_day: int) -> int:
    """Milliseconds between two: an hour, or less where that many do not fit half a day."""
    return min(APART, DAY // (2 * a_day))


def has_room(told: Sequence[HandedOver], now: Millis, a_day: int = A_DAY) -> bool:
    """Whether one more may be said now. Days are those of UTC, as in every bound on a day: a
    bound on any 24 hours would let each day begin a little later than the one before it.
    """
    fresh = within_a_day(told, now)
    today = sum(each.at // DAY == now // DAY for each in fresh)
    return today < a_day and all(now - each.at >= apart(a_day) for each in fresh)


def notice_of(
    weighed: Weighed, told: Sequence[HandedOver], now: Millis, a_day: int = A_DAY
) -> Notice | None:
    """What a reflection says to the operator; null when it keeps to itself."""
    output, item = weighed.output, weighed.output.active_item
    if item is None or weighed.repeated or weighed.pressure == "hold":
        return None
    if not _is_worth_saying(output) or not has_room(told, now, a_day):
        return None
    title = " ".join(item.title.split())
    if any(same_title(each.title, title) for each in within_a_day(told, now)):
        return None
    wants = item.source == "operator" and bool(output.next_step)
    return Notice(
        kind="pending" if wants else "notification",
        title=title,
        body=_body(output),
        dedupe_key=f"reflection:{title.casefold()}",
        material={"title": title.casefold(), "next_step": output.next_step or ""},
    )


def same_title(one: str, other: str) -> bool:
    """Whether two titles are one, but for case and spaces."""
    return one.casefold().split() == other.casefold().split()


def _is_worth_saying(output: ReflectionOutput) -> bool:
    match output.active_item.source if output.active_item else None:
        case "operator" | "concern":
            return bool(output.next_step or output.last_conclusion)
        case "continuity":
            return bool(output.last_conclusion)
        case _:
            return False


def _body(output: ReflectionOutput) -> str:
    """Its own sentences, one paragraph each; nothing is added to them."""
    said = (output.summary, output.last_conclusion, output.next_step)
    return "\n\n".join(dict.fromkeys(text.strip() for text in said if text and text.strip()))
