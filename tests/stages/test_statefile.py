"""State files: old or new, never mixed; typed or refused."""

import errno
import stat
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.domain.errors import RecordError, StateError
from gnomon.statefile import MAX_STATE, read_state, write_atomic, write_state
from gnomon.testing.crash import CrashDisk, Fault


class Facts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: str
    count: int
    rate: float = 0.0


FACTS = Facts(name="é", count=3, rate=0.5)


def test_a_state_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "state" / "facts.json"
    assert read_state(path, Facts) is None
    write_state(path, FACTS)
    assert path.read_bytes() == '{"count":3,"name":"é","rate":0.5}\n'.encode()
    assert read_state(path, Facts) == FACTS
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [p.name for p in path.parent.iterdir()] == ["facts.json"]


def test_a_mode_can_be_given(tmp_path: Path) -> None:
    write_atomic(tmp_path / "f", b"x", mode=0o644)
    assert stat.S_IMODE((tmp_path / "f").stat().st_mode) == 0o644


def test_a_state_edited_by_hand_is_welcome(tmp_path: Path) -> None:
    path = tmp_path / "facts.json"
    path.write_text('{\n  "name": "é",\n  "count": 3,\n  "rate": 0.5\n}\n')
    assert read_state(path, Facts) == FACTS


@pytest.mark.parametrize(
    "text",
    [
        b"", b"\0" * 40, b"{", b"[]", b"null", b'{"name":"x"}', b'{"name":"x","count":true}',
        b'{"name":"x","count":1,"other":2}', b'{"name":"x","count":1,"count":1}',
        b'{"name":"x","count":1,"rate":NaN}', b'{"name":"x","count":1e999}', b'"\xff"',
        b"[" * 100_000, b'{"name":"\\ud800","count":1}',
    ],
)  # fmt: skip
def test_a_damaged_state_is_an_error_and_never_a_default(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "facts.json"
    path.write_bytes(text)
    with pytest.raises(StateError) as refused:
        read_state(path, Facts)
    assert refused.value.facts["path"] == str(path)
    assert path.read_bytes() == text


def test_a_state_of_absurd_size_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "facts.json"
    with path.open("wb") as file:
        file.truncate(MAX_STATE + 1)
    with pytest.raises(StateError, match="larger"):
        read_state(path, Facts)


@given(st.binary(max_size=80))
def test_no_bytes_crash_the_reading(tmp_path_factory: pytest.TempPathFactory, text: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "fuzzed.json"
    path.write_bytes(text)
    with pytest.raises(StateError):
        read_state(path, Facts)


def test_what_has_no_canonical_form_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "facts.json"
    write_state(path, FACTS)
    with pytest.raises(RecordError):
        write_state(path, {"rate": float("nan")})
    assert read_state(path, Facts) == FACTS


@pytest.mark.parametrize("call", ["write", "sync", "replace"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_a_failing_disk_leaves_the_old_state_and_no_litter(
    tmp_path: Path, call: str, code: int
) -> None:
    path = tmp_path / "facts.json"
    write_state(path, FACTS)
    with pytest.raises(OSError, match="injected"):
        write_state(path, Facts(name="new", count=4), disk=CrashDisk(Fault(call, errno=code)))
    assert read_state(path, Facts) == FACTS
    assert [p.name for p in tmp_path.iterdir()] == ["facts.json"]


def test_a_short_write_is_continued(tmp_path: Path) -> None:
    path = tmp_path / "facts.json"
    write_state(path, FACTS, disk=CrashDisk(Fault("write", short=5)))
    assert read_state(path, Facts) == FACTS
