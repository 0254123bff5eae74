"""`model`: which model answers."""

from typing import Annotated

import typer

from gnomon.cli import asks
from gnomon.cli.line import Line
from gnomon.cli.options import AgentOption, HomeOption, JsonOption, invocation
from gnomon.cli.progress import Progress
from gnomon.cli.render import model_lines
from gnomon.cli.verbs_folders import note_options_of_group


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(help="The model that answers: see, choose, fetch.", no_args_is_help=True)
    group.callback()(note_options_of_group)
    group.command("list")(list_)
    group.command("use")(use)
    group.command("fetch")(fetch)
    app.add_typer(group, name="model")


def list_(
    ctx: typer.Context,
    home: HomeOption = None,
    agent: AgentOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the models at hand: built in, on a local server, by a key that is set.

    Example: `gnomon model list`
    """
    asked = invocation(ctx, home, agent, as_json)
    found = asked.ask(asks.MODEL_LIST)
    asked.show(found, model_lines(found))


def use(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="embedded, none, or a name the server knows.")],
    url: Annotated[
        str, typer.Option(help="The server's address, ending in /v1 (OpenAI-compatible).")
    ] = "",
    key_env: Annotated[str, typer.Option(metavar="NAME", help="Variable that holds the key.")] = "",
    key_file: Annotated[
        str, typer.Option(metavar="FILE", help="File of mode 0600 that holds the key.")
    ] = "",
    home: HomeOption = None,
    agent: AgentOption = None,
    as_json: JsonOption = False,
) -> None:
    """Choose the model, and remember it in config.toml. A key itself is never stored there.

    Examples: `gnomon model use qwen3:8b --url http://localhost:11434/v1` ·
    `gnomon model use embedded`
    """
    asked = invocation(ctx, home, agent, as_json)
    arguments = {"name": name, "url": url, "key_env": key_env, "key_file": key_file}
    done = asked.ask(asks.MODEL_USE, arguments)
    asked.show(done, [Line(done.detail)])


def fetch(
    ctx: typer.Context,
    home: HomeOption = None,
    agent: AgentOption = None,
    as_json: JsonOption = False,
) -> None:
    """Fetch the embedded model's weights into the home, checked by their SHA-256.

    Example: `gnomon model fetch`
    """
    asked = invocation(ctx, home, agent, as_json)
    with Progress(asked.output, "Fetching") as progress:
        done = asked.ask(asks.MODEL_FETCH, {}, progress.part)
    asked.show(done, [Line(done.detail)])
