"""`python -m gnomon.daemon.main`: the gateway's process, detached or in the foreground.

It holds no CLI framework: what idles here all day should be small.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn, TextIO

from gnomon.daemon.running_one import fresh_link, who_runs
from gnomon.domain.commands import completed
from gnomon.domain.errors import GnomonError, UsageError
from gnomon.domain.instants import in_words
from gnomon.home import Home, carried, default_home, home_option
from gnomon.lock import Holder

EXIT_FAULT = 1
EXIT_USAGE = 2
HIGHEST_PORT = 65_535
LISTS = "`gnomon up --help` lists what there is."


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit codes: 0 ended in order, 1 could not start, 2 usage."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    as_json = "--json" in given
    try:
        options = parser().read(given)
        home = Home((options.home or default_home(os.environ)).expanduser().absolute())
        home.agent_named(options.agent)
        options.home = home.root
        running = who_runs(home, options.agent) if options.if_needed else None
        if running is not None:
            return _show(running, fresh_link(home, running), options)
    except GnomonError as error:
        return _say_error(error, carried(given, os.environ), as_json=as_json)
    if options.foreground:
        return _foreground(options)
    return _detach(options)


class Options(argparse.ArgumentParser):
    """A wrong option is one sentence and a next step, as in every other verb."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(_first_upper(message), next_step=LISTS)

    def read(self, given: Sequence[str]) -> argparse.Namespace:
        """Raises UsageError."""
        options, unknown = self.parse_known_args(given)
        if unknown:
            raise UsageError(f"`up` takes no {unknown[0]!r}.", next_step=self._near(unknown[0]))
        return options

    def _near(self, given: str) -> str:
        import difflib

        known = [name for name in self._option_string_actions if name.startswith("--")]
        meant = given.partition("=")[0]
        begins = [name for name in known if meant.strip("-") and name.startswith(meant)]
        near = begins or difflib.get_close_matches(meant, known, n=1)
        return f"Did you mean {near[0]}? {LISTS}" if near else LISTS


def _first_upper(message: str) -> str:
    return f"{message[:1].upper()}{message[1:]}".rstrip(".") + "."


def port(said: str) -> int:
    """A port's number. Raises argparse's own error, which says what it takes."""
    if not (said.isascii() and said.isdecimal() and int(said) <= HIGHEST_PORT):
        raise argparse.ArgumentTypeError(f"{said!r} is no port: 0 to {HIGHEST_PORT}")
    return int(said)


def parser(environ: Mapping[str, str] = os.environ) -> Options:
    """The options of `up`, with what the environment names as defaults."""
    named = environ.get("GNOMON_AGENT") or "main"
    parser = Options(prog="gnomon up", description="Start Gnomon.", allow_abbrev=False)
    parser.add_argument("--home", type=Path, help="the home (default: $GNOMON_HOME)")
    parser.add_argument("--agent", default=named, help="which agent of the home")
    parser.add_argument("--port", type=port, help="the dashboard's port; 0 takes a free one")
    parser.add_argument("--foreground", action="store_true", help="stay in this terminal")
    parser.add_argument("--no-open", action="store_true", help="do not open a browser")
    parser.add_argument(
        "--if-needed", action="store_true", help="when it already runs, a fresh link is enough"
    )
    parser.add_argument("--json", action="store_true", help="one JSON line when ready")
    return parser


def _foreground(options: argparse.Namespace) -> int:
    from gnomon.daemon.serve import serve  # a detaching parent needs none of it
    from gnomon.daemon.store.disk_words import OF_THE_DISK, disk_error
    from gnomon.daemon.this_machine import this_machine

    def ready(facts: dict[str, object]) -> None:
        say_ready(facts, as_json=options.json, named=named(options.home))

    home = Home(options.home)
    began = _process_start()
    try:
        asyncio.run(serve(home, options.agent, options.port, this_machine(), ready, began))
    except GnomonError as error:
        return _say_error(error, named(options.home), as_json=options.json)
    except OSError as error:
        if error.errno not in OF_THE_DISK:
            raise
        return _say_error(disk_error(error), named(options.home), as_json=options.json)
    except KeyboardInterrupt:
        return 0
    return 0


