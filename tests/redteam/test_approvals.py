"""Nobody but the operator decides a held action, and what is done is what was held. Each attack
is tried again with its defence switched off, where it must get through: the file is written then.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlencode

import aiohttp
import msgspec
import pytest

from gnomon.agent.outcome import Outcome
from gnomon.agent.places import HostArgument, places
from gnomon.agent.processes import Programs
from gnomon.agent.tool_host import run_tool
from gnomon.approvals import careful_files, execute, ruling
from gnomon.approvals.file_payload import digest
from gnomon.brokers import tool
from gnomon.brokers.tool_jail import start_tool_host
from gnomon.daemon.acts import Acts
from gnomon.daemon.change import approving
from gnomon.daemon.child import child_requests
from gnomon.daemon.child.child_requests import ChildRequests
from gnomon.daemon.operations import table
from gnomon.domain.errors import ConflictError, GnomonError, TrustError
from gnomon.domain.json_value import Fields
from gnomon.domain.messages import ToolCall
from gnomon.domain.policy import ROLES, Role
from gnomon.domain.records_change import Held
from gnomon.domain.views import Folder
from gnomon.gateway.authority import Authority
from gnomon.gateway.listen import listen
from gnomon.gateway.wiring import Wiring
from gnomon.trust import jail
from gnomon.trust.roles import TABLE
from tests.approval_kit import AFTER, BEFORE, Desk, at_the_desk
from tests.live_kit import LiveGateway, a_live_gateway
from tests.redteam.tally import tally
from tests.world_kit import CLI

pytestmark = [pytest.mark.redteam, pytest.mark.timeout(60)]
VERBS = ("approve", "edit", "reject", "redo", "undo", "forget")
DECIDED: Fields = {"approval_id": "", "decision": "approved", "through": "cli", "always": True}


# --- from inside: what a jailed role may ask over its pipe ---------------------------------------


def words(verb: str, name: str) -> dict[str, str]:
    """What a verb is asked with."""
    return {"id": name, "text": "forged\n"} if verb == "edit" else {"id": name}


async def asks(desk: Desk, role: Role, op: str, args: dict[str, Any]) -> bool:
    """Whether the gateway took it."""
    try:
        await ChildRequests(role, desk.gateway.core.services)(op, args, lambda _: None)
    except GnomonError:
        return False
    return True


def forged(name: str) -> dict[str, Any]:
    fields = {**DECIDED, "approval_id": name}
    return {"name": "approvals", "kind": "decided", "fields": fields, "id": None, "durable": True}


def test_no_process_decides_by_a_request_or_a_line_of_its_own(tmp_path: Path) -> None:
    started: list[Role] = [row.role for row in TABLE if row.starts]

    async def story(desk: Desk) -> None:
        name, taken, tried = await desk.held(), 0, 0
        for role in started:
            for op, args in (
                *((f"approvals.{verb}", words(verb, name)) for verb in VERBS),
                ("ledger.append", forged(name)),
                ("tool.run", {"run": "run-1", "call": {"id": "1", "name": "approve",
                                                       "arguments": "{}"}}),
            ):  # fmt: skip
                tried += 1
                taken += await asks(desk, role, op, cast("dict[str, Any]", args))
        await desk.gateway.core.approving.beat()
        assert (taken, desk.kinds(), desk.notes.read_text()) == (0, ["held"], BEFORE)
        tally("approvals", "requests", tried, taken)

    at_the_desk(tmp_path, story)


def test_without_the_table_of_authors_a_resident_decides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(desk: Desk) -> None:
        name = await desk.held()
        monkeypatch.setattr(child_requests, "check_append", lambda *_: None)
        assert await asks(desk, "resident", "ledger.append", forged(name))
        await desk.gateway.core.approving.beat()
        assert desk.notes.read_text() == AFTER

    at_the_desk(tmp_path, story)


def test_no_role_but_the_resident_even_has_something_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A probe among them: it asks for tools, and this is none that it gets."""

    async def asked(desk: Desk, role: Role) -> Outcome:
        text = msgspec.json.encode({"path": str(desk.notes), "content": AFTER}).decode()
        call = ToolCall(id="1", name="write", arguments=text)
        return await desk.gateway.core.tools.run(role, "run-1", "resident", call)

    async def story(desk: Desk) -> None:
        others: list[Role] = [role for role in ROLES if role != "resident"]
        for role in others:
            assert (await asked(desk, role)).error == "DENIED"
        assert desk.kinds() == []
        tally("approvals", "roles", len(others), 0)
        monkeypatch.setattr(
            tool, "policy", lambda _, action, __: "allow" if action[:5] == "tool:" else "hold"
        )
        assert (await asked(desk, "probe")).error == "HELD"

    at_the_desk(tmp_path, story)


