"""Models that misbehave, behind a real daemon: each turn ends bounded and says what was wrong,
nobody is asked again and again, and the daemon goes on.
"""

import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from gnomon.testing.openai_behaviours import Behaviour, garbage, hang, huge, say, status
from gnomon.testing.openai_parts import repeat_tool
from gnomon.testing.openai_stub import OpenAIStub
from tests.daemon_kit import (
    MODEL,
    Daemon,
    House,
    RefusedError,
    StubThread,
    a_house,
    descendants,
    wait_until,
)

pytestmark = [pytest.mark.system, pytest.mark.timeout(120)]

TIMEOUT = 2
"""Seconds that a call of these tests may take."""
CONFIG = f"[kernel]\ntick_ms = 1000\n\n[model]\ntimeout_seconds = {TIMEOUT}\n"


@contextmanager
def a_daemon(
    tmp_path: Path, then: Behaviour, config: str = CONFIG, **more: Any
) -> Generator[tuple[House, Daemon, OpenAIStub]]:
    with StubThread(then, **more) as stub, a_house(tmp_path / "home", MODEL, stub.url) as house:
        house.config(config)
        yield house, house.up(), stub


QUIET = CONFIG.replace("tick_ms = 1000", 'tick_ms = 60000\nmode = "off"')
"""No reflections: every request at the stub is the turn's."""


@pytest.mark.parametrize(
    ("name", "then", "requests", "words"),
    [
        ("hangs", hang, 1, "did not answer"),
        ("garbage", garbage(), 1, ""),
        ("401", status(401, "Incorrect API key provided"), 1, "key"),
        ("429", status(429, "slow down", {"Retry-After": "30"}), 1, "limit"),
        ("500", status(500, "broken"), 3, ""),
        ("huge", huge(), 1, "more than"),
    ],
)
def test_a_turn_with_a_broken_model_ends_and_says_what_was_wrong(
    tmp_path: Path, name: str, then: Behaviour, requests: int, words: str
):
    with a_daemon(tmp_path, then, QUIET) as (house, daemon, stub):
        began = time.monotonic()
        told = daemon.chat("hello")
        assert time.monotonic() - began < 20
        assert told["stop_reason"] == "model-error", told
        assert told["reply"].strip(), "a reply, not silence"
        assert words in told["reply"].lower(), told["reply"]
        assert "Traceback" not in told["reply"]
        assert 1 <= len(stub.received) <= requests, name
        turns = [line for line in house.family(house.agent.runs) if line["kind"] == "turn"]
        assert [turn["stop_reason"] for turn in turns] == ["model-error"]
        assert daemon.status()["running"] is True
        stub.then = say("well again")
        # A refused key and a rate limit rest for longer; the others may be asked at once.
        if name not in {"401", "429"}:
            wait_until(lambda: daemon.chat("again")["stop_reason"] == "done", 40, "a mended model")
        assert daemon.terminate() == 0
        assert house.json("verify")["ok"] is True


def test_a_model_that_repeats_one_call_for_ever_is_stopped(tmp_path: Path):
    then = repeat_tool("shell", {"command": "echo again"})
    with a_daemon(tmp_path, then, QUIET) as (_, daemon, stub):
        told = daemon.chat("hello")
        assert told["stop_reason"] not in {"done", "model-error"}, told
        assert told["reply"].strip()
        assert len(stub.received) <= 12
        assert told["steps"] == len(stub.received)
        assert daemon.status()["doing"] is None


def test_the_breaker_opens_and_ticks_go_on_with_their_reason(tmp_path: Path):
    with a_daemon(tmp_path, status(401, "Incorrect API key provided")) as (house, daemon, stub):
        wait_until(lambda: daemon.status()["budget"]["breaker_open_until"], 15, "the breaker")
        asked = len(stub.received)
        before = daemon.status()
        later = wait_until(
            lambda: (now := daemon.status())["ticks"] >= before["ticks"] + 3 and now, 15, "ticks"
        )
        assert later["skipped"]["model-error"] >= 3
        assert later["reflections"] == 0
        assert len(stub.received) == asked == 1, "a refused key is not tried again"
        assert house.journal().count("holds back") == 1, "said once"
        shown = house.cli("status").stdout
        assert "model" in shown
        assert daemon.terminate() == 0


def test_a_hanging_model_delays_no_tick_and_no_page(tmp_path: Path):
    config = CONFIG.replace(f"timeout_seconds = {TIMEOUT}", "timeout_seconds = 60")
    with a_daemon(tmp_path, hang, config) as (_, daemon, stub):
        wait_until(lambda: stub.received, 15, "a reflection's call")
        began = time.monotonic()
        assert daemon.status()["doing"] == "reflecting"
        assert time.monotonic() - began < 2
        began = time.monotonic()
        assert daemon.terminate() == 0
        assert time.monotonic() - began < 15, "it does not wait for the model"


def test_garbage_reflections_are_skips_with_their_reason(tmp_path: Path):
    with a_daemon(tmp_path, say("this is no JSON")) as (house, daemon, stub):
        wait_until(lambda: daemon.status()["skipped"].get("invalid-output"), 20, "a bad output")
        daemon.terminate()
        ticks = [x for x in house.lines(house.agent.decision_ledger) if x["kind"] == "tick"]
        assert "invalid-output" in {tick["skip_reason"] for tick in ticks}
        bodies = [each.body for each in stub.received]
        assert len(bodies) <= 2 * len(ticks), "one retry with the error, no more"


def test_a_cancelled_turn_ends_the_call_at_the_model(tmp_path: Path):
    config = QUIET.replace(f"timeout_seconds = {TIMEOUT}", "timeout_seconds = 60")
    with a_daemon(tmp_path, hang, config) as (house, daemon, stub):
        with pytest.raises(OSError, match="timed out"):
            daemon.chat("hello", seconds=2)
        wait_until(lambda: daemon.status()["doing"] is None, 10, "the turn's end")
        wait_until(
            lambda: [x for x in house.family(house.agent.runs) if x["kind"] == "closed"],
            10,
            "a closed run",
        )
        assert len(stub.received) == 1
        stub.then = say("here again")
        assert daemon.chat("and now?")["reply"] == "here again"


def test_a_key_stands_in_no_file_of_the_home_and_in_no_command_line(tmp_path: Path):
    key = "sk-canary-5f1c9a7be2"
    with StubThread(say("fine"), key=key) as stub, a_house(tmp_path / "home", MODEL, stub.url) as h:
        h.environ["GNOMON_MODEL_KEY"] = key
        h.config(QUIET)
        daemon = h.up()
        assert daemon.chat("hello")["reply"] == "fine"
        for process in descendants(daemon.pid):
            shown = Path(f"/proc/{process.pid}/cmdline").read_bytes()
            around = Path(f"/proc/{process.pid}/environ").read_bytes()
            assert key.encode() not in shown + around
        daemon.terminate()
        for path in h.root.rglob("*"):
            assert not path.is_file() or key.encode() not in path.read_bytes(), path
        assert key not in daemon.said()
        with pytest.raises((RefusedError, OSError)):
            daemon.status()
