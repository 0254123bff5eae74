"""How a reflection changes the self-state, and what the self-state tells the next. Pure."""

from collections.abc import Sequence
from datetime import timedelta

import msgspec

from gnomon.domain.instants import EPOCH, Millis, iso
from gnomon.domain.messages import ModelReply
from gnomon.domain.records import Mode, Reflection
from gnomon.resident.notices import HandedOver, same_title, within_a_day
from gnomon.resident.reflection import (
    MAX_ITEMS,
    Authority,
    Item,
    Perception,
    ReflectionOutput,
    Repeating,
    Thread,
    active_item,
    subject,
)
from gnomon.resident.stall import Before, Weighed
from gnomon.resident.state import (
    RECENT_SUBJECTS,
    TOLD_KEPT,
    Agency,
    Agenda,
    Concerns,
    ConversationState,
    LastError,
    OperatorNotifications,
    PerceptionState,
    RecentDecision,
    SelfState,
    Shadow,
    WakefulnessState,
    Work,
)

replace = msgspec.structs.replace


def perceive(state: SelfState, now: Millis, operator_present: bool, mode: Mode) -> Perception:
    """What a reflection is told. `mode` is the effective one."""
    return Perception(
        now=in_words(now),
        operator_present=operator_present,
        authority=Authority(mode=mode, may_speak=mode in ("soft", "full"), may_act=mode == "full"),
        recent_conversation=state.conversation.subjects,
        thread=state.continuity.thread,
        active_item=state.continuity.active_item,
        operator_lane=_titles(state.active_work),
        background_lane=_titles(state.background_work),
        concerns=state.concerns.open,
        interests=state.agenda.interests,
        open_questions=state.agenda.open_questions,
        agenda=state.agenda.candidates,
        repeating=_repeating(state),
        closed_by_operator=state.agenda.closed,
    )


def in_words(at: Millis) -> str:
    """`Thursday 28 May 2026, 20:26 UTC`, in any locale."""
    moment = EPOCH + timedelta(milliseconds=at)
    day = _DAYS[moment.weekday()]
    return f"{day} {moment.day} {_MONTHS[moment.month - 1]} {moment.year}, {moment:%H:%M} UTC"


_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip


def _titles(work: Work) -> tuple[str, ...]:
    return tuple(item.title for item in work.items)


def _repeating(state: SelfState) -> Repeating | None:
    if state.shadow.repeat_count == 0 or state.recent_decision is None:
        return None
    thread = state.continuity.thread
    return Repeating(
        times=state.shadow.repeat_count,
        title=thread.title if thread else state.recent_decision.focus,
        next_step=thread.next_step if thread else "",
    )


def before(state: SelfState) -> Before:
    """What the next reflection is compared with."""
    carried = state.continuity
    return Before(
        signature=state.shadow.last_raw_signature,
        repeats=state.shadow.repeat_count,
        thread_title=carried.thread.title if carried.thread else None,
        active_title=carried.active_item.title if carried.active_item else None,
    )


def ticked(state: SelfState, now: Millis, operator_present: bool) -> SelfState:
    return replace(
        state,
        shadow=replace(state.shadow, ticks=state.shadow.ticks + 1),
        perception=PerceptionState(operator_present=operator_present, seen_at=iso(now)),
    )


def closed(state: SelfState, titles: Sequence[str]) -> SelfState:
    """The operator settled these: they leave the agenda, and the next reflection is told."""
    if not titles:
        return state
    carried, agenda = state.continuity, state.agenda
    told = (*(each for each in agenda.closed if each not in titles), *titles)
    return replace(
        state,
        continuity=replace(
            carried,
            thread=None if carried.thread and _is_of(titles, carried.thread) else carried.thread,
            active_item=next(iter(_left((carried.active_item,), titles)), None),
        ),
        active_work=Work(items=_left(state.active_work.items, titles)),
        background_work=Work(items=_left(state.background_work.items, titles)),
        agenda=replace(
            agenda,
            candidates=_left(agenda.candidates, titles),
            closed=told[-MAX_ITEMS:],
        ),
    )


def _left(items: Sequence[Item | None], titles: Sequence[str]) -> tuple[Item, ...]:
    return tuple(item for item in items if item is not None and not _is_of(titles, item))


def _is_of(titles: Sequence[str], named: Item | Thread) -> bool:
    return any(same_title(title, named.title) for title in titles)


