"""The document of the operations: made of the types that requests are read by."""

from typing import Any

from gnomon.gateway.openapi import openapi
from gnomon.testing.operations import PretendedGnomon


def test_every_operation_has_a_path_and_reading_ones_answer_both_ways():
    table = PretendedGnomon().table()
    paths: Any = openapi(table.values())["paths"]
    assert set(paths) == {"/api", "/api/openapi.json", *(f"/api/{name}" for name in table)}
    for name, operation in table.items():
        assert set(paths[f"/api/{name}"]) == ({"get", "post"} if operation.reads else {"post"})


def test_a_lists_query_parameter_may_come_more_than_once():
    paths: Any = openapi(PretendedGnomon().table().values())["paths"]
    lines = paths["/api/journal.tail"]["get"]["parameters"]
    assert [(each["name"], each["required"]) for each in lines] == [("lines", False)]
    assert lines[0]["schema"]["maximum"] == 1_000


def test_a_post_always_has_a_json_body_which_keeps_other_sites_forms_out():
    paths: Any = openapi(PretendedGnomon().table().values())["paths"]
    bodies = [path["post"]["requestBody"] for path in paths.values() if "post" in path]
    assert all(body["required"] and set(body["content"]) == {"application/json"} for body in bodies)


def test_every_reference_leads_to_a_schema():
    document: Any = openapi(PretendedGnomon().table().values())
    known = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}

    def references(value: Any) -> set[str]:
        match value:
            case {"$ref": str(reference), **rest}:
                return {reference} | references(rest)
            case dict():
                return set().union(*map(references, value.values()), set())
            case list() | tuple():
                return set().union(*map(references, value), set())
            case _:
                return set()

    assert references(document) <= known
    assert references(document)


def test_a_server_fault_is_never_a_documented_answer():
    paths: Any = openapi(PretendedGnomon().table().values())["paths"]
    codes = {code for path in paths.values() for way in path.values() for code in way["responses"]}
    assert "500" not in codes
    assert {"200", "400", "401", "403", "404", "409", "413", "415", "429", "503"} <= codes
