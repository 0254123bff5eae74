"""Agenda items that the operator has settled, until the resident was told."""

from gnomon.daemon.store.memo import Memo

FILE = "closed-items.json"
MOST = 20
"""Titles that wait; of more, the newest. A tick takes them all."""
LOST = "Which items you settled last is not known; the agent may bring one up again."


class ClosedItems:
    """Kept on the disk, so that a restart between the act and the next tick loses none."""

    def __init__(self, memo: Memo) -> None:
        self._memo = memo
        self._waiting = memo.load_or_set_aside(FILE, tuple[str, ...], LOST) or ()

    def add(self, title: str) -> None:
        """The operator settled the item of that title."""
        self._keep((*(each for each in self._waiting if each != title), title)[-MOST:])

    def waiting(self) -> tuple[str, ...]:
        return self._waiting

    def told(self, titles: tuple[str, ...]) -> None:
        """The resident has them."""
        if titles:
            self._keep(tuple(each for each in self._waiting if each not in titles))

    def _keep(self, titles: tuple[str, ...]) -> None:
        self._waiting = titles
        self._memo.save(FILE, titles, durable=False)
