"""`make soak`: a real daemon in `dev_mode` that changes its instructions twice: a better prompt is
kept, a worse one undone, and the pages' view shows both. About fifteen minutes.
"""

import itertools
import json
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from gnomon.domain.instants import SECOND
from gnomon.testing.openai_behaviours import Turn, ask_tools, say
from gnomon.testing.openai_parts import example_of, requested_schema
from tests.daemon_kit import MODEL, Daemon, House, StubThread, a_house

WINDOW = 60
TICK = 2
MOST = 9 * WINDOW
"""Seconds within which a verdict must come: two windows of each side, and their engagement."""
GOOD = "Before you return to a subject, say what is new about it."
BAD = "Keep to one subject until every part of it was thought through."
PROMPT = "inner-loop-prompt.md"
ANCHOR = "## Manner\n"
RULES = {
    "dev_mode": True,
    "window_seconds": WINDOW,
    "horizon_seconds": WINDOW,
    "min_reflections_for_valid_window": 3,
    "M_min": 1,
}


def a_model_of(prompt: Callable[[], str]) -> Callable[[Turn], Any]:
    """A model whose thoughts are as fresh as its prompt makes them, and that proposes the next
    sentence when it refines.
    """
    numbers = itertools.count()
    proposals: Iterator[str] = iter((GOOD, BAD))

    async def behave(turn: Turn) -> None:
        tools = {tool["function"]["name"] for tool in turn.request.body.get("tools", ())}
        if "write_scaffold" in tools:
            await refine(turn)
            return
        schema = requested_schema(turn.request.body)
        if schema is None:
            await say("Nothing stands still.")(turn)
            return
        number = next(numbers)
        every = 1 if GOOD in prompt() else 3
        if BAD in prompt():
            every = 10_000
        reply = {**example_of(schema), "desired_action": "rest", "active_item": None}
        reply |= {
            "focus": f"subject {number // every}",
            "summary": f"subject {number // every} stands still",
            "thread_title": f"subject {number // every}",
            "concerns": [f"subject {number // every} may wait"],
        }
        await say(json.dumps(reply), tokens=(60, 30))(turn)

    async def refine(turn: Turn) -> None:
        done = sum(message.get("role") == "tool" for message in turn.request.messages)
        if done == 0:
            await ask_tools(("read_scaffold", {"target": PROMPT}), ("read_fitness_ledger", {}))(
                turn
            )
        elif done == len(("scaffold", "fitness")):
            sentence = next(proposals)
            await ask_tools(
                (
                    "write_scaffold",
                    {
                        "target": PROMPT,
                        "rationale": "The last hours went over the same ground.",
                        "signal": "engagement",
                        "direction": "up",
                        "find": ANCHOR,
                        "replace": f"{ANCHOR}\n{sentence}\n",
                    },
                ),
                first_id="call_9",
            )(turn)
        else:
            await say("That is my proposal.")(turn)

    return behave


def until(
    daemon: Daemon, prompt: Callable[[], str], met: Callable[[], bool], seconds: float
) -> None:
    """Bring three items each window, and answer them as well as the prompt deserves."""
    ends = time.monotonic() + seconds
    for number in itertools.count():
        if met():
            return
        assert time.monotonic() < ends, "no verdict came"
        asked = {"kind": "notification", "title": f"Item {number}", "body": "?", "count": True}
        shown = daemon.call("inbox.emit", asked)
        used = BAD not in prompt() and (GOOD in prompt() or number % 3 == 0)
        deed = "inbox.use" if used else "inbox.dismiss"
        daemon.call(deed, {"surface_id": shown["surface_id"]})
        time.sleep(WINDOW / 3.5)  # the operator's pace; nothing is waited for


def refined(house: House) -> str:
    """Have it propose, by hand; the id of the change that is then tested."""
    done = house.json("jobs", "run", "refine")
    assert done["ran"], done
    tested = [each for each in house.json("changes", "list") if each["status"] == "watched"]
    assert len(tested) == 1, (done, house.json("changes", "list"))
    return tested[0]["change_id"]


def change(house: House, change_id: str) -> Mapping[str, Any]:
    return next(each for each in house.json("changes", "list") if each["change_id"] == change_id)


@pytest.mark.soak
@pytest.mark.system
@pytest.mark.timeout(3 * MOST + 300)
def test_a_better_prompt_is_kept_and_a_worse_one_undone_in_a_real_run(tmp_path: Path) -> None:
    home = tmp_path / "home"
    file = home / "agents" / "main" / "kernel" / "scaffold" / PROMPT

    def prompt() -> str:
        return file.read_text() if file.exists() else ""

    with (
        StubThread(a_model_of(prompt)) as stub,
        a_house(home, model=MODEL, url=stub.url) as house,
    ):
        house.config(
            f"[kernel]\ntick_ms = {TICK * SECOND}\nidle_activity_gate_minutes = 0\n"
            "max_duty_cycle = 1.0\n[budget]\ntokens_per_day = 100000000\n"
        )
        house.cli("status")  # makes the home
        config = house.agent.kernel / "fitness-config.json"
        config.write_text(json.dumps({**json.loads(config.read_text()), **RULES}))
        daemon = house.up()

        def is_ready() -> bool:
            return house.json("refine", "status")["ready"]

        until(daemon, prompt, is_ready, MOST)
        packaged = prompt()
        better = refined(house)
        assert GOOD in prompt()
        until(daemon, prompt, lambda: change(house, better)["outcome"] is not None, MOST)
        assert change(house, better)["status"] == "kept", house.json("changes", "show", better)
        assert change(house, better)["basis"] == "both"
        kept = prompt()
        worse = refined(house)
        until(daemon, prompt, lambda: change(house, worse)["outcome"] is not None, MOST)
        assert change(house, worse)["status"] == "reverted", house.json("changes", "show", worse)
        assert prompt() == kept, "to the byte"
        shown = daemon.call("learning.show")
        assert [each["status"] for each in shown["changes"]] == ["reverted", "kept"]
        assert house.json("changes", "revert", better)["detail"].startswith(PROMPT)
        assert prompt() == packaged
        assert house.json("verify")["ok"]
        assert daemon.terminate() == 0
