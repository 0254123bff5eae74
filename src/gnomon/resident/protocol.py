"""What the gateway says to the resident and hears from it, as types of both ends. Pure.

The gateway builds `Spawn`, `TickArguments`, `TurnArguments` and `StopArguments`; the resident
answers a tick with `TickReply` and a turn with `gnomon.domain.views.TurnReply`.
"""

from typing import Annotated

import msgspec

from gnomon.domain.instants import Millis
from gnomon.domain.json_value import Json
from gnomon.domain.manifest import Manifest
from gnomon.domain.messages import Message
from gnomon.domain.policy import Autonomy
from gnomon.domain.records import Mode, Origin, SkipReason, SurfaceKind, SurfaceMode
from gnomon.domain.similarity import HOUSE, Similarity
from gnomon.domain.views import ModelKind

NO_WORK = Manifest(id="executive", title="Background work")


class Said(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base: both ends are of one version, so an unknown field is an error."""


class ModelFacts(Said, frozen=True):
    name: str
    kind: ModelKind


class ScaffoldText(Said, frozen=True):
    """A scaffold in force: its version and its files by name."""

    version: str
    files: dict[str, str]


class Problem(Said, frozen=True):
    """A scaffold file that cannot come into force. `line` counts from 1; 0: all of it."""

    file: str
    line: int
    reason: str


class Spawn(Said, frozen=True):
    """A life begins. `self_state` is the stored one, or null; `reflections` is the number of
    the last reflection on the ledger, so that a lost state never counts from 1 again.
    """

    agent: str
    version: str
    mode: Mode
    effective_mode: Mode
    model: ModelFacts
    manifest: Manifest
    autonomy: Autonomy
    scaffold: ScaffoldText
    now: Millis
    self_state: Json = None
    reflections: int = 0
    problems: tuple[Problem, ...] = ()
    executive: Manifest = NO_WORK
    """What background work runs as. Without one it has no tools and no prompt."""
    notices_a_day: int = 5
    """How many things it may bring up by itself."""
    similarity: Similarity = HOUSE
    """When two titles are one, which decides what counts as a repeat."""


class TickArguments(Said, frozen=True):
    """`scaffold` is null when it is the one of the tick before. `skip_reason` is the gate's
    word; null: reflect. `closed` are titles of agenda items that the operator has settled.
    """

    now: Millis
    scaffold: ScaffoldText | None
    skip_reason: SkipReason | None
    operator_present: bool
    problems: tuple[Problem, ...] = ()
    closed: tuple[str, ...] = ()


BUSY = "busy"
"""A tick's error: the one before it is still under way."""


class TickReply(Said, frozen=True):
    """`error` is the stable code of what kept it from reflecting although it was asked to;
    `busy` when the tick before is still under way and this one was dropped.
    """

    reflected: bool
    error: str | None


class TurnArguments(Said, frozen=True):
    """`imported`: whether anything of other agents' history was read. `paused_until`: no model
    will answer until then, an instant or words; null while nothing is paused.
    """

    session: str
    turn: int
    text: str
    history: tuple[Message, ...]
    model_kind: ModelKind
    reply_to: str | None = None
    imported: bool = False
    paused_until: str | None = None


class StopArguments(Said, frozen=True):
    reason: str


# --- what the resident asks ------------------------------------------------------------------

MAX_TITLE = 200
MAX_BODY = 20_000
MAX_ARTIFACT = 200_000
"""Characters. An artifact is a document; a surface is read in a glance."""

TitleText = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_TITLE)]
BodyText = Annotated[str, msgspec.Meta(max_length=MAX_BODY)]


class SurfaceArguments(Said, frozen=True):
    """Bring something to the operator. `dedupe_key` with `material`: what, when it is the same
    as the last time for that key, is not worth saying again.
    """

    kind: SurfaceKind
    title: TitleText
    body: BodyText
    origin: Origin = "model"
    artifact: str | None = None
    dedupe_key: str | None = None
    material: Json = None
    mode: SurfaceMode = "queue"


class SurfaceReply(Said, frozen=True):
    """`surface_id` is null when it was `suppressed`: nothing was shown then."""

    surface_id: str | None
    suppressed: bool


class ArtifactArguments(Said, frozen=True):
    """Keep a finished piece of work: Markdown whose frontmatter fits its kind's schema."""

    action_kind: str
    title: TitleText
    query: Annotated[str, msgspec.Meta(max_length=2_000)]
    text: Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_ARTIFACT)]


class ArtifactReply(Said, frozen=True):
    """`progressed` is false when it says nothing that the last one of its title did not."""

    artifact: str
    progressed: bool
    surface_mode: SurfaceMode
