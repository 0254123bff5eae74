"""The operator's token as a power cut, a full disk or another hand may leave it: what could be
guessed opens nothing.
"""

from pathlib import Path

import pytest

from gnomon.gateway.authority import is_token, new_token
from tests.daemon_kit import a_house

pytestmark = [pytest.mark.redteam, pytest.mark.timeout(60)]


@pytest.mark.parametrize("left", [b"", b"\n", b"v", b"\0" * 44, "\N{SNOWMAN}".encode() * 44])
def test_a_token_that_could_be_guessed_keeps_the_gateway_from_starting(
    tmp_path: Path, left: bytes
) -> None:
    with a_house(tmp_path / "home") as house:
        house.cli("init")
        house.home.operator_token.write_bytes(left)
        code, error = house.refused()
        assert (code, error["code"]) == (1, "home")
        assert "operator.token holds no token" in error["message"]
        house.home.operator_token.unlink()
        assert house.up().terminate() == 0, "the message's advice helps"


def test_what_we_make_is_a_token() -> None:
    assert all(is_token(new_token()) for _ in range(100))
    assert not is_token(new_token()[:-1])
