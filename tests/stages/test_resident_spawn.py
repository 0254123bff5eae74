"""What a resident is told when its life begins."""

import json
from pathlib import Path

from gnomon.daemon.wire import open_core
from gnomon.home import Home
from gnomon.referee.config import default_text
from gnomon.testing.clock import FakeClock, SequenceIds
from tests.daemon_world import Machine


async def test_what_counts_as_a_repeat_comes_from_the_referees_config(tmp_path: Path) -> None:
    home, machine = Home(tmp_path / "home"), Machine(FakeClock(), SequenceIds())
    config = home.agent("main").fitness_config
    config.parent.mkdir(parents=True)
    wanted = {"shared_words": 2, "shared_part": 0.75}
    config.write_text(json.dumps(json.loads(default_text()) | {"repeat_similarity": wanted}))
    async with open_core(home, "main", machine.platform()) as core:
        said = core.world.spawn_argument(machine.clock.wall(), None, 0)
        assert said["similarity"] == wanted
