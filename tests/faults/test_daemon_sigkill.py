"""Real kills of a real daemon in mid-turn, and torn tails: what was acknowledged is there once."""

import contextlib
import http.client
import itertools
import threading
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest

from gnomon.testing.openai_behaviours import Turn, ask_tools, say
from tests.daemon_kit import (
    MODEL,
    Daemon,
    House,
    Process,
    RefusedError,
    StubThread,
    a_house,
    results_of,
    wait_until,
)

pytestmark = [pytest.mark.system, pytest.mark.timeout(180)]

KILLS = 20
SEED = 5
LONGEST = 0.35
"""Seconds after a turn began; a turn of the stub takes about a quarter of that and more."""


async def slow_agent(turn: Turn) -> None:
    """One command, then an answer that names the question."""
    asked = str(turn.request.messages[-1].get("content", ""))
    if not results_of(turn.request.messages):
        await ask_tools(("shell", {"command": "sleep 0.05; echo done"}))(turn)
    else:
        await say(f"answered {asked[:20]}")(turn)


def test_twenty_kills_lose_and_double_nothing_that_was_acknowledged(tmp_path: Path):
    rng = Random(SEED)
    acknowledged: list[dict[str, Any]] = []
    children: list[Process] = []
    with StubThread(slow_agent) as stub, a_house(tmp_path / "home", MODEL, stub.url) as house:
        house.config('[kernel]\nmode = "off"\n')
        session: str | None = None
        for _ in range(KILLS):
            daemon = house.up()
            if session is None:
                acknowledged.append(daemon.chat("the first"))
                session = acknowledged[-1]["session"]

            talker = threading.Thread(target=_talk, args=(daemon, session, acknowledged))
            talker.start()
            time.sleep(rng.uniform(0.0, LONGEST))
            children += daemon.kill()
            talker.join(30)
            assert not talker.is_alive()
        wait_until(lambda: not [c for c in children if c.alive], 10, "the children's end")
        assert children
        daemon = house.up()
        assert daemon.terminate() == 0
        assert house.json("verify")["ok"] is True
        _each_once(house, acknowledged)
        _no_run_is_open(house)
        kinds = Counter(
            (line["kind"], line.get("cause"))
            for line in house.lines(house.agent.engagement_ledger)
            if line["kind"] == "gateway_stopped"
        )
        assert kinds == {
            ("gateway_stopped", "crash"): KILLS,
            ("gateway_stopped", "orderly"): 1,
        }


def _talk(daemon: Daemon, session: str, acknowledged: list[dict[str, Any]]) -> None:
    """Turn after turn, until it is killed."""
    with contextlib.suppress(OSError, http.client.HTTPException, RefusedError, ValueError):
        while True:
            acknowledged.append(daemon.chat(f"turn {len(acknowledged)}", session))


def _each_once(house: House, acknowledged: list[dict[str, Any]]) -> None:
    """Run-log, session and observations agree, and hold every reply that was given, once."""
    runs = [line for line in house.family(house.agent.runs) if line["kind"] == "turn"]
    committed = Counter((line["session"], line["turn"]) for line in runs)
    replies = {(line["session"], line["turn"]): line["reply"] for line in runs}
    said = Counter(
        (path.name.split(".")[0], line["turn"], line["role"])
        for path in house.agent.sessions.glob("*.jsonl")
        for line in house.lines(path)
        if line["kind"] == "message"
    )
    seen = Counter(
        (line["session"], line["turn"]) for line in house.lines(house.agent.observations)
    )
    assert set(committed.values()) <= {1}, "a turn's number is used once"
    for told in acknowledged:
        turn = (told["session"], told["turn"])
        assert replies.get(turn) == told["reply"], f"{turn} was acknowledged"
    assert seen == committed
    both = {(*turn, role): 1 for turn in committed for role in ("user", "assistant")}
    assert said == both
    spent = Counter(line["run"] for line in house.lines(house.home.spend_ledger) if line["run"])
    for path in house.agent.runs.glob("*.jsonl"):
        turn = next((x for x in house.lines(path) if x["kind"] == "turn"), None)
        if turn is not None:
            assert spent[path.name.split(".")[0]] == len(turn["spend"]) == turn["steps"]


def _no_run_is_open(house: House) -> None:
    for path in house.agent.runs.glob("*.jsonl"):
        kinds = {line["kind"] for line in house.lines(path)}
        assert kinds & {"turn", "closed"}, path.name


TAILS = (b'{"at":"2026', b"\0\0\0\0\0\0", b"garbage without an end")


def test_torn_tails_are_set_aside_at_a_start_with_a_line_in_the_journal(tmp_path: Path):
    with a_house(tmp_path / "home") as house:
        daemon = house.up()
        told = daemon.chat("hello")
        daemon.terminate()
        torn = [
            house.agent.decision_ledger,
            house.agent.engagement_ledger,
            house.agent.observations,
            house.home.spend_ledger,
            house.home.anchors,
            house.agent.session(told["session"]),
        ]
        whole = {path: path.read_bytes() for path in torn}
        for path, tail in zip(torn, itertools.cycle(TAILS)):
            path.write_bytes(whole[path] + tail)
        again = house.up()
        assert again.chat("and now?", told["session"])["turn"] == 2
        assert again.terminate() == 0
        for path, tail in zip(torn, itertools.cycle(TAILS)):
            assert path.read_bytes().startswith(whole[path])
            assert path.with_suffix(".torn").read_bytes() == tail
            assert path.stem in house.journal()
        assert house.json("verify")["ok"] is True
