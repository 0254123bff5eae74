"""A fuzzer reads the OpenAPI document of a real daemon and holds the daemon to it.

Each operation is asked what its schema allows and what it does not. No answer may be a fault
of the server, of a status or a type that the document does not name, or of another shape.
"""

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import checks

from tests.daemon_kit import Daemon, a_house

pytestmark = [pytest.mark.system, pytest.mark.timeout(180)]

EXAMPLES = 10
NOT_FUZZED = {
    "kernel.stop": "it would end what is fuzzed",
    "history.import": "it may be pointed at the whole disk",
    "demo.open": "it lives a month in a process of its own; tests/system/test_demo.py asks it",
    "model.fetch": "it copies 100 MB, each time",
    "chat.turn": "each turn starts processes; tests/stages/test_gateway_http.py fuzzes its door",
}
CHECKS = [
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
]


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    folder = tmp_path_factory.mktemp("fuzzed")
    with a_house(folder / "home") as house:
        house.environ["HOME"] = str(folder)
        running = house.up()
        for title in ("one", "two"):
            running.call("inbox.emit", {"title": title})
        yield running
        assert running.terminate() == 0
        assert "Traceback" not in running.said()


@pytest.fixture(scope="module")
def schema(daemon: Daemon) -> Any:
    return schemathesis.openapi.from_url(
        daemon.ready["url"] + "/api/openapi.json", headers=proof(daemon)
    )


def proof(daemon: Daemon) -> dict[str, str]:
    return {"Authorization": f"Bearer {daemon.token}"}


def fuzzed(schema: Any) -> Iterator[Any]:
    for found in schema.get_all_operations():
        operation = found.ok()
        if operation.path.removeprefix("/api/") not in NOT_FUZZED:
            yield operation


@pytest.mark.parametrize("mode", list(schemathesis.GenerationMode), ids=lambda mode: mode.value)
def test_the_document_is_true_of_whatever_is_asked(
    daemon: Daemon, schema: Any, mode: schemathesis.GenerationMode
):
    asked: dict[str, set[int]] = {}
    for operation in fuzzed(schema):
        hold(daemon, operation, mode, asked.setdefault(operation.label, set()))
    assert len(asked) > 40
    statuses = set().union(*asked.values())
    assert 200 in statuses
    assert 400 in statuses


def hold(daemon: Daemon, operation: Any, mode: Any, statuses: set[int]) -> None:
    """Ask it again and again; each answer must be one that the document allows."""

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def each(case: Any) -> None:
        response = case.call(base_url=daemon.ready["url"], headers=proof(daemon), timeout=30)
        statuses.add(response.status_code)
        case.validate_response(response, checks=CHECKS, headers=proof(daemon))

    each()


def test_nobody_in_particular_is_told_nothing(daemon: Daemon, schema: Any):
    for operation in fuzzed(schema):
        response = operation.Case().call(base_url=daemon.ready["url"])
        assert response.status_code in {401, 403}, operation.label
