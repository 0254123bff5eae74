"""A disk on which things go wrong at one chosen call: a kill, a power cut, an error.

Every system call by which the home changes passes `gnomon.disk.Disk`, so each call is a named
point. To sweep: count the calls of a clean run (`CrashDisk(None).points`), then run once for
each of them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from gnomon.disk import SYSTEM_DISK

When = Literal["before", "after", "half"]
"""`half`: of a write, half of its bytes got through. Elsewhere it is `before`."""
POINTS_WHEN: tuple[When, ...] = ("before", "after", "half")


class Killed(BaseException):
    """The process is gone. No `except Exception` may survive it."""


Lost = Literal["nothing", "unsynced", "zeroed", "holed"]
"""What the medium lacks afterwards. A killed process loses `nothing`. A power cut loses what
was not synced: its bytes are gone, or read as NULs, or only those up to a sector's border do.
"""
LOST: tuple[Lost, ...] = get_args(Lost)
SECTOR = 512


@dataclass(frozen=True)
class Kill:
    """Die at call number `at` (counted from 0)."""

    at: int
    when: When = "before"
    lost: Lost = "nothing"


@dataclass(frozen=True)
class Fault:
    """Call number `at` of those named `call` fails with `errno`, or is cut short to
    `short` bytes. `times` of them in a row.
    """

    call: str
    errno: int | None = None
    short: int | None = None
    at: int = 0
    times: int = 1


class CrashDisk:
    """The system's disk until the chosen point; from a kill on, no call gets through."""

    def __init__(self, *plan: Kill | Fault) -> None:
        self.points: list[str] = []
        """Names of the calls so far."""
        self._kill = next((p for p in plan if isinstance(p, Kill)), None)
        self._faults = [p for p in plan if isinstance(p, Fault)]
        self._counts: dict[str, int] = {}
        self.dead = False
        """Whether the kill has happened."""
        self._paths: dict[int, Path] = {}
        self._synced: dict[Path, bytes] = {}
        self._unnamed: set[Path] = set()  # made, and their folder not synced since

    def open_append(self, path: Path) -> int:
        self._point("open_append")
        return self._opened(path, SYSTEM_DISK.open_append)

    def open_new(self, path: Path) -> int:
        self._point("open_new")
        return self._opened(path, SYSTEM_DISK.open_new)

    def close(self, fd: int) -> None:
        # Also after a kill, as the kernel does; it changes nothing on the medium.
        if self._paths.pop(fd, None) is not None:
            SYSTEM_DISK.close(fd)

    def write(self, fd: int, data: bytes) -> int:
        short = self._fault("write")
        if short is not None:
            return SYSTEM_DISK.write(fd, data[:short])
        if self._dies("write", "half"):
            SYSTEM_DISK.write(fd, data[: len(data) // 2])
            self._die()
        self._point("write")
        count = SYSTEM_DISK.write(fd, data)
        self._after()
        return count

    def write_at(self, fd: int, data: bytes, offset: int) -> int:
        self._point("write_at")
        count = SYSTEM_DISK.write_at(fd, data, offset)
        self._after()
        return count

    def sync(self, fd: int) -> None:
        self._fault("sync")
        self._point("sync")
        SYSTEM_DISK.sync(fd)
        if fd in self._paths:
            self._synced[self._paths[fd]] = self._paths[fd].read_bytes()
        self._after()

    def forget(self, fd: int) -> None:
        SYSTEM_DISK.forget(fd)

    def truncate(self, fd: int, size: int) -> None:
        self._fault("truncate")
        self._point("truncate")
        SYSTEM_DISK.truncate(fd, size)
        self._after()

    def replace(self, source: Path, target: Path) -> None:
        self._fault("replace")
        self._point("replace")
        SYSTEM_DISK.replace(source, target)
        self._synced[target] = self._synced.pop(source)
        self._unnamed.discard(source)
        self._after()

    def unlink(self, path: Path) -> None:
        self._point("unlink")
        SYSTEM_DISK.unlink(path)
        self._after()

    def sync_folder(self, folder: Path) -> None:
        self._fault("sync_folder")
        self._point("sync_folder")
        SYSTEM_DISK.sync_folder(folder)
        self._unnamed = {path for path in self._unnamed if path.parent != folder}
        self._after()

    def abandon(self) -> None:
        """Close what the dead process had open, as the kernel would."""
        for fd in list(self._paths):
            self.close(fd)

    def _opened(self, path: Path, open_: Callable[[Path], int]) -> int:
        if not path.exists():
            self._unnamed.add(path)
        fd = open_(path)
        self._paths[fd] = path
        self._synced.setdefault(path, path.read_bytes())
        self._after()
        return fd

    def _dies(self, name: str, when: When) -> bool:
        if self.dead:
            raise Killed(name)
        kill = self._kill
        if kill is None or kill.at != len(self.points) or kill.when != when:
            return False
        self.points.append(name)
        return True

    def _point(self, name: str) -> None:
        if self._dies(name, "before") or (name != "write" and self._dies(name, "half")):
            self._die()
        self.points.append(name)

    def _after(self) -> None:
        kill = self._kill
        if kill is not None and kill.when == "after" and kill.at == len(self.points) - 1:
            self._die()

    def _die(self) -> None:
        self.dead = True
        lost = self._kill.lost if self._kill is not None else "nothing"
        if lost != "nothing":
            for path, synced in self._synced.items():
                if path in self._unnamed:
                    path.unlink(missing_ok=True)
                elif path.exists():
                    path.write_bytes(left_after(synced, path.read_bytes(), lost))
        raise Killed(self.points[-1])

    def _fault(self, name: str) -> int | None:
        count = self._counts.get(name, 0)
        self._counts[name] = count + 1
        for fault in self._faults:
            if fault.call == name and fault.at <= count < fault.at + fault.times:
                if fault.errno is not None:
                    raise OSError(fault.errno, f"injected at {name} {count}")
                return fault.short
        return None


def left_after(synced: bytes, written: bytes, lost: Lost) -> bytes:
    """What a file holds after a power cut, of what was synced and what was written since."""
    if lost == "nothing" or not written.startswith(synced):
        return written if lost == "nothing" else synced
    if lost == "unsynced":
        return synced
    whole = len(written) - len(synced)
    border = -len(synced) % SECTOR or SECTOR
    zeros = min(whole, border if lost == "holed" else whole)
    return synced + b"\0" * zeros + written[len(synced) + zeros :]
