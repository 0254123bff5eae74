"""The gateway's small facts: a damaged file is kept aside, and nothing is forgotten by that."""

from pathlib import Path

import pytest

from gnomon.daemon.store.memo import Memo
from gnomon.daemon.store.remembered import Remembered
from gnomon.disk import SYSTEM_DISK
from gnomon.domain.errors import StateError
from gnomon.domain.instants import Millis

NOW = Millis(1_780_000_000_000)


def memo(folder: Path, said: list[str] | None = None) -> Memo:
    return Memo(folder, SYSTEM_DISK, (said if said is not None else []).append)


def test_a_first_start_is_not_paused(tmp_path: Path) -> None:
    said: list[str] = []
    assert not memo(tmp_path, said).facts_paused(NOW)
    assert said == []
    assert list(tmp_path.iterdir()) == []


def test_damage_to_the_memory_of_a_pause_means_a_pause_until_it_is_ended(tmp_path: Path) -> None:
    file, said = tmp_path / "gateway.json", list[str]()
    file.write_bytes(b"{")
    found = memo(tmp_path, said)
    assert found.facts_paused(NOW)
    assert memo(tmp_path).facts_paused(NOW), "the next life knows it too"
    (sentence,) = said
    assert sentence.startswith("gateway.json was damaged and moved to gateway.json.damaged. ")
    assert "so it is, until `gnomon resume`" in sentence
    found.change(Remembered())
    assert not memo(tmp_path).facts_paused(NOW)


def test_what_was_set_aside_before_is_not_overwritten(tmp_path: Path) -> None:
    for damage in (b"{", b"[", b"\0"):
        (tmp_path / "gateway.json").write_bytes(damage)
        memo(tmp_path)
    kept = ("gateway.json.damaged", "gateway.json.damaged.2", "gateway.json.damaged.3")
    assert [(tmp_path / name).read_bytes() for name in kept] == [b"{", b"[", b"\0"]


def test_what_cannot_be_moved_away_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gateway.json").write_bytes(b"{")

    def refuse(*_: object) -> Path:
        raise PermissionError

    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(StateError, match=r"gateway\.json"):
        memo(tmp_path)
