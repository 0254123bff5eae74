"""Checking what a model wrote as a tool's arguments, before anything runs.

A built-in tool's arguments are a typed struct, and msgspec decodes them in a microsecond. A
foreign tool (an MCP server's) comes with a JSON Schema alone; jsonschema checks that, and is
imported when the first one is met.
"""

from collections.abc import Callable
from typing import Any, cast

import msgspec

from gnomon.agent.tool_specs import ARGUMENTS, built_in
from gnomon.domain.errors import UsageError
from gnomon.domain.json_value import Fields
from gnomon.domain.messages import ToolSpec

Check = Callable[[str], Fields]
"""Takes the raw JSON text; answers the arguments, or raises BadArgumentsError."""

REASON_LIMIT = 500
"""Characters of a reason that the model is told."""


class BadArgumentsError(UsageError):
    """What the model wrote cannot be the arguments of this tool. Facts: `tool`, `reason`."""

    code = "INVALID_ARGUMENTS"


def check_for(spec: ToolSpec) -> Check:
    """The check of one tool, made once a run."""
    typed = ARGUMENTS.get(spec.name)
    if typed is not None and built_in()[spec.name] == spec:
        return _typed_check(spec.name, typed)
    return _schema_check(spec)


def _object(tool: str, text: str) -> Fields:
    try:
        return cast(Fields, msgspec.json.decode(text or "{}", type=dict[str, object]))
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
        raise _bad(tool, f"not a JSON object: {error}") from error


def _typed_check(tool: str, typed: type[msgspec.Struct]) -> Check:
    def check(text: str) -> Fields:
        given = _object(tool, text)
        try:
            # Lax: small models write numbers as strings; the meaning is not in doubt.
            decoded = msgspec.convert(given, typed, strict=False)
        except msgspec.ValidationError as error:
            raise _bad(tool, str(error)) from error
        return cast(Fields, msgspec.to_builtins(decoded))

    return check


def _schema_check(spec: ToolSpec) -> Check:
    from jsonschema import Draft202012Validator

    validator = Draft202012Validator(cast(dict[str, Any], spec.parameters))

    def check(text: str) -> Fields:
        given = _object(spec.name, text)
        # The package's types name its own JSON; any decoded object is one.
        fault = next(validator.iter_errors(cast(Any, given)), None)  # pyright: ignore[reportUnknownMemberType]
        if fault is not None:
            raise _bad(spec.name, f"{fault.json_path}: {fault.message}")
        return given

    return check


def _bad(tool: str, reason: str) -> BadArgumentsError:
    reason = reason[:REASON_LIMIT]
    return BadArgumentsError(
        f"The arguments of {tool} cannot be used: {reason}.",
        next_step="Call it again with arguments that fit its schema.",
        tool=tool,
        reason=reason,
    )
