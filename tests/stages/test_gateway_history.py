"""What is asked of other agents' histories, in a real gateway."""

from pathlib import Path

import pytest

from gnomon.domain.errors import UsageError
from tests.world_kit import World, in_virtual_time


def test_a_history_that_is_not_there_is_told_with_the_way_to_name_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))

    async def live() -> None:
        world = World(tmp_path / "home", says=str)
        async with world.up() as gateway:
            with pytest.raises(UsageError, match="There is no history of claude-code") as refused:
                await gateway.ask("history.import", sources=("claude-code",))
        assert refused.value.next_step == "Name where it is: `gnomon import PATH`."

    in_virtual_time(live)
