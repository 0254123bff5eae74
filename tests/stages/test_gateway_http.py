"""The gateway's doors over real HTTP, with a pretended Gnomon behind them."""

import asyncio
import io
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import aiohttp
import msgspec
import pytest

from gnomon.domain.errors import NoModelError, UsageError
from gnomon.domain.instants import DAY, MINUTE, SECOND
from gnomon.domain.views_history import Report
from gnomon.gateway.authority import MAX_FAILURES
from gnomon.gateway.listen import Listener, listen
from gnomon.gateway.operation import Nothing, Operation
from gnomon.testing.held_cards import some_approvals
from gnomon.testing.operations import CLIENT_TOKEN, OPERATOR_TOKEN, PretendedHouse
from gnomon.testing.referee import some_items

BOUND = 5
OPERATOR = {"Authorization": f"Bearer {OPERATOR_TOKEN}"}
CLIENT = {"Authorization": f"Bearer {CLIENT_TOKEN}"}
STREAMS = {"Accept": "application/x-ndjson"}


@dataclass
class Served:
    house: PretendedHouse
    listener: Listener
    http: aiohttp.ClientSession

    @property
    def url(self) -> str:
        return self.listener.url

    async def get(self, path: str, **headers: str) -> tuple[int, Any]:
        async with self.http.get(self.url + path, headers=OPERATOR | headers) as answer:
            return answer.status, await answer.json(content_type=None)

    async def post(self, path: str, body: object = None, **options: Any) -> tuple[int, Any]:
        headers = options.get("headers", OPERATOR)
        async with self.http.post(self.url + path, json=body, headers=headers) as answer:
            return answer.status, await answer.json(content_type=None)

    async def sign_in(self) -> str:
        """A session's cookie, as a `Cookie` header."""
        link = self.house.authority.login_link(self.url, self.house.clock.wall())
        async with self.http.get(link.url, allow_redirects=False) as answer:
            assert answer.status == 303
            cookie = answer.cookies[self.house.authority.cookie_name]
        return f"{cookie.key}={cookie.value}"


@pytest.fixture
async def served() -> AsyncIterator[Served]:
    house = PretendedHouse()
    jar = aiohttp.DummyCookieJar()
    async with asyncio.timeout(30), aiohttp.ClientSession(cookie_jar=jar) as http:
        made = Served(house, await listen(house.wiring(), 0), http)
        try:
            yield made
        finally:
            await made.listener.close()


# --- operations --------------------------------------------------------------------------------


async def test_a_reading_operation_answers_its_view(served: Served):
    status, body = await served.get("/api/status.show")
    assert status == 200
    assert body["model"]["kind"] == "demo"


async def test_an_acting_operation_is_asked_by_post_alone(served: Served):
    status, body = await served.get("/api/kernel.resume")
    assert (status, body["err"]["code"]) == (405, "method")
    assert await served.post("/api/kernel.resume", {}) == (200, {"detail": "resumed"})


async def test_the_table_of_operations_is_served_with_their_arguments(served: Served):
    status, table = await served.get("/api")
    assert status == 200
    rows = {row["name"]: row for row in table}
    assert rows["status.show"]["method"] == "GET"
    assert rows["chat.turn"]["method"] == "POST"
    assert "text" in json.dumps(rows["chat.turn"]["arguments"])


async def test_the_openapi_document_is_served_beside_the_operations(served: Served):
    status, document = await served.get("/api/openapi.json")
    assert (status, document["openapi"]) == (200, "3.1.0")
    assert "/api/chat.turn" in document["paths"]


@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [
        ("/api/nothing.here", {}, 404, "not-found"),
        ("/api/chat.turn", {"text": 5}, 400, "usage"),
        ("/api/chat.turn", {}, 400, "usage"),
        ("/api/chat.turn", {"text": "x", "session": "../../etc"}, 400, "usage"),
        ("/api/chat.turn", {"text": "x", "sesion": "a"}, 400, "usage"),
        ("/api/chat.turn", [], 400, "usage"),
    ],
)
async def test_a_wrong_request_is_refused_in_words(served: Served, path, body, status, code):
    got, answer = await served.post(path, body)
    assert (got, answer["err"]["code"]) == (status, code)
    assert answer["err"]["message"]
    assert served.house.gnomon.called("chat.turn") == []


