"""One reflection: what it may say, and what it is told. Pure.

The limits are page 5's where it names them. Lists and their entries are bounded too, so that
a small model under a grammar comes to an end. What is asked of the model is in the scaffold's
prompt; this file only puts facts beside it. No measure of the agent's own worth is among
them: the perception is built from the fields below and nothing else.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Literal, cast, get_args

import msgspec

from gnomon.domain.json_value import Fields, Json
from gnomon.domain.messages import Message, ModelRequest
from gnomon.domain.records import ActiveItem, DesiredAction, ItemSource, Mode

TEMPERATURE = 0.2
MAX_TOKENS = 1200
"""Enough for every field at its limit; a grammar ends most replies far below."""
TIMEOUT_SECONDS = 120.0
PURPOSE = "reflection"
PROMPT = "inner-loop-prompt@production"
MAX_ITEMS = 4
TASK_CHARACTERS = 120
BRIEF_ITEMS = 1
BRIEF_CHARACTERS = 80

ACTIONS: tuple[DesiredAction, ...] = get_args(DesiredAction)
SOURCES: tuple[ItemSource, ...] = get_args(ItemSource)

Focus = Annotated[str, msgspec.Meta(min_length=1, max_length=160)]
Title = Annotated[str, msgspec.Meta(min_length=1, max_length=120)]
Rationale = Annotated[str, msgspec.Meta(max_length=160)]
Summary = Annotated[str, msgspec.Meta(max_length=220)]
Problem = Annotated[str, msgspec.Meta(max_length=260)]
Note = Annotated[str, msgspec.Meta(min_length=1, max_length=100)]
Notes = Annotated[tuple[Note, ...], msgspec.Meta(max_length=MAX_ITEMS)]
Action = Annotated[
    str,
    msgspec.Meta(max_length=32, extra_json_schema={"enum": list(ACTIONS)}),
]
"""The schema offers the eight; what a model without a grammar says instead is `hold`."""
Wakefulness = Literal["drowsy", "awake", "alert"]


class Item(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Something to attend to. A source that is not one of the five is refused: an item must
    not get into the operator's lane by a made-up name.
    """

    title: Title
    source: ItemSource
    rationale: Rationale = ""


class ReflectionOutput(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """What the model returns, by JSON schema."""

    focus: Focus
    desired_action: Action
    summary: Summary
    concerns: Notes
    interests: Notes
    open_questions: Notes
    candidate_items: Annotated[tuple[Item, ...], msgspec.Meta(max_length=MAX_ITEMS)]
    active_item: Item | None
    wakefulness: Wakefulness | None = None
    thread_title: Title | None = None
    problem_statement: Problem | None = None
    last_conclusion: Summary | None = None
    next_step: Summary | None = None


class Thread(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The line of thought that is carried from one reflection to the next."""

    title: str
    problem_statement: str = ""
    last_conclusion: str = ""
    next_step: str = ""


class Repeating(msgspec.Struct, frozen=True, kw_only=True):
    """Told when the last reflections were the same: what not to return again."""

    times: int
    title: str
    next_step: str


class Authority(msgspec.Struct, frozen=True, kw_only=True):
    mode: Mode
    may_speak: bool
    may_act: bool


class Perception(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """All that a reflection is told: time, presence, and what the self-state carries.

    `recent_conversation` are the subjects of the last turns, newest last, each cut short;
    never their text. `now` is in words: a small model copies what looks like a number.
    `closed_by_operator` are items of its agenda that need no more thought.
    """

    operator_present: bool
    now: str
    authority: Authority
    recent_conversation: tuple[str, ...] = ()
    thread: Thread | None = None
    active_item: Item | None = None
    operator_lane: tuple[str, ...] = ()
    background_lane: tuple[str, ...] = ()
    concerns: tuple[str, ...] = ()
    interests: tuple[str, ...] = ()
    open_questions: tuple[str, ...] = ()
    agenda: tuple[Item, ...] = ()
    repeating: Repeating | None = None
    closed_by_operator: tuple[str, ...] = ()


def request(prompt: str, reference: str, perception: Perception) -> ModelRequest:
    """The one model call of a reflection: the scaffold's words, then the facts as JSON.

    The words come first and do not change from tick to tick, so that a server can keep what
    it computed for them.
    """
    facts = msgspec.json.encode(perception).decode()
    return ModelRequest(
        messages=(
            Message(role="system", content=prompt),
            Message(role="user", content=facts),
        ),
        purpose=PURPOSE,
        temperature=TEMPERATURE,
        max_tokens=MAX_TOKENS,
        timeout_seconds=TIMEOUT_SECONDS,
        prompt=reference,
    )


def desired_action(output: ReflectionOutput) -> DesiredAction:
    """The action that was asked for; one that is not known is `hold` (page 5)."""
    asked = output.desired_action
    return asked if asked in ACTIONS else "hold"


def active_item(item: Item | None) -> ActiveItem | None:
    """The item as the ledger holds it."""
    if item is None:
        return None
    return ActiveItem(title=item.title, source=item.source, rationale=item.rationale)


def subject(text: str) -> str:
    """A conversation's turn by its subject: its first line, cut short, on one line."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    words = re.sub(r"\s+", " ", first).strip()
    return words if len(words) <= TASK_CHARACTERS else words[: TASK_CHARACTERS - 1] + "…"


def published_schema() -> Fields:
    """The JSON Schema of `ReflectionOutput`, as `data/schemas/reflection.json` holds it."""
    return cast(Fields, msgspec.json.schema(ReflectionOutput))


def brief_schema() -> Fields:
    """The same record with tighter bounds, for the demo model: one entry a list and short
    texts. It is shown that; what it returns is read as `ReflectionOutput` all the same.

    A small model fills every field to its limit, and nothing rests on what it says: at some
    50 tokens a second the full bounds can take a minute, these take some ten seconds.
    """
    return cast(Fields, _tightened(published_schema()))


def _tightened(node: Json) -> Json:
    if isinstance(node, Mapping):
        return {key: _bound(key, _tightened(value)) for key, value in node.items()}
    if isinstance(node, list | tuple):
        return [_tightened(value) for value in node]
    return node


def _bound(key: str, value: Json) -> Json:
    limit = {"maxItems": BRIEF_ITEMS, "maxLength": BRIEF_CHARACTERS}.get(key)
    return min(limit, value) if limit is not None and isinstance(value, int) else value


def lane(item: Item | ActiveItem | None) -> Literal["operator", "background"]:
    """Which lane a reflection is in: the operator's when its active item came from them."""
    return "operator" if item is not None and item.source == "operator" else "background"
