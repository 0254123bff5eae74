"""The time that a job or a page is asked about: now, or another one where time is simulated."""

from gnomon.daemon.store.create import is_simulated
from gnomon.daemon.store.stores import Stores
from gnomon.domain.errors import UsageError
from gnomon.domain.instants import Millis, parse_iso


class EvaluationTime:
    """Of one home."""

    def __init__(self, stores: Stores) -> None:
        self._stores = stores

    def given(self, text: str | None) -> Millis:
        """A time that was named, else today. Raises UsageError where none may be named."""
        if text is None:
            return self.today()
        if not is_simulated(self._stores.home):
            raise UsageError(
                "Only a simulated home, or a copy, can be asked about another time.",
                next_step="Add --copy: it works on a copy of the home and leaves this one alone.",
            )
        return instant(text)

    def today(self) -> Millis:
        """The wall's time; in a simulated home, whose days are others, that of its last line."""
        now = self._stores.clock.wall()
        if not is_simulated(self._stores.home):
            return now
        ledger = self._stores.files["decision-ledger"]
        last = next(ledger.read(after_seq=max(0, ledger.head.seq - 1)), None)
        return now if last is None else last.at


def instant(text: str) -> Millis:
    """A date means its first moment by UTC. Raises UsageError."""
    try:
        return parse_iso(text if "T" in text else f"{text}T00:00:00Z")
    except (ValueError, OverflowError) as error:
        raise UsageError(
            f"{text!r} is no date and no time.",
            next_step="Write it as 2026-05-24, or as 2026-05-24T18:00:00Z.",
        ) from error
