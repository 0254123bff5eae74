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
IMPORTABLE = (".py", ".pyc", ".so")


class ImpureError(BaseException):
    """A unit test reached the machine. Not an Exception, so that no code can swallow it."""


class _Watch:
    """Holds the thread that runs a unit test now. An audit hook cannot be taken away again."""

    thread: int | None = None


def _forbidden(event: str, arguments: tuple[object, ...]) -> bool:
    if not event.startswith(REFUSED) or event in HARMLESS:
        return False
    subject = str(arguments[0]) if arguments else ""
    reading_code = event == "open" and subject.endswith(IMPORTABLE)
    importing = event in {"os.listdir", "os.scandir", "open"} and _in_import_system()
    return not (reading_code or importing)


def _in_import_system() -> bool:
    frame = sys._getframe(2)
    while frame is not None:
        if (
            "importlib" in frame.f_code.co_filename
            or frame.f_globals.get("__name__") == "linecache"
        ):
            return True
        frame = frame.f_back
    return False


def _refuse(event: str, arguments: tuple[object, ...]) -> None:
    if _Watch.thread == threading.get_ident() and _forbidden(event, arguments):
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