async def test_a_body_over_the_bound_is_refused_unread(served: Served):
    body = io.BytesIO(b'{"text": "' + b"x" * (1 << 20) + b'"}')
    headers = OPERATOR | {"Content-Type": "application/json"}
    async with served.http.post(
        served.url + "/api/chat.turn", data=body, headers=headers
    ) as answer:
        assert answer.status == 413
        assert (await answer.json())["err"]["code"] == "too-large"


async def test_a_body_of_another_type_is_refused(served: Served):
    headers = OPERATOR | {"Content-Type": "text/plain"}
    async with served.http.post(
        served.url + "/api/kernel.pause", data=b"{}", headers=headers
    ) as got:
        assert got.status == 415
    assert served.house.gnomon.called("kernel.pause") == []


async def test_a_foreseen_failure_keeps_its_code_and_next_step(served: Served):
    served.house.gnomon.failing["chat.turn"] = NoModelError("No model.", next_step="Choose one.")
    status, answer = await served.post("/api/chat.turn", {"text": "hi"})
    assert status == 503
    assert answer["err"] == {
        "code": "no-model",
        "message": "No model.",
        "next_step": "Choose one.",
        "facts": {},
    }


async def test_an_unforeseen_failure_is_logged_and_gives_nothing_away(served: Served, caplog):
    served.house.gnomon.failing["status.show"] = RuntimeError("the secret path")
    status, answer = await served.get("/api/status.show")
    assert (status, answer["err"]["code"]) == (500, "internal")
    assert "secret" not in json.dumps(answer)
    assert "the secret path" in caplog.text


# --- streams -----------------------------------------------------------------------------------


async def test_parts_come_as_lines_while_the_operation_runs(served: Served):
    gnomon = served.house.gnomon
    gnomon.gate.clear()
    async with served.http.post(
        served.url + "/api/chat.turn", json={"text": "hi"}, headers=OPERATOR | STREAMS
    ) as answer:
        assert answer.content_type == "application/x-ndjson"
        first = json.loads(await asyncio.wait_for(answer.content.readline(), BOUND))
        assert first["part"]["event"]["step"] == "recall"
        gnomon.gate.set()
        rest = [json.loads(line) async for line in answer.content]
    assert [line["part"]["text"] for line in rest[:-1]] == list(gnomon.reply_pieces)
    assert rest[-1]["ok"]["session"] == "s-1"


async def test_a_failure_in_a_stream_is_its_last_line(served: Served):
    served.house.gnomon.failing["chat.turn"] = UsageError("No.", next_step="Ask better.")
    headers = OPERATOR | STREAMS
    async with served.http.post(
        served.url + "/api/chat.turn", json={"text": "hi"}, headers=headers
    ) as answer:
        lines = [json.loads(line) async for line in answer.content]
    assert lines[-1]["err"]["code"] == "usage"
    served.house.gnomon.failing["chat.turn"] = RuntimeError("the secret path")
    async with served.http.post(
        served.url + "/api/chat.turn", json={"text": "hi"}, headers=headers
    ) as answer:
        assert "secret" not in await answer.text()


@pytest.mark.parametrize("accept", [STREAMS, {}])
async def test_a_caller_that_goes_away_calls_its_operation_off(served: Served, accept):
    gnomon = served.house.gnomon
    gnomon.gate.clear()
    asking = asyncio.create_task(
        served.post("/api/chat.turn", {"text": "hi"}, headers=OPERATOR | accept)
    )
    await asyncio.wait_for(gnomon.under_way.wait(), BOUND)
    asking.cancel()
    await asyncio.wait_for(gnomon.settled.wait(), BOUND)
    assert gnomon.cancelled == ["chat.turn"]


