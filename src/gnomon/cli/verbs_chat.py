"""`chat`: talk to the agent, once or as long as you like."""

import sys
from typing import Annotated

import typer

from gnomon.cli import asks
from gnomon.cli.chat_session import ChatSession, Turn
from gnomon.cli.exit_codes import FAULT
from gnomon.cli.options import AgentOption, HomeOption, Invocation, JsonOption, invocation
from gnomon.domain.errors import UsageError

MODEL_FAILED = "model-error"
"""How a turn ends that the model gave nothing usable for."""


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("chat")(chat)


def chat(
    ctx: typer.Context,
    message: Annotated[
        list[str] | None,
        typer.Argument(help="What to say. Without it: a conversation, or standard input."),
    ] = None,
    session: Annotated[
        str | None, typer.Option(metavar="ID", help="Go on in this session.")
    ] = None,
    reply_to: Annotated[
        str | None, typer.Option(metavar="ID", help="Which of its notices you answer.")
    ] = None,
    home: HomeOption = None,
    agent: AgentOption = None,
    as_json: JsonOption = False,
) -> None:
    """Talk to the agent, or ask what your agents did before.

    In a conversation: /help, Ctrl-C takes back what you just asked, Ctrl-D leaves. A single
    message to which the model gave no answer ends with exit code 1.

    Examples: `gnomon chat "how did I fix the flaky test?"` · `gnomon chat` ·
    `git diff | gnomon chat --json`
    """
    asked = invocation(ctx, home, agent, as_json)
    said = " ".join(message or [])
    if not said and asked.output.interactive and not as_json:
        converse(asked, session)
        return
    text = readable(said) if said else sys.stdin.read()
    if not text.strip():
        raise UsageError("There is nothing to say.", next_step='gnomon chat "your question"')
    once(asked, Turn(text=text, session=session, reply_to=reply_to))


def readable(said: str) -> str:
    """Bytes of the command line that are not in the locale's encoding, as UTF-8 where they are
    that: `LC_ALL=C` alone must not break a question.
    """
    return said.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def once(asked: Invocation, turn: Turn) -> None:
    """One turn; streamed to a terminal, whole to anything else. A turn that the model failed
    is printed too, and is a fault.
    """
    connection = asked.open()
    try:
        if asked.as_json:
            reply = connection.call(asks.CHAT_TURN, turn.arguments())
            asked.output.json(reply)
        else:
            talk = ChatSession(connection, asked.output)
            reply = talk.take(turn)
            talk.ask_about_held()
    finally:
        connection.close()
    if reply.stop_reason == MODEL_FAILED:
        asked.output.note("The model did not answer; the reply says why.", "bad")
        raise typer.Exit(FAULT)


def converse(asked: Invocation, session: str | None) -> None:
    """Until the operator leaves."""
    connection = asked.open()
    try:
        ChatSession(connection, asked.output, session).run()
    finally:
        connection.close()
