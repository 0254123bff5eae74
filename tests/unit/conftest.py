"""Unit tests are of pure code: while one runs, an audit hook refuses every file, socket and
process. (Reading a module's own source for an import or a traceback is not the test's doing.)
"""

import sys
import threading
from collections.abc import Iterator

import pytest

REFUSED = (
    "open",
    "os.",
    "shutil.",
    "socket.",
    "subprocess.",
    "sqlite3.",
    "tempfile.",
    "urllib.",
    "glob.",
)
HARMLESS = ("os.putenv", "os.unsetenv", "os.add_dll_directory", "os.fwalk")
OURS = ("gnomon", "tests")
TOOLS = (
    "importlib",
    "_frozen_importlib",
    "_frozen_importlib_external",
    "linecache",
    "hypothesis",
    "coverage",
    "_pytest",
)


class ImpureError(BaseException):
    """A unit test reached the machine. Not an Exception, so that no code can swallow it."""


class _Watch:
    """Holds the thread that runs a unit test now. An audit hook cannot be taken away again."""

    thread: int | None = None


def _forbidden(event: str) -> bool:
    if not event.startswith(REFUSED) or event in HARMLESS:
        return False
    return not _is_the_tools_doing()


def _is_the_tools_doing() -> bool:
    """Whether an import, a traceback or the test tools came between us and the machine."""
    frame = sys._getframe(3)
    while frame is not None:
        package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if package in OURS:
            return False
        if package in TOOLS:
            return True
        frame = frame.f_back
    return True


def _refuse(event: str, arguments: tuple[object, ...]) -> None:
    if _Watch.thread == threading.get_ident() and _forbidden(event):
        _Watch.thread = None
        raise ImpureError(f"{event}{arguments!r}: a unit test does no I/O; see tests/stages")


sys.addaudithook(_refuse)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call() -> Iterator[None]:
    _Watch.thread = threading.get_ident()
    try:
        return (yield)
    finally:
        _Watch.thread = None