async def import_and_leave(served: Served, headers) -> None:
    """Ask for an import and go away while it runs."""
    gnomon = served.house.gnomon
    gnomon.gate.clear()
    asking = asyncio.create_task(
        served.post("/api/history.import", {"sources": ["codex"]}, headers=headers)
    )
    await asyncio.wait_for(gnomon.under_way.wait(), BOUND)
    asking.cancel()
    await asyncio.wait({asking})


@pytest.mark.parametrize("accept", [STREAMS, {}])
async def test_an_import_goes_on_when_its_page_is_left(served: Served, accept):
    page_headers = {"Cookie": await served.sign_in(), "Origin": served.url}
    await import_and_leave(served, page_headers | accept)
    served.house.gnomon.gate.set()
    await asyncio.wait_for(served.house.gnomon.settled.wait(), BOUND)
    assert served.house.gnomon.cancelled == []


async def test_an_import_ends_with_the_command_that_asked_for_it(served: Served):
    await import_and_leave(served, OPERATOR | STREAMS)
    await asyncio.wait_for(served.house.gnomon.settled.wait(), BOUND)
    assert served.house.gnomon.cancelled == ["history.import"]


async def test_an_operation_that_must_be_finished_outlives_its_caller():
    begun, gate, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def finish(arguments, progress):
        begun.set()
        await gate.wait()
        ended.set()
        return "done"

    operation = Operation("test.finish", "", Nothing, str, finish, cancellable=False)
    listener = await listen(PretendedHouse().wiring(**{"test.finish": operation}), 0)
    try:
        async with asyncio.timeout(BOUND), aiohttp.ClientSession() as http:
            asking = asyncio.create_task(
                http.post(listener.url + "/api/test.finish", json={}, headers=OPERATOR)  # pyright: ignore[reportArgumentType]
            )
            await begun.wait()
            asking.cancel()
            await asyncio.wait({asking})
            gate.set()
            await ended.wait()
    finally:
        await listener.close()


async def test_a_flood_of_parts_that_nobody_takes_stays_bounded():
    """The parts are dropped past the bound; the result still arrives."""

    async def flood(arguments, progress):
        for n in range(50_000):
            progress({"n": n})
        return "done"

    house = PretendedHouse()
    operation = Operation("test.flood", "", Nothing, str, flood)
    listener = await listen(house.wiring(**{"test.flood": operation}), 0)
    try:
        async with (
            asyncio.timeout(30),
            aiohttp.ClientSession() as http,
            http.post(
                listener.url + "/api/test.flood", json={}, headers=OPERATOR | STREAMS
            ) as answer,
        ):
            lines = (await answer.read()).splitlines()
    finally:
        await listener.close()
    assert json.loads(lines[-1]) == {"ok": "done"}
    assert len(lines) <= 10_001


# --- who may ask -------------------------------------------------------------------------------

PATHS = ("/", "/report", "/trust", "/part/now", "/api", "/api/status.show", "/events")


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "proof",
    [
        {},
        {"Authorization": "Bearer wrong"},
        {"Authorization": "Basic b3BlcmF0b3I6"},
        {"Authorization": ""},
        {"Cookie": "gnomon-00000000=made-up"},
        {"Cookie": "session=made-up"},
    ],
)
async def test_without_a_proof_nothing_is_served(served: Served, path: str, proof):
    async with served.http.get(served.url + path, headers=proof) as answer:
        assert answer.status in ({401, 403} if path == "/events" else {401})
        assert "err" in await answer.json()
    assert served.house.gnomon.calls == []


