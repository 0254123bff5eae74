"""`up`, `down`, `open`, `status`, `pause`, `resume`, `init`: Gnomon's own life."""

import os
import time
from typing import Annotated

import typer

from gnomon.cli import asks
from gnomon.cli.connection import answers
from gnomon.cli.durations import parse_duration, spoken
from gnomon.cli.line import Line
from gnomon.cli.options import AgentOption, HomeOption, Invocation, JsonOption, invocation
from gnomon.cli.render import status_lines
from gnomon.domain.errors import GnomonError, NeedsOperatorError, UsageError
from gnomon.domain.views import Done
from gnomon.home import Home
from gnomon.lock import Holder, holder

STOP_SECONDS = 30.0
LONGEST_PAUSE_SECONDS = 366 * 86_400
"""As the operation takes it."""


def register(app: typer.Typer) -> None:
    """Add these verbs."""
    for verb in (up, down, open_, status, pause, resume, init):
        app.command(verb.__name__.rstrip("_"))(verb)


def up(
    ctx: typer.Context,
    foreground: Annotated[bool, typer.Option("--foreground", help="Stay here.")] = False,
    port: Annotated[
        int | None,
        typer.Option(min=0, max=65_535, help="Port of the dashboard; 0 takes a free one."),
    ] = None,
    no_open: Annotated[bool, typer.Option("--no-open", help="Open no browser.")] = False,
    if_needed: Annotated[
        bool, typer.Option("--if-needed", help="When it already runs, a fresh link is enough.")
    ] = False,
    home: HomeOption = None,
    agent: AgentOption = None,
    as_json: JsonOption = False,
) -> None:
    """Start Gnomon and show the dashboard's address.

    It goes on in the background; `gnomon down` ends it. A second `up` says who runs; with
    `--if-needed` it gives a fresh login link.

    Examples: `gnomon up` · `gnomon up --foreground --port 0 --no-open --json`
    """
    from gnomon.cli.main import become_daemon

    asked = invocation(ctx, home, agent, as_json)
    flags = {
        "--foreground": foreground,
        "--no-open": no_open,
        "--if-needed": if_needed,
        "--json": as_json,
    }
    arguments = ["--home", str(asked.home.root), "--agent", asked.agent]
    arguments += ["--port", str(port)] if port is not None else []
    become_daemon([*arguments, *(name for name, wanted in flags.items() if wanted)])


def down(
    ctx: typer.Context,
    home: HomeOption = None,
    agent: AgentOption = None,
    as_json: JsonOption = False,
) -> None:
    """Stop Gnomon in order. What it wrote stays.

    Example: `gnomon down`
    """
    asked = invocation(ctx, home, agent, as_json)
    held = holder(asked.home.lock)
    if held is None or not answers(held.url):
        done = Done(detail="Gnomon is not running here.")
    else:
        asked.ask(asks.STOP)
        _wait_until_gone(asked.home, held)
        done = Done(detail="Gnomon has stopped.")
    asked.show(done, [Line(done.detail)])


def _wait_until_gone(home: Home, held: Holder) -> None:
    """Until the home is free: its holder lets go when all is written, or when it is dead."""
    deadline = time.monotonic() + STOP_SECONDS
    while time.monotonic() < deadline:
        if holder(home.lock) != held:
            return
        time.sleep(0.02)
    raise GnomonError(
        f"Gnomon (pid {held.pid}) was asked to stop and has not in {STOP_SECONDS:.0f} s.",
        next_step=f"See {home.log}; `kill {held.pid}` ends it.",
        pid=held.pid,
    )


def open_(
    ctx: typer.Context,
    home: HomeOption = None,
    agent: AgentOption = None,
    as_json: JsonOption = False,
) -> None:
    """Open the dashboard by a fresh login link, which works once.

    Example: `gnomon open`
    """
    asked = invocation(ctx, home, agent, as_json)
    connection = asked.open()
    try:
        if not connection.running:
            raise NeedsOperatorError("Gnomon is not running.", next_step="Start it: `gnomon up`.")
        link = connection.call(asks.LOGIN_LINK, {})
    finally:
        connection.close()
    asked.show(link, [Line(link.url)])
    if not as_json and (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        import webbrowser

        webbrowser.open(link.url)


def status(
    ctx: typer.Context,
    home: HomeOption = None,
    agent: AgentOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say whether it runs, what it does, what it may spend.

    Examples: `gnomon status` · `gnomon status --json`
    """
    asked = invocation(ctx, home, agent, as_json)
    found = asked.ask(asks.STATUS)
    asked.show(found, status_lines(found))


def pause(
    ctx: typer.Context,
    for_: Annotated[
        str | None,
        typer.Option("--for", metavar="TIME", help="How long: 30m, 8h, 3d, 2w; 366d at most."),
    ] = None,
    home: HomeOption = None,
    agent: AgentOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let it rest: no model calls, nothing brought up. It keeps its records.

    Examples: `gnomon pause --for 3d` · `gnomon pause`
    """
    asked = invocation(ctx, home, agent, as_json)
    seconds = parse_duration(for_) if for_ is not None else None
    if seconds is not None and seconds > LONGEST_PAUSE_SECONDS:
        raise UsageError(
            f"{for_} is too long: a pause lasts at most {spoken(LONGEST_PAUSE_SECONDS)}.",
            next_step="Without --for it lasts until `gnomon resume`.",
        )
    done = asked.ask(asks.PAUSE, {} if seconds is None else {"for_seconds": seconds})
    _say(
        asked,
        done,
        f"Paused for {spoken(seconds)}." if seconds else "Paused until `gnomon resume`.",
    )


def resume(
    ctx: typer.Context,
    home: HomeOption = None,
    agent: AgentOption = None,
    as_json: JsonOption = False,
) -> None:
    """Go on after a pause.

    Example: `gnomon resume`
    """
    asked = invocation(ctx, home, agent, as_json)
    _say(asked, asked.ask(asks.RESUME), "It goes on.")


def init(
    ctx: typer.Context,
    home: HomeOption = None,
    agent: AgentOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a home, with a config.toml that explains every setting. `up` does so by itself.

    Example: `gnomon init --home ~/gnomon`
    """
    from gnomon.daemon.store.create import ensure_home

    asked = invocation(ctx, home, agent, as_json)
    created = ensure_home(asked.home, asked.home.agent(asked.agent))
    facts = {
        "home": str(asked.home.root),
        "config": str(asked.home.config),
        "agent": asked.agent,
        "created": created,
    }
    told = f"Made the home {asked.home.root}." if created else f"{asked.home.root} is a home."
    asked.show(facts, [Line(told), Line(f"Settings: {asked.home.config}", "faint")])


def _say(asked: Invocation, done: Done, otherwise: str) -> None:
    asked.show(done, [Line(done.detail or otherwise)])
