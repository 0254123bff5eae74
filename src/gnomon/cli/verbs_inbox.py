"""`inbox`: what Gnomon brought to you, and what you make of it."""

from typing import Annotated, Literal

import typer

from gnomon.cli import asks
from gnomon.cli.asks import Ask
from gnomon.cli.line import Line
from gnomon.cli.options import (
    AgentOption,
    HomeOption,
    Invocation,
    JsonOption,
    invocation,
    note_options,
)
from gnomon.cli.render_inbox import dismissed_lines, inbox_lines, item_lines, shown_lines
from gnomon.domain.views import InboxItem

ItemArgument = Annotated[str, typer.Argument(metavar="ID", help="The item, as `list` names it.")]
Kind = Literal["notification", "pending", "artifact"]


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(help="What Gnomon brought to you.", no_args_is_help=True)
    group.callback()(note_options_of_group)
    group.command("list")(list_)
    for verb in (show, use, dismiss, read, emit):
        group.command(verb.__name__)(verb)
    app.add_typer(group, name="inbox")


def note_options_of_group(
    ctx: typer.Context, home: HomeOption = None, agent: AgentOption = None
) -> None:
    """Note what stands before the verb."""
    note_options(ctx, home, agent)


def list_(
    ctx: typer.Context,
    limit: Annotated[int, typer.Option(min=1, max=500, help="How many, from the newest.")] = 50,
    home: HomeOption = None,
    agent: AgentOption = None,
    as_json: JsonOption = False,
) -> None:
    """List what it brought, the newest first, and what became of each.

    Example: `gnomon inbox list`
    """
    asked = invocation(ctx, home, agent, as_json)
    items = asked.ask(asks.INBOX_LIST, {"limit": limit})
    asked.show(items, inbox_lines(items))


def show(
    ctx: typer.Context,
    item: ItemArgument,
    home: HomeOption = None,
    agent: AgentOption = None,
    as_json: JsonOption = False,
) -> None:
    """Read one item in full. To look is not to use: it changes nothing.

    Example: `gnomon inbox show sf-0123456789`
    """
    asked = invocation(ctx, home, agent, as_json)
    shown = asked.ask(asks.INBOX_SHOW, {"surface_id": item})
    asked.show(shown, shown_lines(shown))


def use(
    ctx: typer.Context,
    item: ItemArgument,
    home: HomeOption = None,
    agent: AgentOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say that you did something with it. This is what the agent is measured by.

    It may follow a dismissal, and then counts in its place.

    Example: `gnomon inbox use sf-0123456789`
    """
    _answer(invocation(ctx, home, agent, as_json), asks.INBOX_USE, item)


def dismiss(
    ctx: typer.Context,
    item: ItemArgument,
    home: HomeOption = None,
    agent: AgentOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say that you saw it and want nothing of it.

    What you used stays used: a dismissal after it changes nothing.

    Example: `gnomon inbox dismiss sf-0123456789`
    """
    asked = invocation(ctx, home, agent, as_json)
    answered = asked.ask(asks.INBOX_DISMISS, {"surface_id": item})
    asked.show(answered, dismissed_lines(answered))


def read(
    ctx: typer.Context,
    item: ItemArgument,
    home: HomeOption = None,
    agent: AgentOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say that you read the document that it brought.

    Example: `gnomon inbox read sf-0123456789`
    """
    _answer(invocation(ctx, home, agent, as_json), asks.INBOX_READ, item)


def emit(
    ctx: typer.Context,
    title: Annotated[str, typer.Option(metavar="TEXT", help="Its one line.")],
    kind: Annotated[Kind, typer.Option(help="What it pretends to be.")] = "notification",
    body: Annotated[str, typer.Option(metavar="TEXT", help="What it says.")] = "",
    count: Annotated[
        bool, typer.Option("--count", help="Let it count as the model's, in every number.")
    ] = False,
    home: HomeOption = None,
    agent: AgentOption = None,
    as_json: JsonOption = False,
) -> None:
    """Bring a test item to yourself. It stays out of every number unless you say `--count`.

    Example: `gnomon inbox emit --title "A test" --body "Dismiss me."`
    """
    asked = invocation(ctx, home, agent, as_json)
    given = {"kind": kind, "title": title, "body": body, "count": count}
    emitted = asked.ask(asks.INBOX_EMIT, given)
    asked.show(emitted, [Line(f"It is in your inbox as {emitted.surface_id}.")])


def _answer(asked: Invocation, ask: Ask[InboxItem], item: str) -> None:
    answered = asked.ask(ask, {"surface_id": item})
    asked.show(answered, item_lines(answered))
