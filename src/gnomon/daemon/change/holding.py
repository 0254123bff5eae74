"""From a write that a tool asks for to a held action: what exactly the file would hold, beside
what it holds.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gnomon.agent.outcome import HELD, Outcome, ToolFaultError
from gnomon.approvals.file_payload import Draft, Passage, drafted, plain_payload
from gnomon.approvals.file_writes import Beside, draft_beside
from gnomon.approvals.queue import Proposal
from gnomon.brokers.held_writes import HeldWrite
from gnomon.daemon.change.approving import Approving, Parked
from gnomon.domain.errors import RecordError, TrustError
from gnomon.domain.plain_text import one_line
from gnomon.domain.records_change import HeldOrigin, Refused

WHY_CHARACTERS = 300


@dataclass(frozen=True)
class AskedIn:
    """The turn that a run answers: its conversation, and what the operator said in it."""

    session: str | None
    text: str | None


@dataclass(frozen=True)
class HeldWrites:
    """`asked_in` tells of a run."""

    approving: Approving
    asked_in: Callable[[str], AskedIn]
    beside: Beside

    async def hold(self, asked: HeldWrite) -> Outcome:
        """Park it, and tell the model so. What cannot be shown, cannot be done, or would change
        nothing is not parked.
        """
        try:
            draft = await draft_beside(
                self.beside, asked.target, lambda before: _draft(asked, before)
            )
            if draft.changes_nothing:
                return Outcome(text=f"{asked.target} holds exactly this already.")
            parked = await self.approving.hold(self._proposal(asked, draft))
        except ToolFaultError as fault:
            return fault.outcome()
        except (TrustError, RecordError) as error:
            return Outcome(text=str(error), error="DENIED")
        return _told(parked)

    def _proposal(self, asked: HeldWrite, draft: Draft) -> Proposal:
        turn = self.asked_in(asked.run_id)
        why = "It did not say." if turn.text is None else f"You said: {turn.text}"
        return Proposal(
            action="file.write",
            target=str(asked.target),
            payload=plain_payload(draft.payload),
            target_sha256=draft.before_sha256,
            origin=HeldOrigin(
                role=asked.role,
                run=asked.run_id,
                session=turn.session,
                untrusted=asked.rests_on,
            ),
            why=one_line(why, WHY_CHARACTERS),
            diff=draft.diff,
        )


def _draft(asked: HeldWrite, before: bytes | None) -> Draft:
    given, path = asked.arguments, str(Path(asked.target))
    if asked.tool == "edit":
        passage = Passage(old=str(given["old"]), new=str(given["new"]))
        return drafted(path, before, passage=passage)
    return drafted(path, before, content=str(given["content"]))


def _told(parked: Parked) -> Outcome:
    """What the model hears."""
    end = parked.end
    if end is None:
        text = f"Held for the operator: {parked.approval_id}. Nothing was written."
        return Outcome(text=text, error=HELD)
    if isinstance(end, Refused):
        return Outcome(text=f"{end.reason} Nothing was written.", error="DENIED")
    if end.error is not None:
        return Outcome(text=f"It could not be written: {end.error}.", error="IO_ERROR")
    return Outcome(text=end.result)
