"""That something waits for the operator, told where all is told: a surface of a rule's making,
which no number of the model's counts.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec

from gnomon.approvals.approval import Approval, summary
from gnomon.daemon.inbox.engagement import EngagementBook
from gnomon.daemon.inbox.surfaces import Asked, Payload, Surfaces
from gnomon.daemon.store.memo import Memo
from gnomon.domain.errors import GnomonError, StateError
from gnomon.domain.instants import iso
from gnomon.domain.records_change import Held

FILE = "approval-surfaces.json"
REMEMBERED = 200
TITLE = 200
"""Characters of a surface's title."""


class Brought(msgspec.Struct, frozen=True, kw_only=True):
    """Which surface told of which approval; the newest last."""

    surfaces: dict[str, str] = {}


@dataclass
class Announcing:
    """What cannot be told is told to the journal: it waits all the same, and its page says so."""

    surfaces: Surfaces
    book: EngagementBook
    memo: Memo
    may_speak: Callable[[], bool]
    scaffold_version: Callable[[], str]
    say: Callable[[str], None]

    async def waits(self, held: Held) -> None:
        """It needs the operator's word."""
        body = (
            f"Why: {held.why}\n\nNothing was done. Look at it and decide: "
            f"`gnomon approvals show {held.approval_id}`. If you do nothing, it expires at "
            f"{held.expires_at}."
        )
        surface = await self._emit(
            f"Wants to {summary(held)}", body, f"approval:{held.approval_id}", [held.approval_id]
        )
        if surface is not None:
            self._remember(held.approval_id, surface)

    async def remind(self, waiting: Sequence[Approval]) -> None:
        """Half of their time is over."""
        count = len(waiting)
        first = min(waiting, key=lambda each: each.expires_at)
        title = "1 action waits for you" if count == 1 else f"{count} actions wait for you"
        rows = "\n".join(f"- {each.summary} ({each.approval_id})" for each in waiting)
        body = f"{rows}\n\nThe first expires at {iso(first.expires_at)}. `gnomon approvals list`"
        names = sorted(each.approval_id for each in waiting)
        await self._emit(title, body, "approval-reminder", list(names))

    async def settled(self, approval_id: str) -> None:
        """The operator saw to it: the item that told of it is no longer open."""
        try:
            brought = (self.memo.load(FILE, Brought) or Brought()).surfaces
            surface = brought.get(approval_id)
            if surface is not None:
                await self.book.record(surface, "acted", "agenda_resolved")
        except (GnomonError, OSError) as error:
            if getattr(error, "facts", {}).get("reason") != "past-horizon":
                self.say(f"The item about {approval_id} stays open: {error}")

    async def _emit(self, title: str, body: str, key: str, material: list[str]) -> str | None:
        if not self.may_speak():
            return None
        short = title if len(title) <= TITLE else f"{title[: TITLE - 1]}…"
        try:
            return await self.surfaces.emit(
                Asked(
                    payload=Payload(kind="pending", title=short, body=body),
                    origin="rule",
                    scaffold_version=self.scaffold_version(),
                    dedupe_key=key,
                    material=material,
                    at_once=True,
                )
            )
        except (GnomonError, OSError) as error:
            self.say(f"It could not be told that something waits: {error}")
            return None

    def _remember(self, approval_id: str, surface: str) -> None:
        try:
            known = (self.memo.load(FILE, Brought) or Brought()).surfaces
        except StateError:
            known = {}
        kept = dict([*known.items(), (approval_id, surface)][-REMEMBERED:])
        try:
            self.memo.save(FILE, Brought(surfaces=kept))
        except OSError as error:
            self.say(f"It was not noted which item tells of {approval_id}: {error}")
