"""Words on their way from a working thread to the loop that passes them on."""

import asyncio
from collections.abc import Callable


class Words:
    """Hands text to `on_text` in the loop, until it is closed.

    Once a call has been answered or taken back, no part of it may follow: the pipe takes
    such a part for a broken protocol.
    """

    def __init__(self, on_text: Callable[[str], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._on_text = on_text
        self._open = True

    def from_thread(self, text: str) -> None:
        """Called in the working thread."""
        if self._open and text:
            self._loop.call_soon_threadsafe(self._deliver, text)

    def close(self) -> None:
        """Called in the loop: nothing is handed on from here."""
        self._open = False

    def _deliver(self, text: str) -> None:
        if self._open:
            self._on_text(text)
