"""What could be wrong with this machine, this home, or a running Gnomon, and how to mend it.

Each check is one function of a few lines. None changes anything, and none needs the daemon.
"""

import os
import shutil
import stat
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

from gnomon.config import Config, load
from gnomon.daemon.store.create import read_fitness_config
from gnomon.domain.errors import GnomonError
from gnomon.domain.records import Sha256
from gnomon.domain.views import Check, Diagnosis, JailLevel
from gnomon.home import AgentPaths, Home
from gnomon.models.choice import Address, Choice, resolve

LOW_DISK_BYTES = 512 * 1024 * 1024
Level = Literal["ok", "warning", "error"]


def diagnose(  # noqa: PLR0913 - each is one thing that it looks at
    home: Home,
    agent: AgentPaths,
    environ: Mapping[str, str],
    *,
    jail_level: Callable[[], JailLevel],
    verify: Callable[[], tuple[bool, str]],
    weights: Callable[[], Path | None],
    self_tests: Callable[[], str],
    listens: Callable[[Address], bool],
    fitness_in_force: Sha256 | None = None,
) -> Diagnosis:
    """Run every check. `fitness_in_force` is of the fitness-config that a running Gnomon read at
    its start.
    """
    checks = [
        _python(),
        _home(home),
        _private(home),
        _config(home, environ),
        _fitness_config(agent, fitness_in_force),
        _disk(home),
        _ledgers(verify),
        _jail(jail_level),
        _check("jail-self-test", "ok", self_tests()),
        _git(),
        _model(home, environ, weights, listens),
    ]
    return Diagnosis(checks=tuple(checks))


def _check(name: str, level: Level, detail: str, fix: str = "") -> Check:
    return Check(name=name, ok=level != "error", level=level, detail=detail, fix=fix)


def _python() -> Check:
    version = ".".join(map(str, sys.version_info[:3]))
    return _check("python", "ok", f"Python {version} at {sys.executable}")


def _home(home: Home) -> Check:
    if not home.root.is_dir():
        return _check("home", "warning", f"{home.root} does not exist yet", "Run `gnomon init`.")
    if not os.access(home.root, os.W_OK | os.X_OK):
        fix = f"Make {home.root} writable for you, or name another home with --home."
        return _check("home", "error", f"{home.root} cannot be written", fix)
    return _check("home", "ok", str(home.root))


def _private(home: Home) -> Check:
    """The operator's token opens everything; nobody else may read it."""
    try:
        mode = stat.S_IMODE(home.operator_token.stat().st_mode)
    except FileNotFoundError:
        return _check("operator-token", "warning", "not made yet", "Run `gnomon init`.")
    if mode & 0o077:
        fix = f"chmod 600 {home.operator_token}"
        return _check("operator-token", "error", f"mode {mode:04o}: others can read it", fix)
    return _check("operator-token", "ok", "only you can read it")


def _config(home: Home, environ: Mapping[str, str]) -> Check:
    try:
        load(home.config, environ)
    except GnomonError as error:
        return _check("config", "error", error.message, error.next_step)
    return _check("config", "ok", str(home.config))


def _fitness_config(agent: AgentPaths, in_force: Sha256 | None) -> Check:
    """It is read at start: what is edited meanwhile waits, and what cannot be used keeps the
    next start from coming.
    """
    name, path = "fitness-config", agent.fitness_config
    if not path.exists():
        return _check(name, "ok", f"{path} is not there; the next start writes the locked values")
    try:
        found = read_fitness_config(agent)
    except GnomonError as error:
        return _check(name, "error", error.message, error.next_step)
    if in_force not in {None, found.sha256}:
        fix = "`gnomon down`, then `gnomon up`."
        return _check(name, "warning", f"{path} was edited: in force at the next start", fix)
    return _check(name, "ok", str(path))


def _disk(home: Home) -> Check:
    there = next(path for path in (home.root, *home.root.parents) if path.exists())
    free = shutil.disk_usage(there).free
    detail = f"{free // (1024 * 1024):,} MiB free"
    if free < LOW_DISK_BYTES:
        return _check("disk", "warning", detail, "Make room: ledgers stop when the disk is full.")
    return _check("disk", "ok", detail)


def _ledgers(verify: Callable[[], tuple[bool, str]]) -> Check:
    ok, detail = verify()
    fix = "" if ok else "`gnomon verify` names the line; restore that file from a backup."
    return _check("ledgers", "ok" if ok else "error", detail, fix)


def _jail(jail_level: Callable[[], JailLevel]) -> Check:
    match jail_level():
        case "full":
            return _check("jail", "ok", "full: namespaces, Landlock and seccomp")
        case "partial":
            return _check(
                "jail",
                "warning",
                "partial: Landlock and seccomp; names and sizes outside stay visible",
                "Install bubblewrap, or allow user namespaces.",
            )
        case "none":
            return _check(
                "jail",
                "error",
                "this system has no jail; nothing that needs one starts",
                "Use Linux 6.7 or newer (WSL2 on Windows), or set gateway.allow_unjailed.",
            )


def _git() -> Check:
    if shutil.which("git") is None:
        return _check("git", "warning", "not found; the agent cannot use it", "Install git.")
    return _check("git", "ok", "found")


def _model(
    home: Home,
    environ: Mapping[str, str],
    weights: Callable[[], Path | None],
    listens: Callable[[Address], bool],
) -> Check:
    try:
        chosen = resolve(_config_or_defaults(home, environ).model, environ)
    except GnomonError as error:
        return _check("model", "error", error.message, error.next_step)
    if chosen.address is not None:
        return _server(chosen, chosen.address, listens)
    if chosen.kind == "none":
        return _check("model", "ok", "none, as you chose: chat answers from your history")
    if (found := weights()) is not None:
        return _check("model", "ok", f"the embedded demo model, {found}")
    fix = "`gnomon model fetch` unpacks it; `gnomon model list` shows others."
    return _check("model", "error", "the embedded model's weights are not here", fix)


def _server(chosen: Choice, address: Address, listens: Callable[[Address], bool]) -> Check:
    """A server out there is not contacted for a check: a proxy may stand between."""
    said = f"{chosen.name} at {address.url}"
    if chosen.kind == "remote":
        return _check("model", "ok", f"{said}, not contacted by this check")
    if listens(address):
        return _check("model", "ok", said)
    fix = "Start that server, or choose another: `gnomon model list`."
    return _check("model", "warning", f"{said}, where nothing answers", fix)


def _config_or_defaults(home: Home, environ: Mapping[str, str]) -> Config:
    try:
        return load(home.config, environ)
    except GnomonError:
        return Config()  # Its own check says what is wrong with it.
