"""What each operation does, over an open core. One method an operation, a few lines each."""

import asyncio
from collections.abc import Callable

from gnomon.daemon import arguments as args
from gnomon.daemon.core import FOREVER, Core
from gnomon.daemon.health.status import status
from gnomon.daemon.store import memo
from gnomon.daemon.store.settings import change_setting
from gnomon.domain.errors import NeedsOperatorError
from gnomon.domain.instants import SECOND, Millis, in_words, iso
from gnomon.domain.views import (
    Done,
    Folder,
    LoginLink,
    MessageView,
    ModelOffer,
    SessionView,
    Status,
    TurnReply,
)
from gnomon.domain.views_history import HistoryFound, ImportRow, Report, WatchView
from gnomon.gateway.authority import Authority
from gnomon.gateway.operation import Nothing, Progress

TURN_GRACE_SECONDS = 120.0
"""How long a new model waits for turns that the old one is in the middle of."""
CHANGE_SECONDS = 2.0
"""How long whoever chose a model waits for the change itself."""


class Acts:
    """`running` is null for a verb without a daemon: what only a daemon can do is refused."""

    def __init__(self, core: Core, running: "Running | None" = None) -> None:
        self._core = core
        self._running = running

    async def status(self, _: Nothing, __: Progress) -> Status:
        running = self._running
        return status(
            self._core,
            running=running is not None,
            url=running.url if running else None,
            next_tick_at=running.next_tick_at() if running else None,
        )

    # --- chat ----------------------------------------------------------------------------------

    async def chat(self, asked: args.ChatTurn, progress: Progress) -> TurnReply:
        core = self._core
        if asked.reply_to is not None:
            if asked.session is not None:
                core.turns.check(asked.session)
            await core.inbox.replied(asked.reply_to)
        core.seen("chat")
        reply = await core.turns.take(
            asked.text,
            asked.session,
            asked.reply_to,
            core.broker.in_force.kind,
            core.paused_until(),
            lambda part: progress(part) if isinstance(part, dict) else None,
        )
        core.stream.publish("chat", {"session": reply.session})
        return reply

    async def sessions(self, _: Nothing, __: Progress) -> list[SessionView]:
        return await self._core.turns.sessions()

    async def messages(self, asked: args.OfSession, _: Progress) -> list[MessageView]:
        return self._core.turns.messages(asked.session)

    async def undo(self, asked: args.OfSession, _: Progress) -> Done:
        self._core.seen("chat")
        return await self._core.turns.undo(asked.session)

    # --- history -------------------------------------------------------------------------------

    async def found(self, _: Nothing, __: Progress) -> list[HistoryFound]:
        return await self._core.platform.beside(self._core.history.found)

    async def import_history(
        self, asked: args.HistoryImport, progress: Progress
    ) -> list[ImportRow]:
        rows = await self._core.history.read(
            asked.paths, asked.sources, dry_run=asked.dry_run, progress=progress
        )
        read = [row for row in rows if row.format is not None]
        if read and not asked.dry_run:
            new = sum(row.new_observations for row in read)
            self._core.stores.journal(
                f"Read {_of(len(read), 'transcript')}, {_of(new, 'turn')} new."
            )
            self._core.stream.publish("history", {"files": len(read)})
            if self._running is not None:
                self._core.background.run(self._core.findings.look())
        return rows

    async def report(self, asked: args.HistoryReport, _: Progress) -> Report:
        return await self._core.history.report(asked.since, asked.project)

    async def watching(self, _: Nothing, __: Progress) -> WatchView:
        return self._core.watching.view()

    async def watch(self, asked: args.HistoryWatch, _: Progress) -> Done:
        """Begin or end it, now and at each later start. Without a daemon only the setting."""
        core = self._core
        if asked.on and self._running is not None:
            core.watching.start()
        change_setting(core.home, "observe", "watch", asked.on)
        if asked.on:
            return self._done("Other agents' histories are read on as they grow.")
        core.watching.stop()
        return self._done("Other agents' histories are no longer watched.")

    # --- folders -------------------------------------------------------------------------------

    async def folders(self, _: Nothing, __: Progress) -> list[Folder]:
        return list(self._core.folders.list())

    async def add_folder(self, asked: args.FolderAdd, _: Progress) -> Done:
        granted = self._core.folders.add(asked.path, writable=asked.writable)
        how = "read and write" if granted.writable else "read"
        return self._done(f"Its tools may {how} {granted.path}.")

    async def remove_folder(self, asked: args.FolderRemove, _: Progress) -> Done:
        taken = self._core.folders.remove(asked.path)
        await self._core.approving.folder_taken_back(taken.path)
        return self._done(f"Its tools may no longer reach {taken.path}.")

    # --- models --------------------------------------------------------------------------------

    async def offers(self, _: Nothing, __: Progress) -> list[ModelOffer]:
        return await self._core.models.offers()

    async def use_model(self, asked: args.ModelUse, _: Progress) -> Done:
        detail = await self._core.models.choose(asked)
        change = asyncio.create_task(self._change_over())
        self._core.background.run(change)
        await asyncio.wait({change}, timeout=CHANGE_SECONDS)
        if change.done():
            change.result()
        return self._done(detail)

    async def _change_over(self) -> None:
        """What the old model began may end; nobody waits for that to hear what was chosen."""
        await self._core.broker.use(self._core.models.in_force())
        await self._core.turns.over(TURN_GRACE_SECONDS)
        await self._core.world.model_changed()

    async def fetch_model(self, _: Nothing, progress: Progress) -> Done:
        return self._done(await self._core.models.fetch(progress))

    # --- the kernel ----------------------------------------------------------------------------

    async def pause(self, asked: args.Pause, _: Progress) -> Done:
        now = self._core.platform.clock.wall()
        until = Millis(now + asked.for_seconds * SECOND) if asked.for_seconds is not None else None
        await self._core.pause(until)
        words = FOREVER if until is None else in_words(iso(until))
        return self._done(f"Paused until {words}: no model calls, nothing shown.")

    async def resume(self, _: Nothing, __: Progress) -> Done:
        rested = self._core.paused_until() is not None
        await self._core.resume()  # also where a pause has run out and the beat has not seen it
        return self._done("It goes on.") if rested else Done(detail="It is not paused.")

    async def stop(self, _: Nothing, __: Progress) -> Done:
        if self._running is None:
            raise NeedsOperatorError("Gnomon is not running.", next_step="`gnomon up` starts it.")
        self._running.stop()
        return Done(detail="It is ending in order.")

    # --- the page ------------------------------------------------------------------------------

    async def hidden(self, _: Nothing, __: Progress) -> list[str]:
        """Those put away, and the history's once any was read, by whatever way."""
        done = ("history",) if self._core.history.was_read else ()
        return list(dict.fromkeys((*self._core.memo.facts.hidden_cards, *done)))

    async def hide(self, asked: args.Card, _: Progress) -> Done:
        self._core.memo.change(memo.with_card_hidden(self._core.memo.facts, asked.card))
        return Done(detail=f"The card {asked.card} is put away.")

    async def touch(self, _: Nothing, __: Progress) -> Done:
        self._core.seen("dashboard")
        return Done(detail="")

    async def login_link(self, _: Nothing, __: Progress) -> LoginLink:
        if self._running is None:
            raise NeedsOperatorError("Gnomon is not running.", next_step="`gnomon up` starts it.")
        return self._running.login_link(self._core.platform.clock.wall())

    def _done(self, detail: str) -> Done:
        """An act by the operator: in the journal, and told to open pages."""
        self._core.stores.journal(f"You: {detail}")
        self._core.say_status()
        return Done(detail=detail)


def _of(count: int, noun: str) -> str:
    return f"{count} {noun}" + ("" if count == 1 else "s")


class Running:
    """What only a daemon has: an address, a beat, an end."""

    def __init__(
        self,
        url: str,
        authority: Authority,
        next_tick_at: Callable[[], Millis | None],
        stop: Callable[[], None],
    ) -> None:
        self.url = url
        self.next_tick_at = next_tick_at
        self.stop = stop
        self._authority = authority

    def login_link(self, now: Millis) -> LoginLink:
        return self._authority.login_link(self.url, now)
