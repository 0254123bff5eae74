"""`make soak`: a real daemon for an hour, with windows of a minute and lives that end.

`GNOMON_TEST_SOAK_SECONDS` shortens it for a look.
"""

import json
import os
import time
from collections import Counter
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from gnomon.domain.instants import SECOND, parse_iso
from tests.daemon_kit import MODEL, Daemon, House, StubThread, a_house, plays

SECONDS = float(os.environ.get("GNOMON_TEST_SOAK_SECONDS", "3600"))
WINDOW = 60
TICK = 5
LIFE = 75.0
"""Seconds of one life of the gateway."""
BYTES_A_TICK = 2_500
"""A tick's line and a reflection's, with room."""


def one_life(house: House, daemon: Daemon, until: float, emitted: Counter[str]) -> None:
    """An operator who answers every other item at once and lets the rest pass."""
    while time.monotonic() < until:
        asked = {"kind": "notification", "title": f"Item {emitted.total()}", "body": "?"}
        shown = daemon.call("inbox.emit", {**asked, "count": True})
        if emitted.total() % 2:
            daemon.call("inbox.use", {"surface_id": shown["surface_id"]})
            emitted["used"] += 1
        else:
            emitted["left"] += 1
        assert daemon.status()["running"]
        time.sleep(10.0)  # the operator's pace; nothing is waited for
    assert house.home.heartbeat.exists()


def check_windows(house: House) -> None:
    """Every span of time stands once, as a window or within a gap."""
    assert house.json("verify")["ok"]
    fitness = house.lines(house.agent.fitness_ledger)
    windows = Counter(line["window_start"] for line in fitness if line["kind"] == "window")
    assert windows
    assert max(windows.values()) == 1
    spans = sorted(
        (parse_iso(line["window_start"]), parse_iso(line["window_end"]))
        for line in fitness
        if line["kind"] in {"window", "gap"}
    )
    assert all(after[0] == before[1] for before, after in pairwise(spans)), "a hole or overlap"


def check_growth(house: House, told: int, lived: float) -> None:
    """As many ticks as there was time for, and no more bytes than they need."""
    decisions = house.lines(house.agent.decision_ledger)
    ticks = sum(line["kind"] == "tick" for line in decisions)
    assert ticks == told
    assert lived / TICK * 0.5 < ticks <= lived / TICK + 1
    size = house.agent.decision_ledger.stat().st_size
    assert size < ticks * BYTES_A_TICK + 100_000


def check_engagement(house: House, emitted: Counter[str], pool: Mapping[str, Any]) -> None:
    """What was used counts as used, in the ledger and in the pool; the rest is all there."""
    outcomes = Counter(
        line["outcome"]
        for line in house.lines(house.agent.engagement_ledger)
        if line["kind"] == "outcome"
    )
    assert outcomes["acted"] == emitted["used"]
    assert pool["acted"] == emitted["used"]
    assert pool["ignored"] + pool["unavailable"] + pool["open"] == emitted["left"]


@pytest.mark.soak
@pytest.mark.system
@pytest.mark.timeout(SECONDS + 300)
def test_an_hour_of_lives_leaves_each_window_once_and_ledgers_of_the_expected_size(
    tmp_path: Path,
) -> None:
    began = time.monotonic()
    emitted: Counter[str] = Counter()
    lives = 0
    with (
        StubThread(plays(())) as stub,
        a_house(tmp_path / "home", model=MODEL, url=stub.url) as house,
    ):
        house.config(
            f"[kernel]\ntick_ms = {TICK * SECOND}\nidle_activity_gate_minutes = 0\n"
            "max_duty_cycle = 1.0\n[budget]\ntokens_per_day = 100000000\n"
        )
        house.cli("status")  # makes the home
        config = house.agent.kernel / "fitness-config.json"
        values = json.loads(config.read_text())
        config.write_text(
            json.dumps({**values, "window_seconds": WINDOW, "horizon_seconds": WINDOW})
        )
        while time.monotonic() - began < SECONDS:
            daemon = house.up()
            one_life(house, daemon, time.monotonic() + LIFE, emitted)
            if lives % 2:
                daemon.kill()
            else:
                assert daemon.terminate() == 0
            lives += 1
        daemon = house.up()
        time.sleep(2 * WINDOW + 30)  # the last windows close, and their engagement settles
        daemon.call("fitness.run", {})
        status, shown = daemon.status(), daemon.call("fitness.show")
        assert daemon.terminate() == 0
        lived = time.monotonic() - began
        check_windows(house)
        check_growth(house, status["ticks"], lived)
        pool = next(each for each in shown["pooled"] if each["days"] == 7)
        check_engagement(house, emitted, pool)
        assert lives >= 2
