"""The self-state: what the resident carries from tick to tick and from life to life. Pure.

Sixteen groups (page 5). All of it is bounded, all of it may be lost without harm to any
ledger, and none of it holds a measure of the agent's worth. The file is versioned: an older
one is migrated forward step by step, a newer or damaged one is a typed error and the caller
decides (the resident starts afresh and says so on its ledger).
"""

from collections.abc import Callable, Mapping
from typing import Annotated, cast

import msgspec

from gnomon.domain.errors import SelfStateError
from gnomon.domain.json_value import Fields, Json
from gnomon.domain.records import DesiredAction, Mode, Pressure, Sha256
from gnomon.resident.executive import Attempted
from gnomon.resident.notices import A_DAY, HandedOver
from gnomon.resident.reflection import MAX_ITEMS, Item, Thread, Wakefulness

VERSION = 1
RECENT_SUBJECTS = 5
TOLD_KEPT = 2 * A_DAY

Count = Annotated[int, msgspec.Meta(ge=0)]
Items = Annotated[tuple[Item, ...], msgspec.Meta(max_length=MAX_ITEMS)]
Texts = Annotated[tuple[str, ...], msgspec.Meta(max_length=MAX_ITEMS)]


class Group(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of the groups: unknown fields mean damage, not news."""


class Continuity(Group, frozen=True):
    """The carried thread and item, and how many lives there were."""

    lives: Count = 0
    thread: Thread | None = None
    active_item: Item | None = None
    last_reflection_at: str | None = None


class WakefulnessState(Group, frozen=True):
    level: Wakefulness = "awake"


class Budgets(Group, frozen=True):
    """What reflecting has used since the first life."""

    inference_seconds: float = 0.0
    tokens_in: Count = 0
    tokens_out: Count = 0


class PerceptionState(Group, frozen=True):
    operator_present: bool = False
    seen_at: str | None = None


class AuthorityState(Group, frozen=True):
    mode: Mode = "soft"
    effective_mode: Mode = "shadow"


class Agency(Group, frozen=True):
    desired_action: DesiredAction = "rest"
    held: bool = False


class ConversationState(Group, frozen=True):
    """The subjects of the last turns, newest last, and where the last one was."""

    turns: Count = 0
    last_session: str | None = None
    subjects: Annotated[tuple[str, ...], msgspec.Meta(max_length=RECENT_SUBJECTS)] = ()


class Work(Group, frozen=True):
    """One lane's open items."""

    items: Items = ()


class Agenda(Group, frozen=True):
    """`closed` are titles that the operator settled since the last reflection."""

    candidates: Items = ()
    interests: Texts = ()
    open_questions: Texts = ()
    closed: Texts = ()


class OperatorNotifications(Group, frozen=True):
    """The last thing that was handed to the notifier, and what was within the last day."""

    last_title: str | None = None
    last_at: str | None = None
    told: Annotated[tuple[HandedOver, ...], msgspec.Meta(max_length=TOLD_KEPT)] = ()


class ExecutiveState(Group, frozen=True):
    attempts: tuple[Attempted, ...] = ()


class Concerns(Group, frozen=True):
    open: Texts = ()


class Shadow(Group, frozen=True):
    """Counts, and what the next reflection is compared with."""

    ticks: Count = 0
    reflections: Count = 0
    last_raw_signature: Sha256 | None = None
    repeat_count: Count = 0


class RecentDecision(Group, frozen=True):
    reflection_no: int
    focus: str
    desired_action: DesiredAction
    pressure: Pressure
    summary: str


class LastError(Group, frozen=True):
    code: str
    where: str
    at: str


class SelfState(Group, frozen=True):
    version: int = VERSION
    continuity: Continuity = Continuity()
    wakefulness: WakefulnessState = WakefulnessState()
    budgets: Budgets = Budgets()
    perception: PerceptionState = PerceptionState()
    authority: AuthorityState = AuthorityState()
    agency: Agency = Agency()
    conversation: ConversationState = ConversationState()
    active_work: Work = Work()
    background_work: Work = Work()
    agenda: Agenda = Agenda()
    operator_notifications: OperatorNotifications = OperatorNotifications()
    executive: ExecutiveState = ExecutiveState()
    concerns: Concerns = Concerns()
    shadow: Shadow = Shadow()
    recent_decision: RecentDecision | None = None
    last_error: LastError | None = None


Migration = Callable[[Fields], Fields]
MIGRATIONS: Mapping[int, Migration] = {}
"""From a version to the next one. The first format has none before it."""


def decode(
    value: Json, migrations: Mapping[int, Migration] = MIGRATIONS, current: int = VERSION
) -> SelfState:
    """Read a persisted self-state, migrating it forward.

    Raises SelfStateError when it is damaged, or newer than this Gnomon.
    """
    found = _version(value)
    if found > current:
        raise SelfStateError(
            f"The self-state is of format {found}; this Gnomon reads up to {current}.",
            next_step="Run the newer Gnomon, or move self-state.json away to start afresh.",
            version=found,
        )
    fields = cast(Fields, value)
    for version in range(found, current):
        step = migrations.get(version)
        if step is None:
            raise _damaged(f"nothing leads from format {version} to {version + 1}", found)
        fields = {**step(fields), "version": version + 1}
    try:
        return msgspec.convert(fields, type=SelfState)
    except msgspec.ValidationError as error:
        raise _damaged(str(error), found) from None


def _version(value: Json) -> int:
    version = value.get("version") if isinstance(value, Mapping) else None
    if not isinstance(version, int) or isinstance(version, bool) or version < 0:
        raise _damaged("it names no format version", None)
    return version


def _damaged(reason: str, version: int | None) -> SelfStateError:
    return SelfStateError(
        f"The self-state cannot be read: {reason}.",
        next_step="It starts afresh; the ledgers are not touched.",
        version=version,
    )


def encode(state: SelfState) -> Json:
    """As `state.put` takes it."""
    return cast(Json, msgspec.to_builtins(state))


def worth_saving(before: SelfState, after: SelfState) -> bool:
    """Whether a change must reach the disk. That another tick passed is on the ledger already,
    and an idle Gnomon writes its state not once an hour for it.
    """
    return _lasting(before) != _lasting(after)


def _lasting(state: SelfState) -> SelfState:
    return msgspec.structs.replace(
        state,
        shadow=msgspec.structs.replace(state.shadow, ticks=0),
        perception=PerceptionState(),
    )