async def test_a_client_may_ask_what_its_scope_names_and_nothing_else(served: Served):
    async def status_of(method: str, path: str) -> int:
        async with served.http.request(
            method,
            served.url + path,
            headers=CLIENT,
            json={"text": "x"} if method == "POST" else None,
        ) as answer:
            return answer.status

    assert await status_of("GET", "/api/status.show") == 200
    for path in ("/", "/part/now", "/events", "/api", "/api/trust.doctor", "/api/nothing.here"):
        assert await status_of("GET", path) == 403, path
    for name in ("presence.touch", "cards.hide", "chat.turn", "folders.add"):
        assert await status_of("POST", f"/api/{name}") == 403, name
    assert [name for name, _ in served.house.gnomon.calls] == ["status.show"]


@pytest.mark.parametrize("path", ["/", "/static/gnomon.css", "/api/status.show", "/login?t=x"])
@pytest.mark.parametrize("host", ["evil.example", "evil.example:{port}", "127.0.0.1", ""])
async def test_a_rebound_name_is_refused_even_with_the_key(served: Served, path, host):
    """Fault 49: DNS rebinding."""
    headers = OPERATOR | {"Host": host.format(port=served.listener.port)}
    async with served.http.get(served.url + path, headers=headers) as answer:
        assert answer.status in {400, 403}
    assert served.house.gnomon.calls == []


async def test_our_own_names_are_served(served: Served):
    for name in ("localhost", "127.0.0.1", "[::1]"):
        host = f"{name}:{served.listener.port}"
        assert (await served.get("/api/status.show", Host=host))[0] == 200


@pytest.mark.parametrize(
    ("origin", "site", "status"),
    [
        ("{url}", "same-origin", 200),
        ("{url}", None, 200),
        (None, "same-origin", 200),
        (None, None, 403),
        ("null", None, 403),
        ("http://evil.example", "cross-site", 403),
        ("http://127.0.0.1:3000", "same-site", 403),
        ("http://localhost.evil.example", None, 403),
        (None, "same-site", 403),
    ],
)
async def test_a_cookie_acts_and_listens_for_our_own_pages_alone(
    served: Served, origin, site, status
):
    """Fault 50: CSRF, cross-origin event streams."""
    headers = {"Cookie": await served.sign_in()}
    headers |= {"Origin": origin.format(url=served.url)} if origin else {}
    headers |= {"Sec-Fetch-Site": site} if site else {}
    assert (await served.post("/api/kernel.pause", {}, headers=headers))[0] == status
    async with served.http.get(served.url + "/events", headers=headers) as answer:
        assert answer.status == status
    assert len(served.house.gnomon.called("kernel.pause")) == (1 if status == 200 else 0)


async def test_a_page_of_another_server_on_this_machine_reads_nothing(served: Served):
    """To a browser it is the same site, and it sends our cookie along."""
    headers = {"Cookie": await served.sign_in(), "Sec-Fetch-Site": "same-site"}
    async with served.http.get(served.url + "/api/status.show", headers=headers) as answer:
        assert answer.status == 403


async def test_a_link_from_anywhere_may_open_a_page(served: Served):
    headers = {
        "Cookie": await served.sign_in(),
        "Sec-Fetch-Site": "cross-site",
        "Sec-Fetch-Mode": "navigate",
    }
    async with served.http.get(served.url + "/", headers=headers) as answer:
        assert answer.status == 200


async def test_a_login_link_opens_one_session_and_leaves_no_token_in_the_address(served: Served):
    link = served.house.authority.login_link(served.url, served.house.clock.wall())
    async with served.http.get(link.url, allow_redirects=False) as answer:
        assert (answer.status, answer.headers["Location"]) == (303, "/")
        said = answer.headers["Set-Cookie"]
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(said.split("; "))
    async with served.http.get(link.url, allow_redirects=False) as answer:
        assert answer.status == 401
        assert "Set-Cookie" not in answer.headers
        assert "used already" in await answer.text()


async def test_a_browser_that_is_in_goes_on_whatever_its_link(served: Served):
    headers = {"Cookie": await served.sign_in()}
    async with served.http.get(
        served.url + "/login?t=spent", headers=headers, allow_redirects=False
    ) as answer:
        assert answer.status == 303


