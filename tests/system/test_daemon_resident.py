"""A resident behind a real daemon, by a stub that reflects at once: pause, and its scaffold."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from gnomon.domain.instants import parse_iso
from gnomon.testing.openai_stub import OpenAIStub
from tests.daemon_kit import MODEL, House, StubThread, a_house, plays, wait_until

pytestmark = [pytest.mark.system, pytest.mark.timeout(120)]

EVERY_SECOND = "[kernel]\ntick_ms = 1000\n"


@contextmanager
def a_resident(tmp_path: Path) -> Generator[tuple[House, OpenAIStub]]:
    with StubThread(plays(())) as stub, a_house(tmp_path / "home", MODEL, stub.url) as house:
        house.config(EVERY_SECOND)
        yield house, stub


def reflections(house: House) -> list[dict[str, Any]]:
    lines = house.lines(house.agent.decision_ledger)
    return [line for line in lines if line["kind"] == "reflection"]


def test_a_pause_stops_calls_at_once_and_outlives_a_restart(tmp_path: Path):
    with a_resident(tmp_path) as (house, stub):
        daemon = house.up()
        wait_until(lambda: len(reflections(house)) >= 2, 20, "two reflections")
        assert house.cli("pause", "--for", "1h").returncode == 0
        wait_until(lambda: daemon.status()["doing"] == "paused", 10, "what was under way")
        asked = len(stub.received)
        wait_until(lambda: daemon.status()["skipped"].get("paused", 0) >= 2, 15, "paused ticks")
        refused = daemon.chat("are you there?")
        assert "paused" in refused["reply"].lower()
        assert len(stub.received) == asked
        assert daemon.terminate() == 0

        again = house.up()
        assert again.status()["paused_until"] is not None
        before = again.status()["skipped"]["paused"]
        wait_until(lambda: again.status()["skipped"]["paused"] >= before + 2, 15, "paused ticks")
        assert len(stub.received) == asked
        assert house.cli("resume").returncode == 0
        assert again.status()["paused_until"] is None
        wait_until(lambda: len(stub.received) > asked, 15, "a call")
        assert again.terminate() == 0
        assert house.json("verify")["ok"] is True


EDIT = "\nLook at the weather first.\n"


def test_the_prior_scaffold_is_kept_before_the_resident_works_by_the_new_one(tmp_path: Path):
    with a_resident(tmp_path) as (house, stub):
        prompt = house.agent.scaffold / "inner-loop-prompt.md"
        daemon = house.up()
        packaged = prompt.read_bytes()
        first = wait_until(lambda: reflections(house), 20, "a reflection")[0]["scaffold_version"]
        prompt.write_bytes(packaged + EDIT.encode())
        second = _kept_before_used(house, packaged, first)
        assert daemon.terminate() == 0
        assert EDIT.strip() in repr(stub.received[-1].messages), "the new text is in force"

        prompt.write_bytes(packaged + EDIT.encode() * 2)  # while it is stopped
        again = house.up()
        _kept_before_used(house, packaged + EDIT.encode(), second)
        assert again.terminate() == 0
        versions = {line["scaffold_version"] for line in reflections(house)}
        assert len(versions) == 3
        assert min(versions) == first


def _kept_before_used(house: House, prior: bytes, version: str) -> str:
    """Wait for a reflection by another version; the prior text is older on the disk."""
    newer = wait_until(
        lambda: next((x for x in reflections(house) if x["scaffold_version"] > version), None),
        20,
        "a reflection by the new text",
    )
    kept = [
        path
        for path in house.agent.scaffold_versions.rglob("*")
        if path.is_file() and path.read_bytes() == prior
    ]
    assert kept, "the prior text is in .versions, to the byte"
    assert kept[0].stat().st_mtime <= parse_iso(newer["at"]) / 1000
    return newer["scaffold_version"]
