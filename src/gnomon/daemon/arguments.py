"""The arguments of each operation. Bounds are part of the type; a wrong one is refused."""

from typing import Annotated, Any

import msgspec

from gnomon.approvals.file_payload import MOST_BYTES
from gnomon.domain.ledgers import LedgerName
from gnomon.domain.records import SurfaceKind

Text = Annotated[str, msgspec.Meta(min_length=1, max_length=100_000)]
PathText = Annotated[str, msgspec.Meta(min_length=1, max_length=4_096)]
LedgerId = Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9][a-z0-9_-]{0,127}$")]
ID = r"^[a-z0-9][a-z0-9-]{0,63}$"


def no_such(sentence: str, next_step: str) -> dict[str, Any]:
    """What is said of a word that cannot be an id, as of an id that is unknown: `{}` is the word.
    The door that reads the arguments says it (`gnomon.gateway.request`).
    """
    return {"no_such": (sentence, next_step)}


SurfaceId = Annotated[
    str,
    msgspec.Meta(
        pattern=ID,
        extra=no_such(
            "There is no item {} in the inbox.", "`gnomon inbox list` shows those that are there."
        ),
    ),
]
SessionId = Annotated[
    str,
    msgspec.Meta(
        pattern=ID, extra=no_such("There is no session {}.", "`gnomon chat` starts a new one.")
    ),
]


class Arguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of all arguments: unknown names are refused."""


class ChatTurn(Arguments, frozen=True):
    """`session` null opens a new one; `reply_to` names the surface that is answered."""

    text: Text
    session: SessionId | None = None
    reply_to: SurfaceId | None = None


class OfSession(Arguments, frozen=True):
    session: SessionId


class HistoryImport(Arguments, frozen=True):
    """Either paths, or sources (`claude-code`, `codex`) at their usual place."""

    paths: tuple[PathText, ...] = ()
    sources: tuple[str, ...] = ()
    dry_run: bool = False


class HistoryReport(Arguments, frozen=True):
    """`since` is a date or an instant; `project` a part of a project's path."""

    since: str | None = None
    project: str | None = None


class HistoryWatch(Arguments, frozen=True):
    """Whether other agents' histories are read on as they grow."""

    on: bool


class FolderAdd(Arguments, frozen=True):
    path: PathText
    writable: bool = False


class FolderRemove(Arguments, frozen=True):
    path: PathText


class ModelUse(Arguments, frozen=True):
    """`key_env` names a variable, `key_file` a 0600 file; a key itself is never passed."""

    name: Text
    url: str = ""
    key_env: str = ""
    key_file: str = ""


class Pause(Arguments, frozen=True):
    """Null pauses until `resume`."""

    for_seconds: Annotated[int, msgspec.Meta(ge=1, le=366 * 86_400)] | None = None


class JournalTail(Arguments, frozen=True):
    lines: Annotated[int, msgspec.Meta(ge=1, le=1_000)] = 20


class InboxList(Arguments, frozen=True):
    """How many of the newest."""

    limit: Annotated[int, msgspec.Meta(ge=1, le=500)] = 50


class OfSurface(Arguments, frozen=True):
    """An item, and nothing else: when and by which way is not the caller's to say."""

    surface_id: SurfaceId


class SurfaceEdit(Arguments, frozen=True):
    surface_id: SurfaceId
    text: Annotated[str, msgspec.Meta(max_length=20_000)]


class SurfaceEmit(Arguments, frozen=True):
    """`count`: it counts as the model's, instead of being left out of every number."""

    title: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    kind: SurfaceKind = "notification"
    body: Annotated[str, msgspec.Meta(max_length=20_000)] = ""
    count: bool = False


class Card(Arguments, frozen=True):
    card: Annotated[str, msgspec.Meta(pattern=r"^[a-z-]{1,40}$")]


class LedgerRead(Arguments, frozen=True):
    """A page of a ledger: lines with `seq` above `after`. `id` names one of a family
    (`session`, `run`); the other ledgers have none.
    """

    name: LedgerName
    id: LedgerId | None = None
    after: Annotated[int, msgspec.Meta(ge=0, le=2**53)] = 0
    limit: Annotated[int, msgspec.Meta(ge=1, le=500)] = 100


Moment = Annotated[str, msgspec.Meta(max_length=64)]


class FitnessShow(Arguments, frozen=True):
    """`since` is a date or an instant; null means the last 7 days' windows. `now` is the time
    it is taken to be, in a simulated home alone.
    """

    since: Moment | None = None
    now: Moment | None = None


class FitnessRun(Arguments, frozen=True):
    """`now` as in `FitnessShow`."""

    now: Moment | None = None


ChangeId = Annotated[
    str,
    msgspec.Meta(pattern=ID, extra=no_such("There is no change {}.", "See `gnomon changes list`.")),
]


class ChangesList(Arguments, frozen=True):
    """The newest; `open`: only those that have not ended."""

    limit: Annotated[int, msgspec.Meta(ge=1, le=500)] = 50
    open: bool = False


class OfChange(Arguments, frozen=True):
    change_id: ChangeId


class JobRun(Arguments, frozen=True):
    """A job by its name; `now` as in `FitnessShow`."""

    name: Annotated[
        str,
        msgspec.Meta(
            pattern=r"^[a-z][a-z-]{0,39}$",
            extra=no_such("There is no job {}.", "`gnomon jobs list` shows those that there are."),
        ),
    ]
    now: Moment | None = None


ScaffoldFile = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
VersionName = Annotated[str, msgspec.Meta(min_length=1, max_length=255)]


class ScaffoldVersions(Arguments, frozen=True):
    """Of one scaffold file, or of all; so many of the newest of each."""

    file: ScaffoldFile | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=500)] = 100


class ScaffoldDiff(Arguments, frozen=True):
    """Two contents of a scaffold file by their names; `current` is what is in force."""

    file: ScaffoldFile
    before: VersionName
    after: VersionName = "current"


ApprovalId = Annotated[
    str,
    msgspec.Meta(
        pattern=ID,
        extra=no_such(
            "There is no held action {}.", "`gnomon approvals list` shows those that there are."
        ),
    ),
]


class ApprovalsList(Arguments, frozen=True):
    """What waits first, then the newest. `pending`: those alone. `session`: of one conversation."""

    limit: Annotated[int, msgspec.Meta(ge=1, le=500)] = 50
    pending: bool = False
    session: SessionId | None = None


class OfApproval(Arguments, frozen=True):
    """A held action, and nothing else: its content is what was held."""

    id: ApprovalId


class Approve(Arguments, frozen=True):
    """`always`: also every later one of its action and target."""

    id: ApprovalId
    always: bool = False


class EditApproval(Arguments, frozen=True):
    """`text` is all that its target is to hold, in the operator's words."""

    id: ApprovalId
    text: Annotated[str, msgspec.Meta(min_length=1, max_length=MOST_BYTES)]


class ArtifactShow(Arguments, frozen=True):
    """An artifact by its name: `research-note-release@v3`."""

    artifact: Annotated[
        str, msgspec.Meta(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*@v[1-9][0-9]{0,5}$", max_length=200)
    ]
