"""A copy of a home to try things on, gone afterwards. The home itself is only read."""

import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from gnomon.domain.errors import HomeError
from gnomon.home import HOME_FORMAT, Home

LEFT_OUT = ("models", "index.db*", "home.lock", "heartbeat", "gateway.log", "*.torn")
"""Large, rebuilt when missing, or of the process that has the home."""


@contextmanager
def copied(home: Home) -> Generator[Home]:
    """The copy, marked as simulated: it takes any time for now.

    A gateway may write meanwhile. The anchors are copied first, so that no ledger is shorter
    than they say; a line that was half written is set aside when the copy is opened.
    Raises HomeError.
    """
    if not home.format_file.is_file():
        raise HomeError(f"There is no home at {home.root}.", file=str(home.format_file))
    with tempfile.TemporaryDirectory(prefix="gnomon-copy-") as folder:
        root = Path(folder)
        try:
            if home.anchors.exists():
                shutil.copy2(home.anchors, root / home.anchors.name)
            ignored = shutil.ignore_patterns(*LEFT_OUT, home.anchors.name)
            shutil.copytree(home.root, root, ignore=ignored, symlinks=True, dirs_exist_ok=True)
        except (OSError, shutil.Error) as error:
            raise HomeError(f"{home.root} could not be copied: {error}.") from error
        copy = Home(root)
        mark = {"format": HOME_FORMAT, "simulated": True}
        copy.format_file.write_bytes(msgspec.json.encode(mark) + b"\n")
        yield copy
