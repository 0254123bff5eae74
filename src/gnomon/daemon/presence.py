"""When the operator was last near. Pure.

Presence is a chat turn, an inbox action, an open dashboard's keystroke, `up` itself, and a
fresh user turn in a watched transcript; never the agent's own doing, a client or a GET. It
is not engagement.
"""

from typing import Literal

import msgspec

from gnomon.domain.instants import MINUTE, Millis

Sign = Literal["up", "chat", "inbox", "dashboard", "other-agent", "command"]


class Presence(msgspec.Struct, frozen=True, kw_only=True):
    last_at: Millis
    last_sign: Sign

    def seen(self, now: Millis, sign: Sign) -> "Presence":
        """A newer sign replaces an older one; a clock that went back does not."""
        return self if now < self.last_at else Presence(last_at=now, last_sign=sign)

    def is_near(self, now: Millis, idle_minutes: int) -> bool:
        """Whether the operator was here within `idle_minutes`; 0 turns the gate off."""
        return idle_minutes == 0 or now - self.last_at <= idle_minutes * MINUTE

    def minutes_away(self, now: Millis) -> float:
        return max(0, now - self.last_at) / MINUTE