def reflected(state: SelfState, weighed: Weighed, reply: ModelReply, now: Millis) -> SelfState:
    """The state after a reflection: lanes kept apart, the thread carried on."""
    output = weighed.output
    number = state.shadow.reflections + 1
    items = _agenda(output)
    return replace(
        state,
        continuity=replace(
            state.continuity,
            thread=_thread(state.continuity.thread, output),
            active_item=output.active_item,
            last_reflection_at=iso(now),
        ),
        wakefulness=WakefulnessState(level=output.wakefulness or state.wakefulness.level),
        budgets=replace(
            state.budgets,
            inference_seconds=round(state.budgets.inference_seconds + reply.seconds, 3),
            tokens_in=state.budgets.tokens_in + (reply.tokens_in or 0),
            tokens_out=state.budgets.tokens_out + (reply.tokens_out or 0),
        ),
        agency=Agency(desired_action=weighed.action, held=weighed.pressure == "hold"),
        active_work=Work(items=tuple(i for i in items if i.source == "operator")),
        background_work=Work(items=tuple(i for i in items if i.source != "operator")),
        agenda=Agenda(
            candidates=output.candidate_items,
            interests=output.interests,
            open_questions=output.open_questions,
        ),
        concerns=Concerns(open=output.concerns),
        shadow=Shadow(
            ticks=state.shadow.ticks,
            reflections=number,
            last_raw_signature=weighed.signature,
            repeat_count=weighed.repeats,
        ),
        recent_decision=RecentDecision(
            reflection_no=number,
            focus=output.focus,
            desired_action=weighed.action,
            pressure=weighed.pressure,
            summary=output.summary,
        ),
        last_error=None,
    )


def _agenda(output: ReflectionOutput) -> tuple[Item, ...]:
    """The active item first, then the other candidates; at most as many as a lane holds."""
    active = (output.active_item,) if output.active_item else ()
    rest = tuple(item for item in output.candidate_items if item != output.active_item)
    return (*active, *rest)[:4]


def _thread(carried: Thread | None, output: ReflectionOutput) -> Thread | None:
    """The carried thread, refined by what was said; another title is another thread."""
    item = output.active_item
    title = output.thread_title or (item.title if item else None)
    if title is None:
        return carried
    old = carried if carried is not None and carried.title == title else Thread(title=title)
    return Thread(
        title=title,
        problem_statement=_said(output.problem_statement, old.problem_statement),
        last_conclusion=_said(output.last_conclusion, old.last_conclusion),
        next_step=_said(output.next_step, old.next_step),
    )


def _said(new: str | None, old: str) -> str:
    return old if new is None else new


def line(
    state: SelfState, weighed: Weighed, reply: ModelReply, scaffold_version: str
) -> Reflection:
    """The ledger's line of the reflection that `state` (after it) counts."""
    output = weighed.output
    return Reflection(
        reflection_no=state.shadow.reflections,
        focus=output.focus,
        desired_action=weighed.action,
        summary=output.summary,
        concerns=output.concerns,
        active_item=active_item(output.active_item),
        raw_signature=weighed.signature,
        repeated=weighed.repeated,
        repeat_count=weighed.repeats,
        pressure=weighed.pressure,
        model=reply.model,
        seconds=round(reply.seconds, 3),
        tokens_in=reply.tokens_in,
        tokens_out=reply.tokens_out,
        scaffold_version=scaffold_version,
    )


def conversed(state: SelfState, session: str, text: str) -> SelfState:
    """A turn took place; the operator is here, and its subject is remembered."""
    talk = state.conversation
    return replace(
        state,
        conversation=ConversationState(
            turns=talk.turns + 1,
            last_session=session,
            subjects=(*talk.subjects, subject(text))[-RECENT_SUBJECTS:],
        ),
    )


def failed(state: SelfState, code: str, where: str, now: Millis) -> SelfState:
    return replace(state, last_error=LastError(code=code, where=where, at=iso(now)))


def spoke(state: SelfState, title: str, now: Millis) -> SelfState:
    """Something was handed to the notifier."""
    told = within_a_day(state.operator_notifications.told, now)
    return replace(
        state,
        operator_notifications=OperatorNotifications(
            last_title=title,
            last_at=iso(now),
            told=(*told, HandedOver(title=title, at=now))[-TOLD_KEPT:],
        ),
    )
