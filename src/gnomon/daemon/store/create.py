"""Make a home, or check one that is there. A home newer than this program is refused."""

import os
import secrets
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import IO

import msgspec

from gnomon.config import default_text
from gnomon.disk import PRIVATE_FILE, make_folder
from gnomon.domain.errors import ConfigError, HomeError
from gnomon.domain.manifest import Manifest
from gnomon.gateway.authority import new_token
from gnomon.home import HOME_FORMAT, AgentPaths, Home
from gnomon.referee.config import Loaded, parse
from gnomon.referee.config import default_text as fitness_text
from gnomon.statefile import write_atomic

PRIVATE = 0o700


class HomeFormat(msgspec.Struct, frozen=True, kw_only=True):
    """`home.json`. `simulated` homes accept `--now`."""

    format: int
    simulated: bool = False


def ensure_home(home: Home, agent: AgentPaths, *, simulated: bool = False) -> bool:
    """Create what is missing, leave what is there; true when the home is new.

    Also in a folder that holds other files: nothing of theirs is touched. Raises HomeError
    when the home's format is newer, or a path cannot be made.
    """
    found = _read_format(home)
    if found is not None and found.format > HOME_FORMAT:
        raise HomeError(
            f"{home.root} was written by a newer Gnomon (format {found.format}, this one "
            f"knows {HOME_FORMAT}).",
            next_step="Update Gnomon, or name another home with --home.",
            file=str(home.format_file),
        )
    try:
        for folder in _folders(home, agent):
            folder.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
        if found is None:
            mark = HomeFormat(format=HOME_FORMAT, simulated=simulated)
            _write_if_missing(home.format_file, msgspec.json.encode(mark) + b"\n")
        _write_if_missing(home.config, default_text().encode())
        _write_if_missing(home.operator_token, (new_token() + "\n").encode())
    except OSError as error:
        raise _cannot_be_made(home, error) from error
    check_writable(_folders(home, agent))
    return found is None


def check_writable(folders: Sequence[Path], may: Callable[[Path, int], bool] = os.access) -> None:
    """Raises HomeError for the first folder that this user cannot work in."""
    for folder in folders:
        if not may(folder, os.R_OK | os.W_OK | os.X_OK):
            raise HomeError(
                f"The folder {folder} cannot be written by the user who runs Gnomon.",
                next_step=f"Give it back (chown, chmod u+rwx {folder}), or name another home with "
                "--home or GNOMON_HOME.",
                file=str(folder),
            )


def ensure_root(home: Home) -> None:
    """Make the home's folder, where its lock is. All else waits until the lock is held, so
    that a second Gnomon changes nothing. Raises HomeError.
    """
    try:
        make_folder(home.root)
    except OSError as error:
        raise _cannot_be_made(home, error) from error
    check_folder(home)


def check_folder(home: Home) -> None:
    """Raises HomeError where something else stands at the home's place."""
    try:
        other = home.root.exists() and not home.root.is_dir()
    except OSError as error:
        raise _cannot_be_made(home, error) from error
    if other:
        raise HomeError(
            f"{home.root} is not a folder.",
            next_step="Name one with --home or GNOMON_HOME.",
            file=str(home.root),
        )


def open_log(home: Home) -> IO[bytes]:
    """What the gateway says on its error stream. Raises HomeError."""
    check_writable([home.root])
    try:
        return home.log.open("ab")
    except OSError as error:
        raise HomeError(
            f"The log {home.log} cannot be written: {error.strerror}.",
            next_step="Give it back (chown, chmod u+rw), or name another home with --home or "
            "GNOMON_HOME.",
            file=str(home.log),
        ) from error


def _write_if_missing(path: Path, data: bytes) -> None:
    """Of several that write at one moment exactly one succeeds, and all go by its content:
    `init` does not hold the lock, and a token that is replaced would lock its operator out.
    """
    if path.exists():
        return
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}.new")
    write_atomic(draft, data, mode=PRIVATE_FILE)
    try:
        path.hardlink_to(draft)
    except FileExistsError:
        pass  # somebody else was first
    finally:
        draft.unlink()


def _cannot_be_made(home: Home, error: OSError) -> HomeError:
    return HomeError(
        f"The home {home.root} cannot be made: {error.strerror}.",
        next_step="Name a folder that you can write with --home or GNOMON_HOME.",
        file=str(error.filename),
    )


def ensure_manifest(agent: AgentPaths) -> Manifest:
    """The agent's manifest, written from the packaged one when it is missing.

    Raises ConfigError, naming file and reason, when it cannot be understood.
    """
    if not agent.manifest.exists():
        packaged = files("gnomon.data").joinpath("manifests", "resident.yaml").read_bytes()
        write_atomic(agent.manifest, packaged)
    try:
        return msgspec.yaml.decode(agent.manifest.read_bytes(), type=Manifest)
    except (msgspec.DecodeError, OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"{agent.manifest} cannot be used: {error}.",
            next_step="Mend it, or move it away to get the packaged one again.",
            file=str(agent.manifest),
            line=0,
        ) from error


def ensure_fitness_config(agent: AgentPaths) -> Loaded:
    """How it is judged, written with the locked values when it is missing. Only the operator
    changes it. Raises ConfigError, naming file and key.
    """
    if not agent.fitness_config.exists():
        write_atomic(agent.fitness_config, fitness_text().encode())
    return read_fitness_config(agent)


def read_fitness_config(agent: AgentPaths) -> Loaded:
    """The file as it stands now. Raises ConfigError, naming file and key."""
    path = agent.fitness_config
    try:
        return parse(path.read_text(encoding="utf-8"))
    except ConfigError as error:
        raise ConfigError(
            f"{path} cannot be used: {error.facts['reason']}.",
            next_step=error.next_step,
            **{**error.facts, "file": str(path)},
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"{path} cannot be read: {error}.",
            next_step="Mend it, or move it away to get the locked values again.",
            file=str(path),
            line=0,
        ) from error


def executive_manifest() -> Manifest:
    """The packaged manifest of background work: what it may use is not the home's to widen."""
    packaged = files("gnomon.data").joinpath("manifests", "executive.yaml").read_bytes()
    return msgspec.yaml.decode(packaged, type=Manifest)


def refiner_manifest() -> Manifest:
    """The packaged manifest of the refiner: its four tools are not the home's to widen."""
    packaged = files("gnomon.data").joinpath("manifests", "refiner.yaml").read_bytes()
    return msgspec.yaml.decode(packaged, type=Manifest)


def is_simulated(home: Home) -> bool:
    found = _read_format(home)
    return found is not None and found.simulated


def _folders(home: Home, agent: AgentPaths) -> list[Path]:
    return [
        home.root,
        home.models,
        agent.root,
        agent.workspace,
        agent.sessions,
        agent.runs,
        agent.memory,
        agent.skills,
        agent.state,
        agent.surfaces,
        agent.kernel,
        agent.artifacts,
        agent.scaffold,
        agent.scaffold_versions,
    ]


def _read_format(home: Home) -> HomeFormat | None:
    try:
        raw = home.format_file.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise HomeError(
            f"{home.format_file} cannot be read: {os.strerror(error.errno or 0)}.",
            next_step="Check who owns the home.",
        ) from error
    try:
        return msgspec.json.decode(raw, type=HomeFormat)
    except msgspec.DecodeError as error:
        raise HomeError(
            f"{home.format_file} is not a home's format file: {error}.",
            next_step="Restore it from a backup, or name another home with --home.",
        ) from error
