"""Scripts that play a part for as long as they are asked, from what the messages say."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from gnomon.testing.openai_behaviours import Behaviour, Turn, ask_tools, say

AGENT_PLAN: tuple[tuple[str, Mapping[str, Any]], ...] = (
    ("write", {"path": "notes/hello.txt", "content": "hello from the stub\n"}),
    ("edit", {"path": "notes/hello.txt", "old": "hello", "new": "good day"}),
    (
        "shell",
        {
            "command": "git init -q . && git add -A && git -c user.name=stub "
            "-c user.email=stub@example.invalid commit -q -m 'Say good day' && git log --oneline"
        },
    ),
    ("shell", {"command": "cat notes/hello.txt && echo shell-$((40 + 2))"}),
)
"""What the agent script does in one turn; then it answers with what the last tool said."""


async def agent(turn: Turn) -> None:
    """Play an agent: create a file, edit it, run git and a command, then answer.

    Where a turn stands is read from the messages alone, so any number of conversations go
    on at once. A request for a schema gets the smallest value that fits it.
    """
    schema = requested_schema(turn.request.body)
    if schema is not None:
        text = msgspec.json.encode(example_of(schema)).decode()
        await say(text, tokens=(60, 30))(turn)
        return
    results = _results_of_this_turn(turn.request.messages)
    granted = {tool["function"]["name"] for tool in turn.request.body.get("tools", ())}
    plan = [call for call in AGENT_PLAN if call[0] in granted]
    if len(results) < len(plan):
        call = plan[len(results)]
        await ask_tools(call, first_id=f"call_{len(results) + 1}")(turn)
        return
    last = str(results[-1].get("content", "")) if results else "nothing to do"
    await say(f"Done in {len(results)} steps. The last said: {last}")(turn)


def repeat_tool(name: str, arguments: Mapping[str, Any]) -> Behaviour:
    """Ask for the same tool call for ever."""

    async def behave(turn: Turn) -> None:
        schema = requested_schema(turn.request.body)
        if schema is not None:
            await say(msgspec.json.encode(example_of(schema)).decode())(turn)
        else:
            number = len(_results_of_this_turn(turn.request.messages))
            await ask_tools((name, arguments), first_id=f"call_{number}")(turn)

    return behave


def _results_of_this_turn(messages: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    results: list[Mapping[str, Any]] = []
    for message in messages:
        if message.get("role") == "user":
            results = []
        elif message.get("role") == "tool":
            results.append(message)
    return results


def requested_schema(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The JSON Schema of a request's `response_format`, if it has one."""
    wanted: Any = body.get("response_format") or {}
    named: Any = wanted.get("json_schema") or {}
    return named.get("schema")


def example_of(schema: Mapping[str, Any], root: Mapping[str, Any] | None = None) -> Any:
    """A small value that fits a plain schema (objects, lists, strings, numbers, enums).

    `root` is where references lead (`#/$defs/Name`); the schema itself if null.
    """
    root = schema if root is None else root
    if "$ref" in schema:
        return example_of(root["$defs"][schema["$ref"].rpartition("/")[2]], root)
    choices: Any = schema.get("anyOf") or schema.get("oneOf")
    if choices:
        return example_of(choices[0], root)
    if "enum" in schema:
        return schema["enum"][0]
    kind: Any = schema.get("type")
    first: str = kind if isinstance(kind, str) else next(iter(kind or ("null",)))
    match first:
        case "object":
            properties: Mapping[str, Mapping[str, Any]] = schema.get("properties", {})
            required: Sequence[str] = schema.get("required", ())
            return {name: example_of(properties[name], root) for name in required}
        case "array":
            return [example_of(schema["items"], root) for _ in range(schema.get("minItems", 0))]
        case "string":
            return "stub"[: schema.get("maxLength", 4)].ljust(schema.get("minLength", 0), "x")
        case _:
            return {"integer": 0, "number": 0, "boolean": False}.get(first)
