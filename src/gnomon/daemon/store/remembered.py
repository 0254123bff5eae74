"""The gateway's own small facts that outlive a restart: one state file."""

import msgspec

from gnomon.domain.instants import Millis
from gnomon.gateway.authority import Session


class Remembered(msgspec.Struct, frozen=True, kw_only=True):
    """`paused_until` null while `paused`: until it is resumed. Of browsers only hashes are kept."""

    paused: bool = False
    paused_until: Millis | None = None
    hidden_cards: tuple[str, ...] = ()
    browser_sessions: tuple[Session, ...] = ()

    def is_paused(self, now: Millis) -> bool:
        return self.paused and (self.paused_until is None or now < self.paused_until)
