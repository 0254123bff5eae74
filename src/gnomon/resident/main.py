"""The resident's process: the entry that the gateway starts in its jail.

It has no timer, no server, no database and no model in it; all that it wants it asks for.
"""

from collections.abc import Sequence

from gnomon.clock import SystemClock, SystemIds
from gnomon.domain.json_value import Fields
from gnomon.domain.messages import Message
from gnomon.domain.plain import read
from gnomon.domain.ports import Clock, Ids
from gnomon.observe.corrections import Situation, correcting_rule
from gnomon.resident.life import Resident
from gnomon.resident.protocol import Spawn
from gnomon.resident.quotes import answer_from, describe
from gnomon.resident.rules import Rules
from gnomon.trust.ipc import Peer


async def serve(peer: Peer, argument: Fields) -> None:
    """Live until the pipe ends. `argument` is a `Spawn`; the caller runs the peer."""
    clock = SystemClock()
    await live(peer, argument, clock, SystemIds(clock))


async def live(peer: Peer, argument: Fields, clock: Clock, ids: Ids) -> None:
    """As `serve`, by another clock and other ids: the simulator's."""
    resident = Resident(peer, read(argument, Spawn), clock, ids, standing_rules())
    await resident.begin()
    peer.serve(resident.answer)
    await peer.closed()


def standing_rules() -> Rules:
    """The rules of the lower stages."""
    return Rules(corrected=corrected, answer=answer_from, describe=describe)


def corrected(text: str, history: Sequence[Message]) -> bool:
    """Whether a turn corrects the agent: only after the agent has said or done something."""
    spoke = any(message.role == "assistant" for message in history)
    return correcting_rule(text, Situation(after_work=spoke)) is not None
