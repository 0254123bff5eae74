"""The door to a running gateway: parts, results, errors, and what breaks on the way."""

import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from gnomon.cli import asks
from gnomon.cli.connection import answers, connect
from gnomon.cli.http_connection import HttpConnection
from gnomon.domain.errors import (
    BudgetError,
    ConfigError,
    GnomonError,
    HomeLockedError,
    NeedsOperatorError,
    UsageError,
)
from gnomon.home import Home
from gnomon.lock import HomeLock, holder


@dataclass
class Gateway:
    """Answers every request with the same bytes, and keeps what was asked."""

    status: int = 200
    kind: str = "application/x-ndjson"
    body: bytes = b'{"ok":{"detail":"done"}}\n'
    seen: list[tuple[str, str | None, object]] = field(default_factory=list)
    url: str = ""


@contextmanager
def serving(gateway: Gateway) -> Generator[Gateway]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            gateway.seen.append((self.path, self.headers["Authorization"], json.loads(body)))
            self.send_response(gateway.status)
            self.send_header("Content-Type", gateway.kind)
            self.end_headers()
            self.wfile.write(gateway.body)

        def log_request(self, code: object = "-", size: object = "-") -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    gateway.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield gateway
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def token(tmp_path: Path) -> Path:
    path = tmp_path / "operator.token"
    path.write_text("secret\n")
    return path


def test_parts_come_before_the_result(token: Path) -> None:
    body = b'{"part":{"text":"a"}}\n\n{"part":{"text":"b"}}\n{"ok":{"detail":"done"}}\n'
    parts: list[object] = []
    with serving(Gateway(body=body)) as gateway:
        done = HttpConnection(gateway.url, token).call(asks.PAUSE, {"for_seconds": 3}, parts.append)
    assert done.detail == "done"
    assert parts == [{"text": "a"}, {"text": "b"}]
    assert gateway.seen == [("/api/kernel.pause", "Bearer secret", {"for_seconds": 3})]


def test_a_plain_json_answer_is_the_result(token: Path) -> None:
    with serving(Gateway(kind="application/json", body=b'{"detail":"done"}')) as gateway:
        assert HttpConnection(gateway.url, token).call(asks.RESUME, {}).detail == "done"


def test_an_error_comes_back_as_the_class_of_its_code(token: Path) -> None:
    body = (
        b'{"part":{"text":"a"}}\n{"err":{"code":"budget","message":"Enough.",'
        b'"next_step":"Wait.","facts":{"message":"m","until":"x"}}}\n'
    )
    with serving(Gateway(body=body)) as gateway, pytest.raises(BudgetError) as caught:
        HttpConnection(gateway.url, token).call(asks.RESUME, {})
    assert str(caught.value) == "Enough. Wait."
    assert caught.value.facts == {"message": "m", "until": "x"}


def test_an_error_of_a_code_that_we_do_not_know_keeps_it(token: Path) -> None:
    body = b'{"err":{"code":"forbidden","message":"No."}}'
    gateway = Gateway(status=403, kind="application/json", body=body)
    with serving(gateway), pytest.raises(GnomonError) as caught:
        HttpConnection(gateway.url, token).call(asks.RESUME, {})
    assert caught.value.code == "forbidden"


@pytest.mark.parametrize(
    "body",
    [b"", b'{"part":{}}\n', b"<html>", b'{"ok":{"detail":3}}\n', b'{"ok":[]}\n', b'{"ok":{"de'],
)
def test_an_answer_that_breaks_off_or_is_none_is_told(token: Path, body: bytes) -> None:
    with serving(Gateway(body=body)) as gateway, pytest.raises(GnomonError, match="as expected"):
        HttpConnection(gateway.url, token).call(asks.RESUME, {})


def test_an_argument_that_is_no_text_is_wrong_usage(token: Path) -> None:
    with pytest.raises(UsageError, match="not UTF-8"):
        HttpConnection("http://127.0.0.1:9", token).call(asks.STATUS, {"path": "\udcff"})


def test_nobody_there_is_told(token: Path) -> None:
    with serving(Gateway()) as gateway:
        connection = HttpConnection(gateway.url, token)
    with pytest.raises(GnomonError, match="did not answer"):
        connection.call(asks.RESUME, {})


def test_a_token_that_is_not_ours_to_read_needs_the_operator(tmp_path: Path) -> None:
    with pytest.raises(NeedsOperatorError, match="cannot be read"):
        HttpConnection("http://127.0.0.1:1", tmp_path / "none")


def test_the_lock_names_the_gateway_that_answers(home: Home) -> None:
    home.root.mkdir()
    home.operator_token.write_text("secret")
    with serving(Gateway()) as gateway:
        lock = HomeLock.acquire(home.lock, pid=1, url=gateway.url)
        connection = connect(home, "main")
        assert connection.running
        assert connection.call(asks.RESUME, {}).detail == "done"
        connection.close()
        lock.release()
    assert not answers(gateway.url)


def test_a_gateway_does_not_answer_for_another_agent_in_silence(home: Home) -> None:
    home.root.mkdir()
    home.operator_token.write_text("secret")
    with serving(Gateway()) as gateway:
        lock = HomeLock.acquire(home.lock, pid=1)
        lock.tell(pid=1, url=gateway.url, agent="main")
        with pytest.raises(UsageError, match="'main', not 'other'"):
            connect(home, "other")
        connect(home, "main").close()
        lock.release()


def test_a_home_that_is_kept_without_a_listener_is_given_up_in_time(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gnomon.cli.connection.WAIT_SECONDS", 0.2)
    home.root.mkdir()
    lock = HomeLock.acquire(home.lock, pid=4711)
    with pytest.raises(HomeLockedError, match="4711"):
        connect(home, "main")
    lock.release()


def test_without_a_daemon_the_core_answers_in_process_and_gives_the_home_back(home: Home) -> None:
    for _ in range(2):
        connection = connect(home, "main")
        assert not connection.running
        status = connection.call(asks.STATUS, {})
        assert (status.running, status.agent) == (False, "main")
        assert connection.call(asks.VERIFY, {}).ok
        assert holder(home.lock) is not None
        connection.close()
        assert holder(home.lock) is None


def test_an_error_leaves_the_connection_usable(home: Home) -> None:
    connection = connect(home, "main")
    with pytest.raises(UsageError):
        connection.call(asks.CHAT_MESSAGES, {"session": "s-none"})
    assert connection.call(asks.FOLDERS_LIST, {}) == []
    connection.close()


def test_a_wrong_config_is_told_to_who_needs_it_and_the_doctor_works(home: Home) -> None:
    home.root.mkdir()
    home.config.write_text("[kernel]\ntick_ms = 5\n")
    connection = connect(home, "main")
    with pytest.raises(ConfigError, match="line 2"):
        connection.call(asks.STATUS, {})
    checks = {check.name: check for check in connection.call(asks.DOCTOR, {}).checks}
    connection.close()
    assert "line 2" in checks["config"].detail
    assert holder(home.lock) is None


@pytest.mark.parametrize("url", [None, "", "http://", "nonsense", "http://127.0.0.1:1"])
def test_nothing_answers_where_nothing_listens(url: str | None) -> None:
    assert not answers(url)
