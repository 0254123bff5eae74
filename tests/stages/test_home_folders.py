"""A home that this user cannot work in is refused by name, before anything is begun."""

import os
from pathlib import Path

import pytest

from gnomon.daemon.store.create import check_writable
from gnomon.domain.errors import HomeError


def test_a_folder_that_cannot_be_written_is_named_with_what_to_do(tmp_path: Path) -> None:
    closed = tmp_path / "agents" / "main"

    def may(path: Path, mode: int) -> bool:
        assert mode == os.R_OK | os.W_OK | os.X_OK
        return path != closed

    check_writable([tmp_path], may)
    with pytest.raises(HomeError, match="cannot be written by the user who runs") as refused:
        check_writable([tmp_path, closed, tmp_path / "other"], may)
    assert str(closed) in refused.value.message
    assert "--home" in refused.value.next_step
    assert refused.value.facts == {"file": str(closed)}