async def test_looking_ahead_does_not_spend_a_link(served: Served):
    link = served.house.authority.login_link(served.url, served.house.clock.wall())
    headers = {"Sec-Purpose": "prefetch;prerender"}
    async with served.http.get(link.url, headers=headers) as answer:
        assert answer.status == 503
    async with served.http.get(link.url, allow_redirects=False) as answer:
        assert answer.status == 303


async def test_an_old_link_is_void(served: Served):
    link = served.house.authority.login_link(served.url, served.house.clock.wall())
    served.house.clock.advance(10 * MINUTE / SECOND)
    async with served.http.get(link.url, allow_redirects=False) as answer:
        assert answer.status == 401


async def test_a_tab_works_on_after_a_restart(served: Served):
    headers = {"Cookie": await served.sign_in()}
    port = served.listener.port
    await served.listener.close()
    served.house.authority = served.house.new_authority()
    served.listener = await listen(served.house.wiring(), port)
    async with served.http.get(served.url + "/", headers=headers) as answer:
        assert answer.status == 200


async def test_guessing_is_told_to_wait_and_the_operator_is_not(served: Served):
    wrong = {"Authorization": "Bearer guess"}
    for _ in range(MAX_FAILURES):
        async with served.http.get(served.url + "/api", headers=wrong) as answer:
            assert answer.status == 401
    async with served.http.get(served.url + "/api", headers=wrong) as answer:
        assert answer.status == 429
    async with served.http.get(served.url + "/api") as answer:
        assert answer.status == 401, "who shows no proof is no guesser"
    assert (await served.get("/api/status.show"))[0] == 200


async def test_every_answer_carries_the_security_headers(served: Served):
    for path in ("/", "/api/status.show", "/api/nope", "/nowhere", "/static/main.js", "/part/now"):
        for headers in ({}, OPERATOR):
            async with served.http.get(served.url + path, headers=headers) as answer:
                assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
                assert "unsafe" not in answer.headers["Content-Security-Policy"]
                assert answer.headers["X-Content-Type-Options"] == "nosniff"
                assert answer.headers["Referrer-Policy"] == "no-referrer"
                assert answer.headers["X-Frame-Options"] == "DENY"
                assert answer.headers["Server"] == "gnomon"
                assert "Access-Control-Allow-Origin" not in answer.headers
                assert answer.headers["Cache-Control"] in {"no-store", "no-cache"}


# --- events ------------------------------------------------------------------------------------


async def next_event(answer: aiohttp.ClientResponse) -> dict[str, str]:
    lines: dict[str, str] = {}
    while True:
        line = (await asyncio.wait_for(answer.content.readline(), BOUND)).decode().rstrip("\n")
        if not line and "event" in lines:
            return lines
        name, _, value = line.partition(": ")
        if name:
            lines[name] = value


async def test_events_arrive_as_they_are_published(served: Served):
    async with served.http.get(served.url + "/events", headers=OPERATOR) as answer:
        assert answer.content_type == "text/event-stream"
        assert (await next_event(answer))["event"] == "hello"
        served.house.stream.publish("status", {"ticks": 3})
        event = await next_event(answer)
        assert (event["event"], event["data"]) == ("status", '{"ticks":3}')


async def test_a_reader_resumes_where_it_was(served: Served):
    stream = served.house.stream
    for n in range(5):
        stream.publish("status", n)
    for headers, query in (({"Last-Event-ID": stream.event_id(3)}, ""), ({}, stream.event_id(3))):
        async with served.http.get(
            f"{served.url}/events?after={query}", headers=OPERATOR | headers
        ) as answer:
            assert (await next_event(answer))["event"] == "hello"
            assert [(await next_event(answer))["data"] for _ in range(2)] == ["3", "4"]


