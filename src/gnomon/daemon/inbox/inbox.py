"""The inbox: what was brought to the operator, and what they do with it.

Only the operator comes in here, and which way they came is the door's word. Nothing that a
caller says decides a source, a time or an outcome that is the gateway's to say.
"""

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from gnomon.daemon import arguments as args
from gnomon.daemon.inbox.artifacts import Artifacts
from gnomon.daemon.inbox.engagement import EngagementBook
from gnomon.daemon.inbox.surfaces import Asked, Payload, Surfaces
from gnomon.daemon.presence import Sign
from gnomon.domain.errors import StateError, UsageError
from gnomon.domain.instants import Millis, iso
from gnomon.domain.records_referee import OutcomeKind, OutcomeSource
from gnomon.domain.views import ArtifactShown, Emitted, InboxItem, InboxShown
from gnomon.gateway.door import operators_door
from gnomon.gateway.operation import Operation, Progress
from gnomon.referee.engagement import Engagement, Surface

Run = Callable[[Any, Progress], Awaitable[Any]]


class Inbox:
    """`seen` hears of each act: whoever uses the inbox is here. `closed` hears the title of an
    agenda item that was settled.
    """

    def __init__(
        self,
        book: EngagementBook,
        surfaces: Surfaces,
        artifacts: Artifacts,
        seen: Callable[[Sign], None],
        scaffold_version: Callable[[], str],
        now: Callable[[], Millis],
        closed: Callable[[str], None],
    ) -> None:
        self._book = book
        self._surfaces = surfaces
        self._artifacts = artifacts
        self._seen = seen
        self._scaffold_version = scaffold_version
        self._now = now
        self._closed = closed

    # --- reading: never engagement -----------------------------------------------------------

    async def list(self, asked: args.InboxList, _: Progress) -> "list[InboxItem]":
        """The newest first."""
        state = self._book.state()
        newest = sorted(state.surfaces(), key=lambda each: each.seq, reverse=True)
        return [item(state, each, self._now()) for each in newest[: asked.limit]]

    async def show(self, asked: args.OfSurface, _: Progress) -> InboxShown:
        """One with its text. To look at something is not to use it."""
        state, surface = self._found(asked.surface_id)
        shown = item(state, surface, self._now())
        try:
            said = self._surfaces.said(self._book.emitted(surface).payload_sha256)
            edited = self._surfaces.edited(surface.surface_id)
        except StateError as error:
            return InboxShown(item=shown, fault=str(error))
        return InboxShown(item=msgspec.structs.replace(shown, body=said.body), edited=edited)

    async def artifact(self, asked: args.ArtifactShow, _: Progress) -> ArtifactShown:
        """A document as it stands in its file. To look at it is not to open an item."""
        return ArtifactShown(artifact=asked.artifact, text=self._artifacts.text(asked.artifact))

    # --- acting ------------------------------------------------------------------------------

    async def use(self, asked: args.OfSurface, _: Progress) -> InboxItem:
        """Its offered action was taken."""
        return await self._record(asked.surface_id, "acted", _by_door())

    async def dismiss(self, asked: args.OfSurface, _: Progress) -> InboxItem:
        """Seen and put away."""
        return await self._record(asked.surface_id, "acked", _by_door())

    async def read(self, asked: args.OfSurface, _: Progress) -> InboxItem:
        """The operator says that they read its artifact."""
        source = _by_door()
        self._wants_artifact(self._found(asked.surface_id)[1])
        return await self._record(asked.surface_id, "acted", source)

    async def open(self, asked: args.OfSurface, _: Progress) -> ArtifactShown:
        """Its artifact, opened through Gnomon. One that is past its time still opens."""
        operators_door()
        name = self._wants_artifact(self._found(asked.surface_id)[1])
        text = self._artifacts.text(name)
        await self._record_if_open(asked.surface_id, "artifact_file_open")
        return ArtifactShown(artifact=name, text=text)

    async def resolve(self, asked: args.OfSurface, _: Progress) -> InboxItem:
        """The agenda item that it stands for is settled; the agent hears of it at its next tick."""
        operators_door()
        surface = self._found(asked.surface_id)[1]
        if surface.kind != "pending":
            raise UsageError(
                f"{surface.title!r} is no agenda item.",
                next_step="Use or dismiss it.",
                surface_id=asked.surface_id,
            )
        settled = await self._record(asked.surface_id, "acted", "agenda_resolved")
        if surface.origin == "model" and not surface.synthetic:
            self._closed(surface.title)
        return settled

    async def edit(self, asked: args.SurfaceEdit, _: Progress) -> InboxItem:
        """The operator's own wording, kept beside what was shown."""
        operators_door()
        self._found(asked.surface_id)
        self._surfaces.keep_edit(asked.surface_id, asked.text)
        await self._record_if_open(asked.surface_id, "text_edited")
        return self._item(asked.surface_id)

    async def emit(self, asked: args.SurfaceEmit, _: Progress) -> Emitted:
        """The operator's own test. With `count` it counts as the model's."""
        operators_door()
        self._seen("inbox")
        surface_id = await self._surfaces.emit(
            Asked(
                payload=Payload(kind=asked.kind, title=asked.title, body=asked.body),
                origin="model" if asked.count else "rule",
                scaffold_version=self._scaffold_version(),
                synthetic=not asked.count,
                at_once=True,
            )
        )
        assert surface_id is not None, "without a key everything is news"
        return Emitted(surface_id=surface_id)

    # --- replies -----------------------------------------------------------------------------

    async def replied(self, surface_id: str) -> None:
        """The operator says something to it. Raises UsageError for one that is unknown, before
        any turn is begun.
        """
        operators_door()
        self._found(surface_id)
        await self._record_if_open(surface_id, "reply_in_conversation")

    # --- inside ------------------------------------------------------------------------------

    def _found(self, surface_id: str) -> tuple[Engagement, Surface]:
        state = self._book.state()
        surface = state.find(surface_id)
        if surface is None:
            raise UsageError(
                f"There is no item {surface_id!r} in the inbox.",
                next_step="`gnomon inbox list` shows those that are there.",
                surface_id=surface_id,
                reason="unknown",
            )
        return state, surface

    def _item(self, surface_id: str) -> InboxItem:
        state, surface = self._found(surface_id)
        return item(state, surface, self._now())

    async def _record(
        self, surface_id: str, outcome: OutcomeKind, source: OutcomeSource
    ) -> InboxItem:
        self._found(surface_id)
        self._seen("inbox")
        await self._book.record(surface_id, outcome, source)
        return self._item(surface_id)

    async def _record_if_open(self, surface_id: str, source: OutcomeSource) -> None:
        """Past its time an item can still be read and answered; it only counts no more."""
        self._seen("inbox")
        try:
            await self._book.record(surface_id, "acted", source)
        except UsageError as error:
            if error.facts.get("reason") != "past-horizon":
                raise

    def _wants_artifact(self, surface: Surface) -> str:
        if surface.artifact is None:
            raise UsageError(
                f"{surface.title!r} has no artifact.",
                next_step="Use or dismiss it.",
                surface_id=surface.surface_id,
            )
        return surface.artifact


