"""The OpenAPI 3.1 document of the table of operations. Pure.

It is made of the same types that a request is read by and an answer written from, so it can
say nothing else than what is done. A fuzzer holds it to that (tests/system/test_openapi.py).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from gnomon import __version__
from gnomon.domain.json_value import Fields
from gnomon.gateway.answer import Refusal
from gnomon.gateway.operation import Operation

REFS = "#/components/schemas/{name}"
JSON = "application/json"
NDJSON = "application/x-ndjson"


class Failed(msgspec.Struct, frozen=True, kw_only=True):
    """The body of every answer that is no success."""

    err: Refusal


class Described(msgspec.Struct, frozen=True, kw_only=True):
    """An operation as `GET /api` lists it; `arguments` is a JSON Schema."""

    name: str
    summary: str
    method: str
    authority: str
    arguments: Fields


ALWAYS: Mapping[str, str] = {
    "400": "The arguments are not what the operation takes, or name what cannot be.",
    "401": "Nobody in particular asked.",
    "403": "From elsewhere, by a scope that is too small, or not granted.",
    "404": "There is nothing of that name.",
    "409": "It needs the operator, is paused, locked or was called off.",
    "429": "A budget or a rate is used up.",
    "502": "The model's side answered, and not usably.",
    "503": "A part that is needed is not there just now.",
    "504": "The model did not answer in time.",
}
"""What any operation may answer besides its success. 500 is not among them: it is a fault."""
OF_A_BODY: Mapping[str, str] = {
    "413": "The body is larger than 1 MiB.",
    "415": "The body is not declared as JSON.",
}


def openapi(operations: Iterable[Operation]) -> Fields:
    """The whole document. Operations that read answer GET and POST, the others POST alone."""
    table = sorted(operations, key=lambda each: each.name)
    types: list[Any] = [Failed, list[Described]]
    for each in table:
        types += [each.arguments, each.result]
    schemas, components = msgspec.json.schema_components(types, ref_template=REFS)
    failed, listed, *rest = schemas
    pairs = list(zip(table, rest[::2], rest[1::2], strict=True))
    paths: dict[str, Any] = {
        "/api": {"get": _of_the_table("table", "Every operation", listed, failed)},
        "/api/openapi.json": {
            "get": _of_the_table("openapi", "This document", {"type": "object"}, failed)
        },
    }
    for each, arguments, result in pairs:
        paths[f"/api/{each.name}"] = _path(
            each, _resolved(arguments, components), arguments, result, failed
        )
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Gnomon",
            "version": __version__,
            "description": (
                "What a Gnomon on this machine can be asked. Reading is GET, acting is POST; "
                "every operation is also a verb of the command line."
            ),
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": {name: components[name] for name in sorted(components)},
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "The operator's token (a 0600 file of the home) or a client's. "
                    "A browser has a cookie instead, from a one-time link.",
                }
            },
        },
    }


def _path(
    operation: Operation, shape: Fields, arguments: Fields, result: Fields, failed: Fields
) -> Fields:
    found: dict[str, Any] = {
        "post": {
            "operationId": f"{operation.name}.post" if operation.reads else operation.name,
            **_words(operation),
            "requestBody": {"required": True, "content": {JSON: {"schema": arguments}}},
            "responses": _responses(result, failed, {**ALWAYS, **OF_A_BODY}),
        }
    }
    if operation.reads:
        found["get"] = {
            "operationId": operation.name,
            **_words(operation),
            "parameters": _parameters(shape),
            "responses": _responses(result, failed, ALWAYS),
        }
    return found


def _words(operation: Operation) -> Fields:
    noun = operation.name.partition(".")[0]
    return {
        "tags": [noun],
        "summary": operation.summary,
        "description": f"Least authority: {operation.authority}.",
    }


def _of_the_table(name: str, summary: str, result: Fields, failed: Fields) -> Fields:
    kept = {code: text for code, text in ALWAYS.items() if code in {"401", "403", "429"}}
    answers = _responses(result, failed, kept, streams=False)
    return {"operationId": name, "tags": ["api"], "summary": summary, "responses": answers}


def _parameters(shape: Fields) -> Sequence[Fields]:
    """A field of the arguments is a query parameter; a list's comes once for each item."""
    required = _strings(shape.get("required"))
    properties = shape.get("properties")
    assert isinstance(properties, Mapping)
    return [
        {
            "name": name,
            "in": "query",
            "required": name in required,
            "schema": schema,
            **({"style": "form", "explode": True} if _is_list(schema) else {}),
        }
        for name, schema in properties.items()
    ]


def _responses(
    result: Fields, failed: Fields, codes: Mapping[str, str], *, streams: bool = True
) -> Fields:
    content: dict[str, Any] = {JSON: {"schema": result}}
    if streams:
        content[NDJSON] = {
            "schema": {
                "type": "string",
                "description": "Asked for by Accept: lines of `part`, then one `ok` or `err`.",
            }
        }
    refusals = {
        code: {"description": text, "content": {JSON: {"schema": failed}}}
        for code, text in codes.items()
    }
    return {"200": {"description": "It was done.", "content": content}, **refusals}


def _resolved(schema: Fields, components: Mapping[str, Any]) -> Fields:
    reference = schema.get("$ref")
    if not isinstance(reference, str):
        return schema
    return components[reference.rpartition("/")[2]]


def _is_list(schema: object) -> bool:
    match schema:
        case {"type": "array"}:
            return True
        case _:
            return False


def _strings(value: object) -> frozenset[str]:
    return frozenset(map(str, value)) if isinstance(value, list) else frozenset()  # pyright: ignore[reportUnknownArgumentType]