def test_what_comes_in_by_no_door_decides_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An operation that something inside the gateway starts by itself: a job, a page's part."""

    async def story(desk: Desk) -> None:
        name = await desk.held()
        with pytest.raises(TrustError):
            await desk.gateway.ask("approvals.approve", None, id=name)
        assert desk.notes.read_text() == BEFORE
        tally("approvals", "no door", 1, 0)
        monkeypatch.setattr(approving, "operators_door", lambda: CLI)
        await desk.gateway.ask("approvals.approve", None, id=name)
        assert desk.notes.read_text() == AFTER

    at_the_desk(tmp_path, story)


# --- from outside: over loopback -----------------------------------------------------------------


@asynccontextmanager
async def held_live(root: Path) -> AsyncGenerator[tuple[LiveGateway, Path, str]]:
    """A real gateway with one write that waits."""
    data = root / "data"
    data.mkdir()
    notes = data / "notes.md"
    notes.write_text(BEFORE)
    async with a_live_gateway(root / "home") as live:
        live.core.folders.add(str(data))
        text = msgspec.json.encode({"path": str(notes), "content": AFTER}).decode()
        call = ToolCall(id="1", name="write", arguments=text)
        outcome = await live.core.tools.run("resident", "run-1", "resident", call)
        yield live, notes, outcome.text.split(": ")[1].split(".")[0]


def token(live: LiveGateway) -> str:
    return live.core.home.operator_token.read_text().strip()


async def status(url: str, method: str, path: str, **more: Any) -> int:
    async with (
        aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as http,
        http.request(method, url + path, **more) as answer,
    ):
        return answer.status


async def test_no_other_program_decides_over_loopback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client's token, a wrong one, none; a page of another port with our cookie."""
    async with held_live(tmp_path) as (live, notes, name):
        live.authority.client_of = lambda _: "client"
        url, tried = live.listener.url, 0
        cookie = await signed_in(live)
        other = {"Origin": "http://127.0.0.1:3000", "Sec-Fetch-Site": "same-site"}
        for verb in VERBS:
            for headers in (
                {"Authorization": "Bearer a-clients-token-of-forty-three-letters-0000"},
                {"Authorization": "Bearer wrong"},
                {},
                {**other, "Cookie": cookie},
                {"Cookie": cookie},
            ):
                tried += 1
                said = await status(
                    url, "POST", f"/api/approvals.{verb}", json=words(verb, name), headers=headers
                )
                assert said in (401, 403), (verb, headers)
        assert notes.read_text() == BEFORE
        tally("approvals", "loopback", tried, 0)
        monkeypatch.setattr(Authority, "scope", lambda *_: "operator")
        client = {"Authorization": "Bearer a-clients-token-of-forty-three-letters-0000"}
        assert (
            await status(url, "POST", "/api/approvals.approve", json={"id": name}, headers=client)
            == 200
        )
        assert notes.read_text() == AFTER


async def signed_in(live: LiveGateway) -> str:
    async with (
        aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as http,
        http.get(live.login(), allow_redirects=False) as answer,
    ):
        [value] = answer.cookies.values()
        return f"{value.key}={value.value}"


async def test_no_address_that_is_only_opened_decides(tmp_path: Path) -> None:
    """An image, a link, a prefetch: with the operator's own proof."""
    async with held_live(tmp_path) as (live, notes, name):
        key = {"Authorization": f"Bearer {token(live)}"}
        for verb in VERBS:
            path = f"/api/approvals.{verb}?{urlencode(words(verb, name))}"
            assert await status(live.listener.url, "GET", path, headers=key) == 405
        assert notes.read_text() == BEFORE
        tally("approvals", "opened", len(VERBS), 0)
        operations = dict(table(live.core, Acts(live.core)))
        approve = operations["approvals.approve"]
        operations["approvals.approve"] = replace(approve, reads=True)
        wiring = Wiring(operations, live.authority, live.core.stream, live.core.platform.clock)
        listener = await listen(wiring, 0)
        try:
            path = f"/api/approvals.approve?id={name}"
            assert await status(listener.url, "GET", path, headers=key) == 200
        finally:
            await listener.close()
        assert notes.read_text() == AFTER, "with the defence off"


async def test_the_operators_own_page_decides(tmp_path: Path) -> None:
    async with held_live(tmp_path) as (live, notes, name):
        headers = {"Cookie": await signed_in(live), "Origin": live.listener.url}
        said = await status(
            live.listener.url, "POST", "/api/approvals.approve", json={"id": name}, headers=headers
        )
        assert (said, notes.read_text()) == (200, AFTER)
        again = await status(
            live.listener.url, "POST", "/api/approvals.reject", json={"id": name}, headers=headers
        )
        assert again == 409


# --- with the agent's own tools ------------------------------------------------------------------


