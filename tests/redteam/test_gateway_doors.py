"""Other sites and other names try the gateway's doors (faults 49 and 50).

Each attack is tried as it is, and with its defence switched off, where it must succeed: so
that what keeps it out is what we say it is.
"""

from pathlib import Path

import aiohttp
import pytest

from gnomon.gateway import admit, authority
from gnomon.gateway.authority import digest
from gnomon.gateway.listen import listen
from gnomon.testing.operations import OPERATOR_TOKEN, PretendedHouse
from tests.live_kit import a_live_gateway

pytestmark = [pytest.mark.redteam, pytest.mark.timeout(30)]
KEY = {"Authorization": f"Bearer {OPERATOR_TOKEN}"}


async def attempt(method: str, path: str, given: dict[str, str], *, cookie: bool = False) -> int:
    """The status of a request with these headers; with `cookie`, from a signed-in browser."""
    house, headers = PretendedHouse(), dict(given)
    listener = await listen(house.wiring(), 0)
    jar = aiohttp.DummyCookieJar()
    try:
        async with aiohttp.ClientSession(cookie_jar=jar) as http:
            if cookie:
                link = house.authority.login_link(listener.url, house.clock.wall())
                async with http.get(link.url, allow_redirects=False) as answer:
                    [value] = answer.cookies.values()
                headers["Cookie"] = f"{value.key}={value.value}"
            body = {} if method == "POST" else None
            async with http.request(
                method, listener.url + path, json=body, headers=headers
            ) as answer:
                return answer.status
    finally:
        await listener.close()


async def test_a_rebound_name_gets_nothing():
    assert await attempt("GET", "/api/status.show", KEY | {"Host": "evil.example"}) == 403


async def test_without_the_host_check_a_rebound_name_gets_in(monkeypatch):
    monkeypatch.setattr(admit, "host_is_ours", lambda host, port: True)
    assert await attempt("GET", "/api/status.show", KEY | {"Host": "evil.example"}) == 200


FORGED = {"Origin": "http://127.0.0.1:3000", "Sec-Fetch-Site": "same-site"}


@pytest.mark.parametrize(("method", "path"), [("POST", "/api/kernel.pause"), ("GET", "/events")])
async def test_a_page_of_another_port_can_not_use_our_cookie(method, path, monkeypatch):
    assert await attempt(method, path, FORGED, cookie=True) == 403
    monkeypatch.setattr(admit, "fault_of_origin", lambda *asked, by_bearer: None)
    assert await attempt(method, path, FORGED, cookie=True) == 200, "with the defence off"


async def test_a_client_can_not_forge_the_operators_presence(monkeypatch):
    client = {"Authorization": "Bearer client-token-of-a-test"}
    assert await attempt("POST", "/api/presence.touch", client) == 403
    monkeypatch.setattr(authority.Authority, "scope", lambda *_: "operator")
    assert await attempt("POST", "/api/presence.touch", client) == 200, "with the defence off"


async def test_a_form_of_another_site_is_refused_by_its_type_too():
    house = PretendedHouse()
    listener = await listen(house.wiring(), 0)
    try:
        async with (
            aiohttp.ClientSession() as http,
            http.post(
                listener.url + "/api/kernel.pause", data={"for_seconds": "60"}, headers=KEY
            ) as answer,
        ):
            assert answer.status == 415
    finally:
        await listener.close()


ACTS = ("use", "dismiss", "read", "open", "resolve", "edit", "emit")
"""All that the inbox can be asked to do."""


async def test_a_clients_token_does_nothing_in_the_inbox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over real HTTP, before a real inbox: refused, and nothing is written."""
    async with a_live_gateway(tmp_path) as live:
        monkeypatch.setattr(live.authority, "client_of", {digest("a client's"): "client"}.get)
        document = await live.write_document("A brief")
        surface = await live.bring("A brief", "pending", document)
        own = live.core.home.operator_token.read_text().strip()
        ledger = live.core.agent.engagement_ledger
        before = ledger.read_bytes()

        async def posted(token: str, act: str) -> tuple[int, str]:
            asked = {"title": "x"} if act == "emit" else {"surface_id": surface}
            more = {"text": "x"} if act == "edit" else {}
            key = {"Authorization": f"Bearer {token}"}
            async with (
                aiohttp.ClientSession(live.listener.url, headers=key) as http,
                http.post(f"/api/inbox.{act}", json=asked | more) as answer,
            ):
                return answer.status, (await answer.json()).get("err", {}).get("code", "")

        for act in ACTS:
            assert await posted("a client's", act) == (403, "forbidden"), act
        assert ledger.read_bytes() == before
        assert [await posted(own, act) for act in ACTS] == [(200, "")] * len(ACTS)
