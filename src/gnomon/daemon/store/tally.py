"""Counts that a status shows, folded from the decision- and the spend-ledger. Pure.

The fold is kept with the `seq` up to which it holds, so that a start reads only what came
after (no O(history) work), and it recomputes from the lines at any time.
"""

import msgspec

from gnomon.domain.ledgers import Line
from gnomon.domain.records import Reflection, Spend, Tick


class Tally(msgspec.Struct, frozen=True, kw_only=True):
    """`skipped` counts ticks that did not reflect, by reason."""

    up_to_seq: int = 0
    ticks: int = 0
    reflections: int = 0
    skipped: dict[str, int] = {}
    last_focus: str | None = None
    last_reflection_no: int = 0


def fold(tally: Tally, line: Line) -> Tally:
    """One more line. Lines must come in order; one already counted changes nothing."""
    if line.seq <= tally.up_to_seq:
        return tally
    tally = msgspec.structs.replace(tally, up_to_seq=line.seq)
    match line.body:
        case Tick(skip_reason=None):
            return msgspec.structs.replace(tally, ticks=tally.ticks + 1)
        case Tick(skip_reason=str(reason)):
            skipped = {**tally.skipped, reason: tally.skipped.get(reason, 0) + 1}
            return msgspec.structs.replace(tally, ticks=tally.ticks + 1, skipped=skipped)
        case Reflection(focus=focus, reflection_no=number):
            return msgspec.structs.replace(
                tally,
                reflections=tally.reflections + 1,
                last_focus=focus,
                last_reflection_no=number,
            )
        case _:
            return tally


class SpendTally(msgspec.Struct, frozen=True, kw_only=True):
    """All that model calls ever took. `remote_calls` left this machine."""

    up_to_seq: int = 0
    calls: int = 0
    remote_calls: int = 0
    usd: float = 0.0


def fold_spend(tally: SpendTally, line: Line) -> SpendTally:
    """One more line of the spend-ledger; one already counted changes nothing."""
    if line.seq <= tally.up_to_seq or not isinstance(line.body, Spend):
        return tally
    spend = line.body
    return SpendTally(
        up_to_seq=line.seq,
        calls=tally.calls + 1,
        remote_calls=tally.remote_calls + spend.off_machine,
        usd=round(tally.usd + (spend.cost_usd or 0.0), 6),
    )
