"""What a turn held, as cards: allow once, always for this file, or no. On a terminal alone."""

from collections.abc import Callable
from typing import Literal

from gnomon.cli import asks
from gnomon.cli.connection import Connection
from gnomon.cli.line import Line
from gnomon.cli.output import Output
from gnomon.cli.render_approvals import card_lines, done_lines
from gnomon.domain.errors import GnomonError
from gnomon.domain.views_change import ApprovalShown

Choice = Literal["once", "always", "no", "later"]
CHOICES: dict[str, Choice] = {"o": "once", "a": "always", "n": "no"}
"""By the first letter of what was typed; all else means later."""
LATER = "It waits. Decide with `gnomon approvals show {}`."


class HeldCards:
    """Each held action of a conversation is asked about once; what was put off stays held."""

    def __init__(self, connection: Connection, output: Output) -> None:
        self._connection = connection
        self._output = output
        self._asked: set[str] = set()

    def ask(self, session: str, read: Callable[[str], str]) -> None:
        """Show what waits in a conversation, and take the operator's word. Errors are told."""
        try:
            waiting = self._connection.call(
                asks.APPROVALS_LIST, {"session": session, "pending": True}
            )
            for view in waiting:
                if view.id not in self._asked:
                    self._asked.add(view.id)
                    self._card(view.id, read)
        except GnomonError as error:
            self._output.note(str(error), "bad")
        except (EOFError, KeyboardInterrupt):
            self._output.lines([Line()])
            self._output.note("It waits; `gnomon approvals list` shows it.")

    def _card(self, name: str, read: Callable[[str], str]) -> None:
        shown = self._connection.call(asks.APPROVALS_SHOW, {"id": name})
        self._output.lines([Line(), *card_lines(shown)])
        choice = _choice(read(_question(shown)), shown)
        try:
            match choice:
                case "once" | "always":
                    given = {"id": name, "always": choice == "always"}
                    done = self._connection.call(asks.APPROVALS_APPROVE, given)
                case "no":
                    done = self._connection.call(asks.APPROVALS_REJECT, {"id": name})
                case "later":
                    self._output.note(LATER.format(name))
                    return
        except GnomonError as error:
            self._output.note(str(error), "bad")
            return
        self._output.lines(done_lines(done))


def _question(shown: ApprovalShown) -> str:
    always = " / [a]lways for this file" if shown.can_always else ""
    return f"Allow it [o]nce{always} / [n]o? Enter leaves it for later. "


def _choice(said: str, shown: ApprovalShown) -> Choice:
    choice = CHOICES.get(said.strip().lower()[:1], "later")
    return "later" if choice == "always" and not shown.can_always else choice
