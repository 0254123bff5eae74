"""A held write behind a real daemon: asked for by a jailed agent, still there after a kill, decided
over the command line and by a signed-in browser.
"""

import json
from pathlib import Path

import pytest

from tests.daemon_kit import MODEL, RefusedError, StubThread, a_house, plays
from tests.system.test_inbox import request

pytestmark = [pytest.mark.system, pytest.mark.needs("jail-full"), pytest.mark.timeout(120)]

BEFORE = "# Notes\n\n- buy milk\n"
AFTER = "# Notes\n\n- buy oat milk\n"


def test_what_the_agent_may_not_write_waits_for_its_operator(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    notes, fresh = data / "notes.md", data / "new" / "list.md"
    notes.write_text(BEFORE)
    plan = [
        ("edit", {"path": str(notes), "old": "milk", "new": "oat milk"}),
        ("write", {"path": str(fresh), "content": "eggs\n"}),
        ("shell", {"command": f"echo forged >> {notes}; cat {notes}"}),
    ]
    with (
        StubThread(plays(plan, last="Both wait for you.")) as stub,
        a_house(tmp_path / "home", MODEL, stub.url) as house,
    ):
        house.json("folders", "add", str(data))
        daemon = house.up()
        reply = daemon.chat("Put oat milk on my list")
        assert reply["reply"] == "Both wait for you."
        told = json.dumps(stub.received[-1].body["messages"])
        assert told.count("Held for the operator: ap-") == 2
        assert (notes.read_text(), fresh.exists()) == (BEFORE, False)
        daemon.kill()

        daemon = house.up()
        waiting = house.json("approvals", "list", "--pending")
        assert [each["target"] for each in waiting] == [str(notes), str(fresh)]
        assert {each["session"] for each in waiting} == {reply["session"]}
        first, second = (each["id"] for each in waiting)
        assert house.json("approvals", "approve", first)["approval"]["status"] == "executed"
        assert notes.read_text() == AFTER
        again = house.json("approvals", "reject", first, code=1)["error"]
        assert (again["code"], again["facts"]["decided_by"]) == (
            "conflict",
            "you, through the CLI",
        )
        with pytest.raises(RefusedError) as refused:
            daemon.call("approvals.approve", {"id": second}, token="wrong")
        assert refused.value.status == 401

        login = daemon.ready["login"].removeprefix(daemon.ready["url"])
        _, headers, _ = request(daemon, "GET", login)
        cookie = headers["Set-Cookie"].split(";")[0]
        said, _, page = request(
            daemon, "GET", f"/part/chat-held?session={reply['session']}", cookie
        )
        assert (said, second in page.decode()) == (200, True)
        given = {"id": second, "always": True}
        said, _, _ = request(
            daemon, "POST", "/api/approvals.approve", cookie, given, Origin=daemon.ready["url"]
        )
        assert (said, fresh.read_text()) == (200, "eggs\n")
        assert daemon.terminate() == 0

        assert house.json("approvals", "undo", first)["approval"]["status"] == "undone"
        assert notes.read_text() == BEFORE
        assert house.json("verify")["ok"] is True
        assert [line["kind"] for line in house.lines(house.agent.approvals)] == [
            "held", "held", "decided", "executed", "decided", "executed", "undone",
        ]  # fmt: skip
