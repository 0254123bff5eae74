"""The inbox of a real daemon: the CLI, a browser's cookie, SIGTERM and SIGKILL."""

import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.daemon_kit import Daemon, House, RefusedError, a_house

pytestmark = [pytest.mark.system, pytest.mark.timeout(120)]


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    with a_house(tmp_path / "home") as made:
        yield made


def lines(house: House, kind: str) -> list[dict[str, Any]]:
    found = house.lines(house.agent.engagement_ledger)
    return [line for line in found if line["kind"] == kind]


def emit(house: House, title: str) -> str:
    return house.json("inbox", "emit", "--title", title, "--count")["surface_id"]


def request(
    daemon: Daemon, method: str, path: str, cookie: str = "", body: Any = None, **headers: str
) -> tuple[int, http.client.HTTPMessage, bytes]:
    where = urlsplit(daemon.ready["url"])
    connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=30)
    given = {"Cookie": cookie} if cookie else {}
    if body is not None:
        given["Content-Type"] = "application/json"
    try:
        text = None if body is None else json.dumps(body)
        connection.request(method, path, text, {**given, **headers})
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        connection.close()


def test_the_operator_answers_by_cli_and_by_browser(house: House) -> None:
    daemon = house.up()
    first, second, third = (emit(house, f"Item {n}") for n in range(3))
    assert house.json("inbox", "use", first)["source"] == "cli"
    assert house.json("inbox", "dismiss", second)["outcome"] == "acked"
    login = daemon.ready["login"].removeprefix(daemon.ready["url"])
    _, headers, _ = request(daemon, "GET", login)
    cookie = headers["Set-Cookie"].split(";")[0]
    given = {"surface_id": third}
    status, _, _ = request(daemon, "POST", "/api/inbox.use", cookie, given)
    assert status == 403, "a page of another site sends the cookie along, but not our origin"
    status, _, _ = request(
        daemon, "POST", "/api/inbox.use", cookie, given, Origin=daemon.ready["url"]
    )
    assert status == 200
    outcomes = {line["surface_id"]: line["source"] for line in lines(house, "outcome")}
    assert outcomes == {first: "cli", second: "cli", third: "dashboard_click"}
    listed = house.json("inbox", "list")
    assert [item["outcome"] for item in listed] == ["acted", "acked", "acted"]
    assert house.json("verify")["ok"] is True


def test_nobody_else_answers(house: House) -> None:
    daemon = house.up()
    item = emit(house, "Mine")
    bearer = {"Authorization": f"Bearer {daemon.token}"}
    status, _, _ = request(daemon, "GET", f"/api/inbox.use?surface_id={item}", **bearer)
    assert status == 405
    for token in ("", "wrong"):
        with pytest.raises(RefusedError) as refused:
            daemon.call("inbox.use", {"surface_id": item}, token=token)
        assert refused.value.status in (401, 403)
    for extra in ({"source": "dashboard_click"}, {"at": "2026-01-01T00:00:00Z"}):
        with pytest.raises(RefusedError):
            daemon.call("inbox.use", {"surface_id": item, **extra})
    with pytest.raises(RefusedError):
        daemon.call("inbox.use", {"surface_id": "sf-00"})
    assert lines(house, "outcome") == []


def test_an_orderly_stop_says_what_it_took_away_and_the_start_for_how_long(house: House) -> None:
    daemon = house.up()
    item = emit(house, "Soon gone")
    assert daemon.terminate() == 0
    (stopped,) = lines(house, "outcome")
    assert (stopped["outcome"], stopped["source"]) == ("system_unavailable", "gateway_shutdown")
    house.up()
    _, started = lines(house, "outcome")
    assert started["downtime_seconds"] >= 0
    assert started["alive_seconds"] == stopped["alive_seconds"]
    assert house.json("inbox", "use", item)["outcome"] == "acted"


def test_a_short_crash_leaves_items_open(house: House) -> None:
    daemon = house.up()
    item = emit(house, "Still there")
    daemon.kill()
    house.up()
    assert lines(house, "outcome") == []
    (listed,) = house.json("inbox", "list")
    assert (listed["surface_id"], listed["outcome"]) == (item, None)
    assert listed["open_until"] is not None


def test_the_inbox_answers_without_a_daemon_too(house: House) -> None:
    item = emit(house, "Before it runs")
    assert house.json("inbox", "dismiss", item)["source"] == "cli"
    assert house.json("inbox", "show", item)["item"]["outcome"] == "acked"