@pytest.mark.parametrize(
    "seen", ["deadbeef-1", "x", "-", "{life}-99999", "{life}--1", "{life}-", "{life}-1", "{life}-٣"]
)
async def test_a_reader_that_cannot_resume_is_told_of_the_gap(seen: str):
    house = PretendedHouse()
    house.stream.__init__(house.clock.wall, ring=3)
    for n in range(9):
        house.stream.publish("status", n)
    assert house.stream.place_of(seen.format(life=house.stream.life)) is None


async def test_a_gap_is_an_event_of_its_own(served: Served):
    headers = OPERATOR | {"Last-Event-ID": "deadbeef-7"}
    async with served.http.get(served.url + "/events", headers=headers) as answer:
        assert (await next_event(answer))["event"] == "gap"


async def test_stopping_does_not_wait_for_open_pages(served: Served):
    async with served.http.get(served.url + "/events", headers=OPERATOR) as answer:
        await next_event(answer)
        await asyncio.wait_for(served.listener.close(), 1.5)


async def test_too_many_readers_are_refused(served: Served, monkeypatch):
    monkeypatch.setattr("gnomon.gateway.events.MAX_READERS", 1)
    async with served.http.get(served.url + "/events", headers=OPERATOR) as first:
        await next_event(first)
        assert (await served.get("/events"))[0] == 503


# --- pages -------------------------------------------------------------------------------------


async def page(served: Served, path: str, **headers: str) -> tuple[int, str]:
    asked = {"Accept": "text/html"} | OPERATOR | headers
    async with served.http.get(served.url + path, headers=asked) as answer:
        return answer.status, await answer.text()


async def test_the_first_page_says_page_eights_words_in_their_order(served: Served):
    _, text = await page(served, "/")
    words = [
        "Gnomon is running here.",
        "Nothing has left this machine.",
        "Spent: $0.00.",
        "Your agents left a history.",
        "Claude Code 214 sessions",
        "(31 days), ",
        "Codex 40",
        ": counted by file name only.",
        "Read them: no model, stays here",
        "Choose",
        "Not now",
        "Give it a better model.",
        "Ollama with qwen3:8b found",
        ">Use<",
        "now: built-in demo model; don&#39;t trust what it says.",
        "Let it read a folder",
        "Ask your history: how did I fix the flaky test?",
    ]
    places = [text.index(each) for each in words]
    assert places == sorted(places)


async def test_a_button_whose_operation_does_not_exist_is_absent(served: Served):
    _, text = await page(served, "/")
    assert "Start at login" not in text
    assert "See a simulated month" in text


async def test_a_part_that_fails_says_why_in_its_place_and_spares_the_others(served: Served):
    served.house.gnomon.failing["model.list"] = UsageError("Ollama hung.", next_step="Restart it.")
    status, text = await page(served, "/")
    assert status == 200
    assert "Ollama hung." in text
    assert "Your agents left a history." in text


async def test_a_part_that_is_late_does_not_hold_up_its_page(served: Served, monkeypatch):
    monkeypatch.setattr("gnomon.gateway.dashboard.pages.WAIT_SECONDS", 0.05)

    async def never(arguments, progress):
        await asyncio.Event().wait()

    slow = Operation("model.list", "", Nothing, list, never, reads=True)
    listener = await listen(served.house.wiring(**{"model.list": slow}), 0)
    try:
        async with served.http.get(listener.url + "/", headers=OPERATOR) as answer:
            text = await answer.text()
    finally:
        await listener.close()
    assert "Your agents left a history." in text
    assert 'data-part="card-model" data-late>' in text


async def test_a_refusal_in_a_browser_is_a_page_that_says_how_to_get_in(served: Served):
    status, text = await page(served, "/", Authorization="")
    assert status == 401
    assert "gnomon open" in text
    status, text = await page(served, "/", Host="dash.example")
    assert status == 403
    assert f"http://127.0.0.1:{served.listener.port}/" in text
    status, text = await page(served, "/nowhere")
    assert status == 404
    assert "There is no such page." in text


