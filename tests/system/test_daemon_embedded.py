"""A real daemon with the embedded model: it reflects, answers, and its host goes when idle."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gnomon.domain.records import Reflection
from tests.daemon_kit import House, a_house, descendants, wait_until

pytestmark = [
    pytest.mark.alone,
    pytest.mark.system,
    pytest.mark.needs("embedded-model", "jail-full"),
    pytest.mark.timeout(400),
]

PATIENCE = 150.0
"""Seconds for one of its thoughts on a slow hour of this machine. How long three take is measured
by `make bench`.
"""


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    with a_house(tmp_path / "home", "embedded") as made:
        yield made


def reflections(house: House) -> list[dict[str, Any]]:
    lines = house.lines(house.agent.decision_ledger)
    return [line for line in lines if line["kind"] == "reflection"]


def test_three_reflections_come_and_a_turn_is_answered_meanwhile(house: House):
    house.config("[kernel]\ntick_ms = 5000\n\n[model]\nidle_seconds = 5\n")
    daemon = house.up()
    assert daemon.status()["model"]["loaded"] is False
    without = len(descendants(daemon.pid))
    wait_until(lambda: reflections(house), PATIENCE, "the first reflection")
    told = daemon.chat("what did you look at?")
    assert told["tools"] == {"recall": 1}, "with the demo model chat answers from recall"
    assert told["reply"]
    wait_until(lambda: len(reflections(house)) >= 3, PATIENCE, "three reflections")
    for line in reflections(house):
        body = {k: v for k, v in line.items() if k not in {"seq", "at", "prev", "schema"}}
        reflection = msgspec.convert(body, type=Reflection)
        assert 0 < len(reflection.focus) <= 160
        assert 0 < len(reflection.summary) <= 220
        assert len(reflection.concerns) <= 4
    status = daemon.status()
    assert status["reflections"] >= 3
    assert (status["mode"], status["effective_mode"]) == ("soft", "shadow")
    assert status["model"] == {"name": "embedded", "kind": "demo", "loaded": True}
    assert status["last_focus"] is None, "what the demo model thinks of is shown to nobody"

    # Nobody asks it any more: its process ends with a beat.
    house.cli("pause")
    wait_until(lambda: not daemon.status()["model"]["loaded"], 75, "the end of an idle host")
    wait_until(lambda: len(descendants(daemon.pid)) <= without + 1, 5, "its process is gone")
    assert daemon.terminate() == 0
    assert house.json("verify")["ok"] is True
