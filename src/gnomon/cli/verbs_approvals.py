"""`approvals`: what waits for your word, and what became of it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from gnomon.cli import asks
from gnomon.cli.asks import Ask
from gnomon.cli.editing import edited, given_text
from gnomon.cli.options import (
    AgentOption,
    HomeOption,
    Invocation,
    JsonOption,
    invocation,
    note_options,
)
from gnomon.cli.render_approvals import (
    approvals_lines,
    done_lines,
    shown_lines,
    status_words,
)
from gnomon.domain.errors import ConflictError, UsageError
from gnomon.domain.views_change import ApprovalShown

HeldArgument = Annotated[str, typer.Argument(metavar="ID", help="As `approvals list` names it.")]


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(
        help="What waits for your word: look, approve, edit, reject, undo.", no_args_is_help=True
    )
    group.callback()(note_options_of_group)
    group.command("list")(list_)
    for verb in (show, approve, edit, reject, redo, undo, forget):
        group.command(verb.__name__)(verb)
    app.add_typer(group, name="approvals")


def note_options_of_group(
    ctx: typer.Context, home: HomeOption = None, agent: AgentOption = None
) -> None:
    """Note what stands before the verb."""
    note_options(ctx, home, agent)


def list_(
    ctx: typer.Context,
    pending: Annotated[
        bool, typer.Option("--pending", help="Only those that wait for you.")
    ] = False,
    limit: Annotated[int, typer.Option(min=1, max=500, help="How many.")] = 50,
    home: HomeOption = None,
    agent: AgentOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the held actions: those that wait for you first, then the newest.

    Example: `gnomon approvals list --pending`
    """
    asked = invocation(ctx, home, agent, as_json)
    found = asked.ask(asks.APPROVALS_LIST, {"pending": pending, "limit": limit})
    asked.show(found, approvals_lines(found))


def show(
    ctx: typer.Context,
    held: HeldArgument,
    home: HomeOption = None,
    agent: AgentOption = None,
    as_json: JsonOption = False,
) -> None:
    """Look at one: why, on what it rests, what exactly would be done, and what can be done now.

    Example: `gnomon approvals show ap-01`
    """
    asked = invocation(ctx, home, agent, as_json)
    found = asked.ask(asks.APPROVALS_SHOW, {"id": held})
    asked.show(found, shown_lines(found))


def approve(
    ctx: typer.Context,
    held: HeldArgument,
    always: Annotated[
        bool, typer.Option("--always", help="Also every later one of this action and target.")
    ] = False,
    home: HomeOption = None,
    agent: AgentOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let it be done, exactly as it was held. Where something changed since, nothing is done.

    Example: `gnomon approvals approve ap-01`
    """
    asked = invocation(ctx, home, agent, as_json)
    done = asked.ask(asks.APPROVALS_APPROVE, {"id": held, "always": always})
    asked.show(done, done_lines(done))


def edit(
    ctx: typer.Context,
    held: HeldArgument,
    file: Annotated[
        Path | None,
        typer.Option("--file", metavar="PATH", help="What holds your text; `-`: what is piped in."),
    ] = None,
    home: HomeOption = None,
    agent: AgentOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let your text be written in the place of the agent's. Where something changed, nothing is.

    On a terminal your editor ($VISUAL, $EDITOR) opens with the text. What you save is approved;
    a text that you leave as it was is not.

    Examples: `gnomon approvals edit ap-01` · `gnomon approvals edit ap-01 --file mine.md`
    """
    asked = invocation(ctx, home, agent, as_json)
    if file is not None:
        done = _edited(asked, held, given_text(file))
    elif asked.output.interactive and not as_json:
        done = _in_editor(asked, held, ctx.obj.environ)
    else:
        raise UsageError(
            "There is no terminal to edit on.", next_step="Give the text with `--file PATH`."
        )
    asked.show(done, done_lines(done))


def _in_editor(asked: Invocation, held: str, environ: Mapping[str, str]) -> ApprovalShown:
    """What cannot be done any more is not edited either: that is said before."""
    found = asked.ask(asks.APPROVALS_SHOW, {"id": held})
    if not found.can_edit:
        name = found.approval.id
        raise ConflictError(
            f"{name} cannot be edited: {found.changed or status_words(found.approval) + '.'}",
            next_step=f"`gnomon approvals show {name}` says what can be done.",
            approval_id=name,
            status=found.approval.status,
        )
    with edited(found.text, found.approval.target, environ, asked.output) as text:
        return _edited(asked, held, text)


def _edited(asked: Invocation, held: str, text: str) -> ApprovalShown:
    return asked.ask(asks.APPROVALS_EDIT, {"id": held, "text": text})


def reject(
    ctx: typer.Context,
    held: HeldArgument,
    home: HomeOption = None,
    agent: AgentOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say no. It is never done.

    Example: `gnomon approvals reject ap-01`
    """
    _act(invocation(ctx, home, agent, as_json), asks.APPROVALS_REJECT, held)


def redo(
    ctx: typer.Context,
    held: HeldArgument,
    home: HomeOption = None,
    agent: AgentOption = None,
    as_json: JsonOption = False,
) -> None:
    """Hold it anew on its target as it is now. It waits again, with another diff to look at.

    Example: `gnomon approvals redo ap-01`
    """
    asked = invocation(ctx, home, agent, as_json)
    fresh = asked.ask(asks.APPROVALS_REDO, {"id": held})
    asked.show(fresh, shown_lines(fresh))


def undo(
    ctx: typer.Context,
    held: HeldArgument,
    home: HomeOption = None,
    agent: AgentOption = None,
    as_json: JsonOption = False,
) -> None:
    """Put back, to the byte, what its file held before. An `always` for it ends, too.

    Nothing is overwritten that was changed since.

    Example: `gnomon approvals undo ap-01`
    """
    _act(invocation(ctx, home, agent, as_json), asks.APPROVALS_UNDO, held)


def forget(
    ctx: typer.Context,
    held: HeldArgument,
    home: HomeOption = None,
    agent: AgentOption = None,
    as_json: JsonOption = False,
) -> None:
    """End the `always` that you said on it: later ones are asked about again.

    Example: `gnomon approvals forget ap-01`
    """
    _act(invocation(ctx, home, agent, as_json), asks.APPROVALS_FORGET, held)


def _act(asked: Invocation, ask: Ask[ApprovalShown], held: str) -> None:
    done = asked.ask(ask, {"id": held})
    asked.show(done, done_lines(done))