@pytest.mark.parametrize(
    "name",
    ["../labels.json", "..%2flabels.json", "%2e%2e/pages.py", "", "nope.css", "../../app.py"],
)
async def test_no_path_leads_out_of_the_static_files(served: Served, name: str):
    from yarl import URL

    url = URL(f"{served.url}/static/{name}", encoded=True)
    async with served.http.get(url, headers=OPERATOR) as answer:
        assert answer.status == 404


async def test_static_files_are_kept_by_the_browser_until_they_change(served: Served):
    async with served.http.get(served.url + "/static/gnomon.css") as answer:
        assert answer.content_type == "text/css"
        tag = answer.headers["ETag"]
    async with served.http.get(
        served.url + "/static/gnomon.css", headers={"If-None-Match": tag}
    ) as answer:
        assert answer.status == 304


async def test_every_part_can_be_drawn_by_itself(served: Served):
    from gnomon.gateway.dashboard.parts import PARTS

    gnomon = served.house.gnomon
    gnomon.inbox.items = some_items()
    gnomon.changes.fill()
    gnomon.approvals.held = some_approvals()
    asked = "session=s-1&since=2026-05-01&project=x&surface=sf-2&name=decision-ledger"
    ids = {"change": "&id=ch-8", "approval": "&id=ap-1"}
    for name in PARTS:
        status, text = await page(served, f"/part/{name}?{asked}{ids.get(name, '')}")
        assert status == 200
        assert "could not be shown" not in text, name
        assert "<html" not in text
    assert (await page(served, "/part/nothing"))[0] == 404
    for path in ("/report", "/trust", "/fitness", "/changes", "/approvals", "/learning"):
        assert (await page(served, path))[0] == 200


async def test_a_report_of_days_after_the_newest_session_says_which_day_that_was(served: Served):
    none = Report(corrections=(), failures=(), repeats=(), loose_ends=(), cost=(), turns=3)
    missed = msgspec.structs.replace(none, asked_turns=0, newest_at="2026-03-16T10:00:00.000Z")
    served.house.gnomon.report = missed
    _, text = await page(served, "/part/report?since=2026-05-01")
    assert "Nothing within what you asked for." in text
    assert ">2026-03-16</time>" in text
    served.house.gnomon.report = msgspec.structs.replace(missed, newest_at=None)
    assert "of such a project" in (await page(served, "/part/report?project=x"))[1]


async def test_a_part_that_breaks_gives_nothing_away(served: Served, caplog):
    served.house.gnomon.failing["history.report"] = RuntimeError("the secret path")
    status, text = await page(served, "/part/report")
    assert status == 200
    assert "Something inside Gnomon broke." in text
    assert "secret" not in text
    assert "the secret path" in caplog.text


async def test_a_session_in_use_gets_its_cookie_again_once_a_day(served: Served):
    headers = {"Cookie": await served.sign_in()}
    served.house.clock.advance(DAY / SECOND)
    for renewed in (True, False):
        async with served.http.get(served.url + "/", headers=headers) as answer:
            assert ("Set-Cookie" in answer.headers) is renewed


async def test_a_method_that_nobody_serves_is_refused_in_words(served: Served):
    async with served.http.delete(served.url + "/api/status.show", headers=OPERATOR) as answer:
        assert answer.status == 405
        assert (await answer.json())["err"]["code"] == "method"
        assert "GET" in answer.headers["Allow"]
    async with served.http.get(served.url + "/favicon.ico") as answer:
        assert answer.content_type == "image/svg+xml"


# --- listening ---------------------------------------------------------------------------------


async def test_a_port_that_is_taken_is_said_in_words(served: Served):
    with pytest.raises(UsageError, match="cannot be used"):
        await listen(served.house.wiring(), served.listener.port)


async def test_nobody_knocked_is_closed_like_any_other():
    listener = await listen(PretendedHouse().wiring(), 0)
    assert not listener.serving
    await listener.close()
