"""The one table of operations: everything that an operator or a client can ask for.

HTTP, pages and CLI are three doors to it (`gnomon.gateway.operation`).
"""

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from gnomon.daemon import arguments as args
from gnomon.daemon.acts import Acts
from gnomon.daemon.change.approval_rows import approval_rows
from gnomon.daemon.change.change_rows import change_rows
from gnomon.daemon.change.jobs import job_rows
from gnomon.daemon.change.learning import learning_rows
from gnomon.daemon.change.refining import refine_rows
from gnomon.daemon.core import Core
from gnomon.daemon.fitness.desk import fitness_rows
from gnomon.daemon.health.inspection import inspection
from gnomon.daemon.health.ledger_pages import ledger_pages
from gnomon.daemon.inbox.artifact_pages import artifact_rows
from gnomon.daemon.inbox.inbox import inbox_rows
from gnomon.daemon.store.disk_words import naming_the_disk
from gnomon.domain import views
from gnomon.domain.views_history import HistoryFound, ImportRow, Report, WatchView
from gnomon.gateway.operation import Nothing, Operation, Progress

Run = Callable[[Any, Progress], Awaitable[Any]]


def table(core: Core, acts: Acts) -> dict[str, Operation]:
    """All operations of an open core, by name."""
    rows: Iterable[Operation] = (
        _reads("status.show", "How it is", Nothing, views.Status, acts.status),
        _acts("chat.turn", "Say something to it", args.ChatTurn, views.TurnReply, acts.chat),
        _reads(
            "chat.sessions", "The conversations", Nothing, list[views.SessionView], acts.sessions
        ),
        _reads(
            "chat.messages",
            "What was said in one",
            args.OfSession,
            list[views.MessageView],
            acts.messages,
        ),
        _acts("chat.undo", "Take the last turn back", args.OfSession, views.Done, acts.undo),
        _reads(
            "history.found",
            "Histories of other agents here",
            Nothing,
            list[HistoryFound],
            acts.found,
        ),
        Operation(
            "history.import",
            "Read histories",
            args.HistoryImport,
            list[ImportRow],
            naming_the_disk(acts.import_history),
            outlives_pages=True,
        ),
        _reads(
            "history.report",
            "What the history says",
            args.HistoryReport,
            Report,
            acts.report,
        ),
        _reads(
            "history.watching",
            "Whether they are watched",
            Nothing,
            WatchView,
            acts.watching,
        ),
        _acts("history.watch", "Read histories on", args.HistoryWatch, views.Done, acts.watch),
        _reads(
            "folders.list", "What its tools may reach", Nothing, list[views.Folder], acts.folders
        ),
        _acts("folders.add", "Let it reach a folder", args.FolderAdd, views.Done, acts.add_folder),
        _acts(
            "folders.remove",
            "Take a folder back",
            args.FolderRemove,
            views.Done,
            acts.remove_folder,
        ),
        _reads(
            "model.list", "Models that could be used", Nothing, list[views.ModelOffer], acts.offers
        ),
        _acts("model.use", "Choose a model", args.ModelUse, views.Done, acts.use_model),
        _acts("model.fetch", "Unpack the embedded model", Nothing, views.Done, acts.fetch_model),
        _acts("kernel.pause", "No calls, no surfaces", args.Pause, views.Done, acts.pause),
        _acts("kernel.resume", "Go on", Nothing, views.Done, acts.resume),
        _acts("kernel.stop", "End the daemon", Nothing, views.Done, acts.stop),
        _reads(
            "cards.hidden", "First-run cards put away or done with", Nothing, list[str], acts.hidden
        ),
        _acts("cards.hide", "Put a first-run card away", args.Card, views.Done, acts.hide),
        _acts("presence.touch", "The operator is at the page", Nothing, views.Done, acts.touch),
        _acts(
            "login.link",
            "A link that signs a browser in once",
            Nothing,
            views.LoginLink,
            acts.login_link,
        ),
    )
    looking = inspection(core.home, core.agent, core.platform, core.fitness.sha256)
    more = (
        *inbox_rows(core.inbox),
        *artifact_rows(core.artifacts),
        *fitness_rows(core.desk),
        *change_rows(core.changes),
        *approval_rows(core.approving),
        *learning_rows(core.learning),
        *job_rows(core.jobs),
        *refine_rows(core.refine),
        *ledger_pages(core.stores),
        *looking,
    )
    return {row.name: row for row in (*rows, *more)}


def _reads(name: str, summary: str, arguments: Any, result: Any, run: Run) -> Operation:
    return Operation(name, summary, arguments, result, naming_the_disk(run), reads=True)


def _acts(name: str, summary: str, arguments: Any, result: Any, run: Run) -> Operation:
    return Operation(name, summary, arguments, result, naming_the_disk(run))
