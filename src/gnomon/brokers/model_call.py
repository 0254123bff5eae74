"""One call at the broker: what was asked, what came of it, and the line that says so. Pure."""

from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from gnomon.brokers.model_in_force import InForce
from gnomon.domain.messages import TIMEOUT_SECONDS, ModelReply, ModelRequest
from gnomon.domain.plain_text import clean, one_line
from gnomon.domain.policy import Role
from gnomon.domain.records import Spend

FOREGROUND = frozenset({"chat"})
"""Purposes that an operator waits for. All others are background."""
BYTES_PER_TOKEN = 3
"""English has 3 to 4 bytes a token, most other text fewer tokens a byte than that; where a
server does not count, over-estimating keeps the budget's promise."""
MESSAGE_BYTES = 12
"""What a chat template adds to a message."""

MOST_TOKENS = 100_000_000
"""Of one call: a hundred times the longest context that is sold. A count beyond it is no count,
and neither is one below 0: taken as it is, one reply could use up a day's budget or refill it.
"""
MODEL_NAME = 200
"""Characters."""

OnText = Callable[[str], None]


@dataclass(frozen=True)
class Call:
    """One call as asked for. `purpose` is the gateway's word, not the asking role's."""

    role: Role
    purpose: str
    agent: str
    request: ModelRequest
    on_text: OnText | None = None
    run: str | None = None
    change_id: str | None = None

    @property
    def background(self) -> bool:
        return self.purpose not in FOREGROUND


@dataclass
class Outcome:
    """What there is to meter, filled while the call runs."""

    reply: ModelReply | None = None
    error: str | None = None
    seconds: float = 0.0
    text_bytes: int = 0


def timeout_of(request: ModelRequest, model: InForce) -> float:
    """Seconds for a call: the operator's bound, or less where the request asks for less."""
    if request.timeout_seconds >= TIMEOUT_SECONDS:
        return model.timeout_seconds
    return min(request.timeout_seconds, model.timeout_seconds)


def plausible(reply: ModelReply) -> ModelReply:
    """The reply, with counts that cannot be taken for unknown: then they are estimated. The
    model's name, which stands on every line, is cut to a name's length.
    """
    return msgspec.structs.replace(
        reply,
        model=one_line(clean(reply.model), MODEL_NAME),
        tokens_in=_count(reply.tokens_in),
        tokens_out=_count(reply.tokens_out),
        tokens_cached=_count(reply.tokens_cached),
    )


def _count(said: int | None) -> int | None:
    return said if said is not None and 0 <= said <= MOST_TOKENS else None


def prompt_tokens(request: ModelRequest) -> int:
    """An estimate of a prompt's tokens from its bytes."""
    size = sum(
        len(message.content.encode())
        + sum(len(call.arguments.encode()) for call in message.tool_calls)
        + MESSAGE_BYTES
        for message in request.messages
    )
    tools = sum(len(msgspec.json.encode(tool)) for tool in request.tools)
    return (size + tools) // BYTES_PER_TOKEN


def counted_tokens(request: ModelRequest, outcome: Outcome) -> tuple[int, int]:
    """Tokens in and out: the server's count, else an estimate.

    A call that failed before a word of answer is taken to have cost nothing, unless the
    model may have worked on it.
    """
    reply = outcome.reply
    estimate_in = prompt_tokens(request)
    estimate_out = outcome.text_bytes // BYTES_PER_TOKEN
    if reply is not None:
        written = max(estimate_out, len(reply.content.encode()) // BYTES_PER_TOKEN)
        return (
            estimate_in if reply.tokens_in is None else reply.tokens_in,
            written if reply.tokens_out is None else reply.tokens_out,
        )
    worked = outcome.text_bytes > 0 or outcome.error in {"model-timeout", "model-reply", "budget"}
    return (estimate_in, estimate_out) if worked else (0, 0)


def spend_of(call: Call, model: InForce, outcome: Outcome) -> Spend:
    """The spend ledger's line. Null stands for what the server did not say."""
    reply = outcome.reply
    tokens_in = reply.tokens_in if reply is not None else None
    tokens_out = reply.tokens_out if reply is not None else None
    cost = model.prices.cost(tokens_in or 0, tokens_out or 0)
    known = tokens_in is not None and tokens_out is not None
    free = model.prices.cost(1_000_000, 1_000_000) == 0.0
    return Spend(
        role=call.role,
        purpose=call.purpose,
        agent=call.agent,
        model=reply.model if reply is not None else model.name,
        prompt=call.request.prompt,
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        tokens_cached=reply.tokens_cached if reply is not None else None,
        seconds=round(outcome.seconds, 6),
        cost_usd=cost if known or free else None,
        joules=None,
        change_id=call.change_id,
        error=outcome.error,
        run=call.run,
        off_machine=model.kind == "remote",
    )