@pytest.mark.needs("jail-full")
async def test_no_program_of_a_tool_writes_there_or_into_the_ledger(tmp_path: Path) -> None:
    for name in ("workspace", "readable", "home"):
        (tmp_path / name).mkdir()
    notes, ledger = tmp_path / "readable/notes.md", tmp_path / "home/approvals.jsonl"
    notes.write_text(BEFORE)
    ledger.write_text("")
    attacks = {
        "shell": {"command": f"echo forged > {notes}"},
        "shell ": {"command": f"cp /dev/stdin {notes} <<< forged; mv {notes} {notes}.old"},
        "shell  ": {"command": f"echo forged >> {ledger}"},
        "shell   ": {"command": f"ln -sf {notes} n; echo forged > n"},
        "write": {"path": str(notes), "content": "forged"},
        "edit": {"path": str(notes), "old": "one", "new": "forged"},
    }
    argument = HostArgument(
        workspace=str(tmp_path / "workspace"),
        folders=(Folder(path=str(tmp_path / "readable"), writable=False),),
    )
    host = await start_tool_host(jail.start, argument)
    try:
        for name, given in attacks.items():
            asked = cast("Fields", {"name": name.strip(), "arguments": given})
            answer = msgspec.convert(await host.peer.call("tool", asked), Outcome)
            assert answer.error is not None, name
    finally:
        await host.stop(1)
    assert (notes.read_text(), ledger.read_text()) == (BEFORE, "")
    tally("approvals", "tools", len(attacks), 0)
    where = places(argument)  # with the jail off its programs get through
    for name, given in attacks.items():
        with contextlib.suppress(OSError):
            await run_tool(where, Programs(reaper=False), name.strip(), given)
    assert "forged" in ledger.read_text()
    assert "forged" in (tmp_path / "readable/notes.md.old").read_text()


# --- what is done is what was held ---------------------------------------------------------------


def test_an_approved_action_whose_target_changed_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(desk: Desk) -> None:
        refused, done = await desk.held(), await desk.held("evil\n")
        desk.notes.write_text("mine\n")
        with pytest.raises(ConflictError, match="changed since"):
            await desk.ask("approve", refused)
        assert desk.notes.read_text() == "mine\n"
        tally("approvals", "changed target", 1, 0)
        executor = desk.gateway.core.approving.executions.of("file.write")
        monkeypatch.setattr(execute, "ruling", lambda *_: None)
        monkeypatch.setattr(type(executor), "before", _nothing)
        monkeypatch.setattr(
            careful_files, "_expected", lambda *given: careful_files._seen(*given[:2])
        )
        await desk.ask("approve", done)
        assert desk.notes.read_text() == "evil\n"

    at_the_desk(tmp_path, story)


async def _nothing(*_: object) -> None:
    return None


def test_an_approved_action_whose_payload_changed_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if somebody had rewritten the ledger, chain and all."""

    async def tampered(desk: Desk, name: str) -> None:
        core = desk.gateway.core
        held = core.approving.held(core.approving.state().known(name))
        evil = {**held.payload, "content": "evil\n"}
        line = msgspec.structs.replace(held, approval_id=f"{name}-evil", payload=evil)
        assert isinstance(line, Held)
        await core.stores.append("approvals", line)

    async def story(desk: Desk) -> None:
        name = await desk.held()
        await tampered(desk, name)
        with pytest.raises(ConflictError, match="not what was held"):
            await desk.ask("approve", f"{name}-evil")
        assert desk.notes.read_text() == BEFORE
        tally("approvals", "changed payload", 1, 0)
        await tampered(desk, f"{name}-evil")
        monkeypatch.setattr(ruling, "_hindrance", lambda *_: None)
        await desk.ask("approve", f"{name}-evil-evil")
        assert desk.notes.read_text() == "evil\n"

    at_the_desk(tmp_path, story)


def test_what_is_shown_is_what_is_done(tmp_path: Path) -> None:
    """Signs that hide, reverse or overwrite are shown by their codes, or refused."""

    async def story(desk: Desk) -> None:
        sly = "safe\r-rm\u202e\x1b[2K\n"
        name = await desk.held(sly)
        shown = await desk.ask("show", name)
        assert shown.text == sly
        assert f"+{sly[:-1]}" in shown.diff.split("\n")
        await desk.ask("approve", name)
        assert desk.notes.read_bytes() == sly.encode()
        assert digest(desk.notes.read_bytes()) == sha256(sly.encode()).hexdigest()
        for evil in ("a\n+++ b", "a\u202eb", "a\x1b[2Jb"):
            refused = await desk.wants(path=str(desk.folder / evil), content="x")
            assert refused.error == "DENIED"

    at_the_desk(tmp_path, story)


def test_a_burst_of_writes_leaves_no_more_than_one_can_look_at(tmp_path: Path) -> None:
    async def story(desk: Desk) -> None:
        came = await asyncio.gather(
            *(desk.wants(path=str(desk.notes), content=f"{n}\n") for n in range(120))
        )
        assert [each.error for each in came].count("HELD") == 50
        assert len(await desk.views(pending=True, limit=500)) == 50

    at_the_desk(tmp_path, story)