def _detach(options: argparse.Namespace) -> int:
    """Start the gateway in a session of its own, and wait until it is ready or has failed."""
    from gnomon.daemon.store.create import ensure_root, open_log

    home = Home(options.home)
    try:
        ensure_root(home)
        log = open_log(home)
    except GnomonError as error:
        return _say_error(error, named(options.home), as_json=options.json)
    command = [sys.executable, "-m", "gnomon.daemon.main", "--foreground", "--json"]
    command += ["--home", str(options.home), "--agent", options.agent]
    command += ["--port", str(options.port)] if options.port is not None else []
    with log:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,
        )
    assert child.stdout is not None
    with child.stdout:
        line = child.stdout.readline()
    try:
        facts = json.loads(line)
    except ValueError:
        code = child.wait()
        message = f"Gnomon ended with status {code} before it was ready. See {home.log}."
        _write(sys.stderr, message)
        return EXIT_FAULT
    if not facts.get("ready"):
        error = facts.get("error", {})
        if options.json:
            _write(sys.stdout, json.dumps(facts))
        else:
            _write(sys.stderr, completed(str(error.get("message", "")), named(options.home)))
        return child.wait()
    say_ready(facts, as_json=options.json, named=named(options.home))
    if not options.no_open:
        _open_browser(str(facts["login"]))
    return 0


def _show(running: Holder, login: str, options: argparse.Namespace) -> int:
    """It runs already: who, and how to get in."""
    facts = {"ready": True, "url": running.url, "pid": running.pid, "login": login}
    if options.json:
        _write(sys.stdout, json.dumps({**facts, "already_running": True}))
        return 0
    said = way_in(login, named(options.home))
    _write(sys.stdout, f"Gnomon runs already (pid {running.pid}).\n{said}")
    if not options.no_open:
        _open_browser(login)
    return 0


def named(home: Path) -> str:
    """The option that other verbs need to mean this home; empty where they mean it anyway."""
    return home_option(home, os.environ)


def say_ready(facts: dict[str, object], *, as_json: bool, named: str = "") -> None:
    """That it runs, where, and that it rests if it was paused before. `named`: see there."""
    if as_json:
        _write(sys.stdout, json.dumps(facts))
        return
    until = facts.get("paused_until")
    ends = in_words(str(until))
    paused = f"It is paused until {ends}: `gnomon resume{named}` lets it go on.\n" if until else ""
    _write(
        sys.stdout,
        f"Gnomon is running (pid {facts['pid']}, ready in {facts['seconds']} s).\n"
        f"{paused}{way_in(str(facts['login']), named)}",
    )


def way_in(login: str, named: str = "") -> str:
    """The address, how to come back and to end it, and how `gnomon` is typed where it is not
    found by its name alone.
    """
    said = (
        f"Dashboard: {login}\n"
        f"The link works once, for ten minutes; `gnomon open{named}` makes a fresh one.\n"
        f"`gnomon down{named}` ends it."
    )
    import shutil  # not for a daemon that tells nobody

    own = Path(sys.prefix, "bin", "gnomon")
    found = shutil.which("gnomon")
    if not own.exists() or (found is not None and Path(found).samefile(own)):
        return said
    beside = own.parents[2] == Path.cwd()  # where `make up` was typed
    here = own.relative_to(Path.cwd()) if beside else own
    return f"{said}\nWhere Gnomon says `gnomon`, type {here}, or put it on your PATH."


def _say_error(error: GnomonError, named: str, *, as_json: bool) -> int:
    if as_json:
        facts = {"code": error.code, "message": str(error), "facts": dict(error.facts)}
        _write(sys.stdout, json.dumps({"ready": False, "error": facts}))
    else:
        _write(sys.stderr, completed(str(error), named))
    return EXIT_USAGE if error.code in {"usage", "config"} else EXIT_FAULT


def _write(stream: TextIO, text: str) -> None:
    stream.write(text + "\n")
    stream.flush()


def _open_browser(link: str) -> None:
    """Where there is a screen; a machine without one just shows the link."""
    if os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        import webbrowser

        webbrowser.open(link)


def _process_start() -> float:
    """When this process began, on the monotonic clock: what `seconds` counts from."""
    try:
        stat = Path("/proc/self/stat").read_text(encoding="utf-8")
        ticks = int(stat.rpartition(")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return time.monotonic()  # no such file on this system: count from here
    age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    return time.monotonic() - age


if __name__ == "__main__":
    sys.exit(main())