def item(state: Engagement, surface: Surface, now: Millis) -> InboxItem:
    """A surface as the inbox shows it. Pure."""
    steady = state.availability.steady(now)
    is_open = surface.outcome != "acted" and not state.is_past(surface, steady)
    is_open = is_open and surface.surface_id in state.open
    return InboxItem(
        surface_id=surface.surface_id,
        kind=surface.kind,
        title=surface.title,
        emitted_at=iso(surface.at),
        scaffold_version=surface.scaffold_version,
        origin=surface.origin,
        outcome=surface.outcome,
        source=surface.source,
        open_until=iso(state.open_until(surface, now)) if is_open else None,
        synthetic=surface.synthetic,
        artifact=surface.artifact,
    )


def _by_door() -> OutcomeSource:
    return "cli" if operators_door().way == "cli" else "dashboard_click"


def inbox_rows(inbox: Inbox) -> tuple[Operation, ...]:
    """The rows of the table. What is begun is finished, whether or not the caller waits."""

    def acts(name: str, summary: str, arguments: type[msgspec.Struct], run: Run) -> Operation:
        result = {"inbox.open": ArtifactShown, "inbox.emit": Emitted}.get(name, InboxItem)
        return Operation(name, summary, arguments, result, run, cancellable=False)

    return (
        Operation(
            "inbox.list",
            "What was brought to you",
            args.InboxList,
            list[InboxItem],
            inbox.list,
            reads=True,
        ),
        Operation(
            "inbox.show", "One item in full", args.OfSurface, InboxShown, inbox.show, reads=True
        ),
        Operation(
            "artifact.show",
            "A document",
            args.ArtifactShow,
            ArtifactShown,
            inbox.artifact,
            reads=True,
        ),
        acts("inbox.use", "Use an item", args.OfSurface, inbox.use),
        acts("inbox.dismiss", "Put an item away", args.OfSurface, inbox.dismiss),
        acts("inbox.read", "Say that you read an artifact", args.OfSurface, inbox.read),
        acts("inbox.open", "Open an item's artifact", args.OfSurface, inbox.open),
        acts("inbox.resolve", "Settle an agenda item", args.OfSurface, inbox.resolve),
        acts("inbox.edit", "Put it in your own words", args.SurfaceEdit, inbox.edit),
        acts("inbox.emit", "Bring a test item", args.SurfaceEmit, inbox.emit),
    )
