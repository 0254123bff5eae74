"""A run with a model that calls no tools: what it is told, and the record that it answers. Pure.

The three reads are made for it, and the lines that it may rewrite are the schema's own choices,
so that what it finds is there. What it writes in their place is its own, and is checked like
any other proposal.
"""

from typing import cast

import msgspec

from gnomon.agent.context import as_data, middle_cut
from gnomon.domain.json_value import Fields, Json
from gnomon.domain.messages import Message, ModelRequest
from gnomon.refiner.protocol import SchemaEdit

TARGET = "inner-loop-prompt.md"
"""Such a model edits this file alone: prose, by lines."""
PURPOSE = "refine"
REFLECTIONS = 4
TOLD_CHARACTERS = 400
"""Of each of the two reads: the embedded model reads about 100 tokens a second and has room for
4,096 (`models.embedded_host`)."""
LEAST_LINE, MOST_LINE = 24, 240
"""Characters of a line that may be rewritten."""
MOST_LINES = 8
"""Of these the first: a small model picks hardly better among more, and reads each."""
MAX_TOKENS = 300


def lines_of(text: str) -> tuple[str, ...]:
    """The lines that can be named: long enough to say something, and there exactly once."""
    lines = [line.strip() for line in text.splitlines()]
    fit = [line for line in lines if LEAST_LINE <= len(line) <= MOST_LINE and text.count(line) == 1]
    return tuple(fit[:MOST_LINES])


def request(prompt: str, reference: str, text: str, trajectory: str, fitness: str) -> ModelRequest:
    """One call that asks for a `SchemaEdit`. `prompt` are the words of `reference`."""
    lines = lines_of(text)
    told = "\n\n".join(
        (
            as_data("read_trajectory_window", middle_cut(trajectory, TOLD_CHARACTERS), None),
            as_data("read_fitness_ledger", middle_cut(fitness, TOLD_CHARACTERS), None),
            as_data("read_scaffold", "\n".join(lines), None),
        )
    )
    return ModelRequest(
        messages=(
            Message(role="system", content=prompt),
            Message(role="user", content=told),
        ),
        purpose=PURPOSE,
        temperature=0.4,
        max_tokens=MAX_TOKENS,
        prompt=reference,
        schema=schema(lines),
    )


def schema(lines: tuple[str, ...]) -> Fields:
    """Of a `SchemaEdit` whose `find` is one of these lines; any text where there are none."""
    _, components = msgspec.json.schema_components([SchemaEdit])
    record = cast("dict[str, Json]", components[SchemaEdit.__name__])
    record.pop("description", None)
    if lines:
        properties = dict(cast("Fields", record["properties"]))
        record["properties"] = {**properties, "find": {"enum": list(lines)}}
    return record
