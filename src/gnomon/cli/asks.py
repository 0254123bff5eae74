"""What the CLI asks of Gnomon: each operation's name with the type of its answer."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from gnomon.domain import views, views_change, views_history, views_referee

R = TypeVar("R")


@dataclass(frozen=True)
class Ask(Generic[R]):
    """`name` is an operation's; `result` is decoded strictly from what comes back."""

    name: str
    result: type[R]


STATUS = Ask("status.show", views.Status)
LOGIN_LINK = Ask("login.link", views.LoginLink)
PAUSE = Ask("kernel.pause", views.Done)
RESUME = Ask("kernel.resume", views.Done)
STOP = Ask("kernel.stop", views.Done)

CHAT_TURN = Ask("chat.turn", views.TurnReply)
CHAT_SESSIONS = Ask("chat.sessions", list[views.SessionView])
CHAT_MESSAGES = Ask("chat.messages", list[views.MessageView])
CHAT_UNDO = Ask("chat.undo", views.Done)

HISTORY_IMPORT = Ask("history.import", list[views_history.ImportRow])
HISTORY_REPORT = Ask("history.report", views_history.Report)

FOLDERS_LIST = Ask("folders.list", list[views.Folder])
FOLDERS_ADD = Ask("folders.add", views.Done)
FOLDERS_REMOVE = Ask("folders.remove", views.Done)

MODEL_LIST = Ask("model.list", list[views.ModelOffer])
MODEL_USE = Ask("model.use", views.Done)
MODEL_FETCH = Ask("model.fetch", views.Done)

INBOX_LIST = Ask("inbox.list", list[views.InboxItem])
INBOX_SHOW = Ask("inbox.show", views.InboxShown)
INBOX_USE = Ask("inbox.use", views.InboxItem)
INBOX_DISMISS = Ask("inbox.dismiss", views.InboxItem)
INBOX_READ = Ask("inbox.read", views.InboxItem)
INBOX_EMIT = Ask("inbox.emit", views.Emitted)

FITNESS_SHOW = Ask("fitness.show", views_referee.Fitness)
FITNESS_RUN = Ask("fitness.run", views_referee.Written)
FITNESS_RETUNE = Ask("fitness.retune", views_referee.Retuned)

CHANGES_LIST = Ask("changes.list", list[views_change.ChangeView])
CHANGES_SHOW = Ask("changes.show", views_change.ChangeShown)
CHANGES_DIFF = Ask("changes.diff", views_change.ChangeDiff)
CHANGES_REVERT = Ask("changes.revert", views.Done)

APPROVALS_LIST = Ask("approvals.list", list[views_change.ApprovalView])
APPROVALS_SHOW = Ask("approvals.show", views_change.ApprovalShown)
APPROVALS_APPROVE = Ask("approvals.approve", views_change.ApprovalShown)
APPROVALS_EDIT = Ask("approvals.edit", views_change.ApprovalShown)
APPROVALS_REJECT = Ask("approvals.reject", views_change.ApprovalShown)
APPROVALS_REDO = Ask("approvals.redo", views_change.ApprovalShown)
APPROVALS_UNDO = Ask("approvals.undo", views_change.ApprovalShown)
APPROVALS_FORGET = Ask("approvals.forget", views_change.ApprovalShown)

REFINE_STATUS = Ask("refine.status", views_change.Readiness)
REFINE_ENABLE = Ask("refine.enable", views_change.Readiness)
REFINE_DISABLE = Ask("refine.disable", views_change.Readiness)

JOBS_LIST = Ask("jobs.list", list[views_change.JobView])
JOBS_RUN = Ask("jobs.run", views_change.JobDone)

DOCTOR = Ask("trust.doctor", views.Diagnosis)
VERIFY = Ask("trust.verify", views.Verification)
JOURNAL = Ask("journal.tail", views.Journal)
