"""Attacks on a home, as a hostile child in a jail tries them: on what the referee rests on.

Each returns when it got through and raises OSError when it was held. Grouped by what they are
after: `versions` (what a rollback restores from), `ledger` (the engagement-ledger, which only the
referee may know), `config` (the rules of the measure), `artifact` (to seem to be read), `ack`
(the operator's word, over loopback).
"""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import msgspec

from gnomon.testing.hostile_files import find_descriptor, held, watch, watch_by_fcntl
from gnomon.testing.hostile_kernel import take_descriptor
from gnomon.testing.hostile_loopback import Door, acks

SPARE = 8
"""How many prior versions the driver puts there: each attack that ends one takes another."""
EVIL_RULES = '{"dev_mode": true, "delta": 0.0, "k_windows": 1}'
"""A fitness-config under which nearly every edit is kept."""
Attack = Callable[[], object]


class HomeTargets(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where the driver put what must be out of reach. `versions` are `SPARE` files in one
    folder. `descriptor` is the gateway's own of the engagement-ledger; `workspace` is granted or
    null; `config` is not there.
    """

    versions: tuple[str, ...]
    seen: str
    ledger: str
    ledger_inode: int
    folder_inode: int
    descriptor: int
    config: str
    artifact: str
    gateway: int
    door: Door
    workspace: str | None = None


def attacks(on: HomeTargets) -> dict[str, Attack]:
    """All of them by `group/name`, in an order in which none keeps a later one from trying."""
    groups = {
        "ledger": {**_ledger(on), **_size_and_watch(on)},
        "config": _config(on),
        "artifact": _artifact(on),
        "ack": acks(on.door),
        "versions": _versions(on),
    }
    if on.workspace is not None:
        groups["ledger"] |= _ledger_from_workspace(on, Path(on.workspace))
        groups["versions"] |= _versions_from_workspace(on, Path(on.workspace))
    groups["versions"] |= _all_versions(on)
    return {f"{group}/{name}": run for group, of in groups.items() for name, run in of.items()}


def _versions(on: HomeTargets) -> dict[str, Attack]:
    one, two, three, four, five, six, *_ = map(Path, on.versions)
    folder = one.parent
    return {
        "overwrite": lambda: one.write_bytes(b"x"),
        "append": lambda: one.open("ab").close(),
        "truncate": lambda: os.truncate(one, 0),
        "open-to-all-and-overwrite": lambda: _forced(one),
        "delete": two.unlink,
        "rename": lambda: three.rename(folder / "elsewhere"),
        "replace": lambda: four.replace(five),
        "link-and-overwrite": lambda: _linked(six, folder / "twin.md"),
        "forge-another": lambda: (folder / _forged(one.name)).write_text("x"),
        "forget-what-is-in-force": lambda: os.unlink(on.seen),  # noqa: PTH108 - as a program would
        "delete-by-the-gateways-root": lambda: os.unlink(  # noqa: PTH108 - as a program would
            f"/proc/{on.gateway}/root{five}"
        ),
        "delete-by-a-program": lambda: _shell(f"test -e '{one}' && rm -f '{one}'"),
    }


def _all_versions(on: HomeTargets) -> dict[str, Attack]:
    folder = Path(on.versions[0]).parent
    return {
        "swap-the-folder": lambda: _swapped(folder),
        "delete-all": lambda: shutil.rmtree(folder),
    }


def _versions_from_workspace(on: HomeTargets, place: Path) -> dict[str, Attack]:
    seven, eight = map(Path, on.versions[6:8])
    return {
        "by-a-link": lambda: _by_link(place / "version-link", seven),
        "by-a-folder-link": lambda: _in_linked(place / "versions-link", eight),
        "by-dot-dot": lambda: _forced(Path(f"{place}/..{'/..' * 30}{eight}")),
        "move-over": lambda: _moved_over(place / "mine", seven),
    }


def _ledger(on: HomeTargets) -> dict[str, Attack]:
    """By path, by descriptor, by /proc."""
    gateway, folder = on.gateway, Path(on.ledger).parent
    own = f"/proc/{gateway}"
    return {
        "path": Path(on.ledger).read_bytes,
        "folder": lambda: os.listdir(folder),  # noqa: PTH208 - as a program would
        "gateways-root": Path(f"{own}/root{on.ledger}").read_bytes,
        "gateways-descriptor": Path(f"{own}/fd/{on.descriptor}").read_bytes,
        "descriptors-name": lambda: os.readlink(f"{own}/fd/{on.descriptor}"),  # noqa: PTH115
        "descriptors-position": Path(f"{own}/fdinfo/{on.descriptor}").read_bytes,
        "gateways-counts": Path(f"{own}/io").read_bytes,
        "taken-descriptor": lambda: take_descriptor(gateway, on.descriptor),
        "inherited-descriptor": lambda: find_descriptor(on.ledger_inode),
        "program": lambda: _shell(f"cat '{on.ledger}'"),
    }


def _size_and_watch(on: HomeTargets) -> dict[str, Attack]:
    folder = str(Path(on.ledger).parent)
    return {
        "size": lambda: os.stat(on.ledger).st_size,  # noqa: PTH116 - as a program would
        "size-by-a-place": lambda: _size_by_place(on.ledger),
        "size-by-a-program": lambda: _shell(f"stat -c %s '{on.ledger}'"),
        "folders-time": lambda: _folders_time(folder, on.folder_inode),
        "watch": lambda: watch(on.ledger),
        "watch-the-folder": lambda: watch(folder),
        "watch-by-fcntl": lambda: watch_by_fcntl(folder),
    }


def _ledger_from_workspace(on: HomeTargets, place: Path) -> dict[str, Attack]:
    return {
        "by-a-link": lambda: _read_by_link(place / "ledger-link", on.ledger),
        "by-a-hard-link": lambda: os.link(on.ledger, place / "ledger-copy"),
        "by-dot-dot": Path(f"{place}/..{'/..' * 30}{on.ledger}").read_bytes,
        "room-on-its-disk": lambda: os.statvfs(place),
    }


def _config(on: HomeTargets) -> dict[str, Attack]:
    """To make the missing rules. The last one leaves them there, where it can."""
    config = Path(on.config)
    scaffold = config.parent / "scaffold"
    return {
        "folder-in-its-place": lambda: (config.mkdir(), config.rmdir()),
        "link-in-its-place": lambda: _linked_in(config, scaffold / "README.md", hard=False),
        "hard-link-in-its-place": lambda: _linked_in(config, scaffold / "README.md", hard=True),
        "moved-in": lambda: _moved_in(config),
        "made-by-a-program": lambda: _shell(f"echo '{EVIL_RULES}' > '{config}'"),
        "by-the-gateways-root": lambda: Path(f"/proc/{on.gateway}/root{config}").write_text(
            EVIL_RULES
        ),
        "made": lambda: config.write_text(EVIL_RULES),
    }


def _artifact(on: HomeTargets) -> dict[str, Attack]:
    artifact = Path(on.artifact)
    return {
        "open": artifact.read_bytes,
        "list": lambda: os.listdir(artifact.parent),  # noqa: PTH208 - as a program would
        "touch": lambda: os.utime(artifact),
        "set-its-times": lambda: os.utime(artifact, (2_000_000_000, 2_000_000_000)),
        "open-to-write": lambda: artifact.open("ab").close(),
        "program": lambda: _shell(f"cat '{artifact}' > /dev/null && touch '{artifact}'"),
    }


# --- ways -------------------------------------------------------------------------------------


def _forged(name: str) -> str:
    """A version's name that nobody gave yet."""
    return name.replace("-0001-", "-0099-")


def _forced(path: Path) -> None:
    """Its owner may lift its mode: 0400 alone keeps nobody out who is the same user."""
    path.chmod(0o600)
    path.write_bytes(b"x")


def _linked(path: Path, twin: Path) -> None:
    os.link(path, twin)
    _forced(twin)


def _by_link(link: Path, to: Path) -> None:
    link.symlink_to(to)
    _forced(link)


def _in_linked(link: Path, to: Path) -> None:
    link.symlink_to(to.parent)
    _forced(link / to.name)


def _moved_over(mine: Path, path: Path) -> None:
    mine.write_bytes(b"x")
    mine.replace(path)


def _swapped(folder: Path) -> None:
    aside = folder.with_name("versions-aside")
    folder.rename(aside)
    folder.mkdir()
    folder.rmdir()
    aside.rename(folder)


def _read_by_link(link: Path, to: str) -> None:
    link.symlink_to(to)
    link.read_bytes()


def _linked_in(config: Path, to: Path, *, hard: bool) -> None:
    if hard:
        os.link(to, config)
    else:
        config.symlink_to(to)
    config.unlink()


def _moved_in(config: Path) -> None:
    draft = config.with_name("draft")
    draft.write_text(EVIL_RULES)
    draft.rename(config)


def _folders_time(folder: str, inode: int) -> None:
    """In a jail a granted file stands in a folder that is the jail's own."""
    if os.stat(folder).st_ino != inode:  # noqa: PTH116 - as a program would
        raise held("another folder of that name")


def _size_by_place(path: str) -> None:
    """O_PATH opens a place and not a file; Landlock does not hold it."""
    descriptor = os.open(path, os.O_PATH)
    try:
        os.fstat(descriptor)
    finally:
        os.close(descriptor)


def _shell(command: str) -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        check=False,
        capture_output=True,
        timeout=30,
        stdin=subprocess.DEVNULL,
    )
    if done.returncode:
        raise held(f"exit code {done.returncode}")
