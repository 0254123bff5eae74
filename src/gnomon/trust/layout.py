"""From granted paths to what a jail shows: links resolved, parents before children."""

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from gnomon.domain.errors import JailError
from gnomon.trust import landlock
from gnomon.trust.plan import Showing

MAX_LINKS = 40
"""As many as the kernel follows in one path."""
_ORDER: dict[Showing, int] = {"read": 0, "run": 1, "device": 2, "write": 3}


@dataclass(frozen=True)
class Resolved:
    """Where a path really is, and the links that lead there, in order."""

    real: str
    links: tuple[tuple[str, str], ...]


def resolve(path: str) -> Resolved:
    """Follow every link in an absolute path. Raises OSError if it leads nowhere."""
    links: list[tuple[str, str]] = []
    # Two leading slashes are kept by `normpath`, and are one to the kernel.
    pending = "/" + os.path.normpath(path).lstrip("/")
    for _ in range(MAX_LINKS):
        link = _first_link(pending)
        if link is None:
            os.lstat(pending)
            return Resolved(pending, tuple(links))
        target = os.path.realpath(link, strict=True)
        links.append((link, target))
        pending = target + pending[len(link) :]
    raise OSError(40, f"Too many links in {path}")


def _first_link(path: str) -> str | None:
    parts = path.split("/")
    for count in range(2, len(parts) + 1):
        prefix = "/".join(parts[:count])
        if stat.S_ISLNK(os.lstat(prefix).st_mode):
            return prefix
    return None


@dataclass(frozen=True)
class Layout:
    """`shown` and `links` as a plan has them."""

    shown: tuple[tuple[str, Showing], ...]
    links: tuple[tuple[str, str], ...]


def lay_out(granted: Iterable[str], wanted: Mapping[Showing, Iterable[str]]) -> Layout:
    """Resolve everything. Raises JailError for a grant that is not absolute, is not there,
    or is the whole machine; what is only wanted (a folder that another system has) may miss.
    """
    must = set(granted)
    shown: dict[str, Showing] = {}
    links: dict[str, str] = {}
    for how in sorted(wanted, key=_ORDER.__getitem__):
        for path in wanted[how]:
            found = _resolved(path, must=path in must)
            if found is not None:
                shown[found.real] = how
                links.update(found.links)
    return Layout(tuple(_needed(shown)), tuple(sorted(links.items())))


def _needed(shown: dict[str, Showing]) -> Iterator[tuple[str, Showing]]:
    """Parents before children, without children that their parent shows the same way."""
    kept: list[tuple[str, Showing]] = []
    for path, how in sorted(shown.items()):
        over = [other for other in kept if path.startswith(other[0] + "/")]
        if not over or over[-1][1] != how:
            kept.append((path, how))
            yield path, how


def _resolved(path: str, *, must: bool) -> Resolved | None:
    if must and (not path.startswith("/") or "\0" in path):
        raise JailError(f"A grant must be an absolute path, not {path!r}.", path=path)
    try:
        found = resolve(path)
    except (OSError, ValueError) as error:
        if must:
            raise JailError(f"Cannot grant {path}: {error}", path=path) from error
        return None
    if must and found.real == "/":
        raise JailError("The whole machine cannot be granted.", path=path)
    return found


RIGHTS: dict[Showing, int] = {
    "read": landlock.READ,
    "run": landlock.READ | landlock.EXECUTE,
    "write": landlock.READ | landlock.CHANGE,
    "device": landlock.READ_FILE | landlock.WRITE_FILE,
}


def rules(layout: Layout, *, may_exec: bool) -> list[tuple[str, int]]:
    """Landlock's rules for what is shown. Only roles that run programs may run any."""
    found: list[tuple[str, int]] = []
    for path, how in layout.shown:
        rights = RIGHTS[how] & ~(0 if may_exec else landlock.EXECUTE)
        if may_exec and how == "write":
            rights |= landlock.EXECUTE
        found.append((path, rights))
    return found
