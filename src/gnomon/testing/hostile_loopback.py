"""Forging the operator's word over loopback, as a hostile program tries it. Each attack returns
when the gateway took it and raises OSError when it was held.
"""

import json
import socket
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from gnomon.testing.hostile_files import held

SECONDS = 5.0
GUESS = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
"""As long as a token."""


class Door(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The gateway's port, the surface to acknowledge, the name of the session cookie, the file
    with the operator's token, and the token of a client that was let in.
    """

    port: int
    surface: str
    cookie: str
    token_file: str
    client: str


def acks(door: Door) -> dict[str, Callable[[], object]]:
    """Each way to say in the operator's name that a surface was dealt with."""
    ours = f"http://127.0.0.1:{door.port}"
    session = {"Cookie": f"{door.cookie}={GUESS}"}
    return {
        "without-proof": lambda: _dismissed(door, {}),
        "with-an-empty-token": lambda: _dismissed(door, {"Authorization": "Bearer "}),
        "with-a-guessed-token": lambda: _dismissed(door, _bearer(GUESS)),
        "with-the-surface-as-token": lambda: _dismissed(door, _bearer(door.surface)),
        "with-a-clients-token": lambda: _dismissed(door, _bearer(door.client)),
        "with-a-guessed-session": lambda: _dismissed(door, session | {"Origin": ours}),
        "without-an-origin": lambda: _dismissed(door, session),
        "as-a-page-of-another-port": lambda: _dismissed(
            door, session | {"Origin": "http://127.0.0.1:3000", "Sec-Fetch-Site": "same-site"}
        ),
        "by-a-get": lambda: _asked(
            door, "GET", f"/api/inbox.dismiss?surface_id={door.surface}", _bearer(door.client)
        ),
        "by-a-guessed-link": lambda: _asked(door, "GET", f"/login?t={GUESS}", {}),
        "with-the-operators-token": lambda: _dismissed(
            door, _bearer(Path(door.token_file).read_text(encoding="ascii").strip())
        ),
    }


def _bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def _dismissed(door: Door, headers: Mapping[str, str]) -> None:
    body = json.dumps({"surface_id": door.surface})
    _asked(door, "POST", "/api/inbox.dismiss", headers, body)


def _asked(door: Door, method: str, path: str, headers: Mapping[str, str], body: str = "") -> None:
    """One request by hand. (A library of the web would be loaded by every hostile child.)"""
    given = {
        "Host": f"127.0.0.1:{door.port}",
        "Connection": "close",
        "Content-Length": str(len(body)),
        "Content-Type": "application/json",
        **headers,
    }
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {said}" for name, said in given.items())]
    with socket.create_connection(("127.0.0.1", door.port), timeout=SECONDS) as sock:
        sock.sendall(("\r\n".join(lines) + "\r\n\r\n" + body).encode())
        answer = b"".join(iter(lambda: sock.recv(65_536), b"")).decode(errors="replace")
    head = answer.partition("\r\n\r\n")[0]
    status = head.split(" ")[1] if head.startswith("HTTP/1.1 ") else "none"
    if status != "200" and "Set-Cookie:" not in head:
        raise held(f"status {status}")
