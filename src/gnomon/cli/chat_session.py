"""A conversation in the terminal: prompts, commands, streaming, Ctrl-C for the turn alone."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from gnomon.cli import asks
from gnomon.cli.chat_cards import HeldCards
from gnomon.cli.connection import Connection
from gnomon.cli.line import Line
from gnomon.cli.output import Output
from gnomon.cli.render import cost_lines, model_lines, reply_lines, session_lines
from gnomon.cli.terminal_text import one_line
from gnomon.domain.errors import GnomonError
from gnomon.domain.json_value import Fields
from gnomon.domain.views import TurnReply

PROMPT = "> "
GREETING = 'Ask your history: "how did I fix the flaky test?" /help shows what else there is.'
HELP = (
    ("/new", "begin a new session"),
    ("/sessions [ID]", "list sessions, or go on in one"),
    ("/undo", "take the last turn back; the next one does not see it"),
    ("/model [NAME]", "list models, or use one"),
    ("/cost", "what today cost"),
    ("/help", "this"),
    ("/quit", "leave, as Ctrl-D does"),
)

Command: TypeAlias = Callable[[str], None]


@dataclass(frozen=True)
class Turn:
    """What the operator says, and in which session; null begins one."""

    text: str
    session: str | None = None
    reply_to: str | None = None

    def arguments(self) -> Fields:
        """Only what was given: the operation knows the defaults."""
        given = {"text": self.text, "session": self.session, "reply_to": self.reply_to}
        return {name: value for name, value in given.items() if value is not None}


class ChatSession:
    """`session` is the one to go on in; after the first turn it is the one that was begun."""

    def __init__(self, connection: Connection, output: Output, session: str | None = None) -> None:
        self._connection = connection
        self._output = output
        self.session = session
        self._streamed = ""
        self._flow = output.flow()
        self._mid_line = False
        self._steps: set[str] = set()
        """What was said of this turn's steps: a long turn says each thing once."""
        self._cards = HeldCards(connection, output)
        self._commands: dict[str, Command] = {
            "/new": self._new,
            "/sessions": self._sessions,
            "/undo": self._undo,
            "/model": self._model,
            "/cost": self._cost,
            "/help": self._help,
        }

    def run(self, read: Callable[[str], str] = input) -> None:
        """Read and answer until Ctrl-D or /quit. An error ends the turn, not the conversation."""
        self._output.note(GREETING)
        self._remember()
        while True:
            try:
                text = read(PROMPT).strip()
            except EOFError:
                self._output.lines([Line()])
                return
            except KeyboardInterrupt:
                self._output.lines([Line()])
                continue
            if text in {"/quit", "/exit"}:
                return
            if text:
                self.answer(text)
            if text and not text.startswith("/"):
                self.ask_about_held(read)

    def ask_about_held(self, read: Callable[[str], str] = input) -> None:
        """After a turn: what it held waits for a word. On a terminal alone."""
        if self.session is not None and self._output.interactive:
            self._cards.ask(self.session, read)

    def answer(self, text: str) -> None:
        """A command or a turn, with its errors told and its Ctrl-C taken."""
        try:
            if text.startswith("/"):
                self._command(text)
            else:
                self.take(Turn(text=text, session=self.session))
        except GnomonError as error:
            self._output.note(str(error), "bad")
        except KeyboardInterrupt:
            self._output.note("\nTaken back. The session goes on.")

    def take(self, turn: Turn) -> TurnReply:
        """One turn: the text as it comes, then its sources and price."""
        self._streamed = ""
        self._flow = self._output.flow()
        self._steps.clear()
        reply = self._connection.call(asks.CHAT_TURN, turn.arguments(), self._part)
        self.session = reply.session
        self._end_line()
        self._output.lines(reply_lines(reply, self._streamed))
        return reply

    def _part(self, part: Fields) -> None:
        text, event = part.get("text"), part.get("event")
        if isinstance(text, str) and self._output.interactive:
            self._streamed += text
            self._mid_line = True
            self._output.stream(text, self._flow)
        elif isinstance(event, dict) and self._output.interactive:
            told = step_line(event)
            if told and (told not in self._steps or event.get("step") == "tool"):
                self._steps.add(told)
                self._end_line()
                self._output.note(told)

    def _end_line(self) -> None:
        """What was streamed ends its line, before something else is said."""
        if self._streamed and self._mid_line:
            self._output.end_stream(self._flow)
        self._mid_line = False

    def _command(self, text: str) -> None:
        name, _, argument = text.partition(" ")
        command = self._commands.get(name)
        if command is None:
            self._output.note(f"There is no {one_line(name, 40)}. /help lists what there is.")
        else:
            command(argument.strip())

    def _new(self, _: str) -> None:
        self.session = None
        self._output.note("A new session begins with your next message.")

    def _sessions(self, wanted: str) -> None:
        if not wanted:
            self._output.lines(session_lines(self._connection.call(asks.CHAT_SESSIONS, {})))
            return
        messages = self._connection.call(asks.CHAT_MESSAGES, {"session": wanted})
        self.session = wanted
        for message in messages[-4:]:
            prompt = PROMPT if message.role == "user" else ""
            self._output.lines([Line(f"{prompt}{message.text}", "faint", "quoted")])
        self._remember()

    def _undo(self, _: str) -> None:
        if self.session is None:
            self._output.note("There is nothing to undo in a new session.")
            return
        done = self._connection.call(asks.CHAT_UNDO, {"session": self.session})
        self._output.note(done.detail)

    def _model(self, wanted: str) -> None:
        if wanted:
            self._output.note(self._connection.call(asks.MODEL_USE, {"name": wanted}).detail)
        else:
            self._output.lines(model_lines(self._connection.call(asks.MODEL_LIST, {})))

    def _cost(self, _: str) -> None:
        self._output.lines(cost_lines(self._connection.call(asks.STATUS, {})))

    def _help(self, _: str) -> None:
        self._output.lines(Line(f"{name:<16}{what}") for name, what in HELP)

    def _remember(self) -> None:
        """Give the line editor what was said in this session, for the arrow keys."""
        import readline

        if self.session is None:
            return
        for message in self._connection.call(asks.CHAT_MESSAGES, {"session": self.session}):
            if message.role == "user":
                readline.add_history(one_line(message.text, 1_000))


def step_line(event: Fields) -> str:
    """What a starting step shows, so that nobody waits without knowing for what: `· shell`.
    Empty for one that has ended, and for those that take no time.
    """
    if event.get("complete") is not False:
        return ""
    said = event.get("facts")
    facts = said if isinstance(said, dict) else {}
    match event.get("step"):
        case "tool":
            return f"· {one_line(str(facts.get('tool') or facts.get('name') or 'a tool'), 80)}"
        case "recall":
            return "· looking through your history"
        case "model" if facts.get("demo"):
            return "· the built-in demo model adds a sentence, which takes some seconds"
        case "model":
            return "· the model is at work"
        case _:
            return ""
