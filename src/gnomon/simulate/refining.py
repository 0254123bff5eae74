"""The refiner's model, played: it reads, proposes one sentence for the prompt, and ends. Pure."""

import re
from collections.abc import Sequence
from random import Random

import msgspec

from gnomon.domain.json_value import Fields
from gnomon.domain.messages import ModelReply, ModelRequest, ToolCall
from gnomon.simulate.edits import Edit, proposed

PURPOSE = "refine"
TARGET = "inner-loop-prompt.md"
BEFORE = "## Manner\n"
"""Where a sentence goes: this stands once in the packaged prompt."""
READS: tuple[tuple[str, Fields], ...] = (
    ("read_scaffold", {"target": TARGET}),
    ("read_trajectory_window", {}),
    ("read_fitness_ledger", {}),
)
_RATE = re.compile(r"\b0\.\d{2,6}\b|\b\d{1,3}(?:\.\d+)?%")


def refines(rng: Random, request: ModelRequest, among: Sequence[Edit]) -> ModelReply:
    """The next reply of a run: three reads, one proposal, one word at the end."""
    results = [message.content for message in request.messages if message.role == "tool"]
    if not results:
        return _calls(READS)
    if len(results) > len(READS):
        return ModelReply(content="That is my proposal.", finish="stop", model="simulated")
    prompt, _, fared = results
    edit, added = proposed(rng, prompt, _numbers(fared), among)
    better = edit.follows <= 0
    return _calls(
        (
            (
                "write_scaffold",
                {
                    "target": TARGET,
                    "rationale": "The last hours went over the same ground.",
                    "signal": "stall",
                    "direction": "down" if better else "up",
                    "find": BEFORE,
                    "replace": f"{BEFORE}\n{added}\n",
                },
            ),
        )
    )


def _numbers(fared: str) -> list[float]:
    """The rates that it was shown."""
    found = (text for text in _RATE.findall(fared))
    return [float(text[:-1]) / 100 if text.endswith("%") else float(text) for text in found]


def _calls(calls: tuple[tuple[str, Fields], ...]) -> ModelReply:
    return ModelReply(
        content="",
        finish="tool-calls",
        model="simulated",
        tool_calls=tuple(
            ToolCall(id=f"call-{index}", name=name, arguments=msgspec.json.encode(said).decode())
            for index, (name, said) in enumerate(calls)
        ),
    )
