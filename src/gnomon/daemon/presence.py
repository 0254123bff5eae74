"""When the operator was last near. Pure.

Presence is a chat turn, an inbox action, an open dashboard's keystroke, `up` itself, and a
fresh user turn in a watched transcript; never the agent's own doing, a client or a GET. It
is not engagement.

Times here are of the boot clock (`steady`), not the wall: a wall that is set back must not
keep an operator near who has gone.
"""

from typing import Literal

import msgspec

from gnomon.domain.instants import MINUTE, SECOND, Millis
from gnomon.domain.ports import Clock

Sign = Literal["up", "chat", "inbox", "dashboard", "other-agent", "command"]

MESSAGE_IS_FRESH = 2 * MINUTE
SIGN_IS_FRESH = 90 * SECOND


def steady(clock: Clock) -> Millis:
    """Milliseconds that go on while the machine sleeps, and that nobody sets."""
    return Millis(round(clock.boottime() * SECOND))


class Presence(msgspec.Struct, frozen=True, kw_only=True):
    last_at: Millis
    last_sign: Sign
    last_message_at: Millis | None = None

    def seen(self, now: Millis, sign: Sign) -> "Presence":
        """A newer sign replaces an older one."""
        if now < self.last_at:
            return self
        message = now if sign == "chat" else self.last_message_at
        return Presence(last_at=now, last_sign=sign, last_message_at=message)

    def is_here(self, now: Millis) -> bool:
        """Whether something may interrupt: a message within 2 minutes, or any sign within 90 s
        (page 5).
        """
        message = self.last_message_at
        spoke = message is not None and 0 <= now - message <= MESSAGE_IS_FRESH
        return spoke or 0 <= now - self.last_at <= SIGN_IS_FRESH

    def is_near(self, now: Millis, idle_minutes: int) -> bool:
        """Whether the operator was here within `idle_minutes`; 0 turns the gate off."""
        return idle_minutes == 0 or now - self.last_at <= idle_minutes * MINUTE
