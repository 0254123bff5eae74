from pathlib import Path

import pytest

from gnomon.config import Config, load
from gnomon.domain.errors import ConfigError


def test_without_a_file_the_defaults_hold(tmp_path: Path) -> None:
    assert load(tmp_path / "config.toml", {}) == Config()


def test_a_file_that_is_not_text_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(b"[kernel]\n\xff")
    with pytest.raises(ConfigError, match="not UTF-8"):
        load(path, {})


def test_a_folder_in_its_place_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read: Is a directory") as refused:
        load(tmp_path, {})
    assert "Mend that line" not in refused.value.next_step


def test_the_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text("[gateway]\nport = 0\n")
    assert load(path, {}).gateway.port == 0
