"""A real daemon whose disk is full, whose ledgers are damaged, whose state files are garbage:
each has one clear outcome, and nothing is lost in silence.
"""

import contextlib
import json
import os
import subprocess
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from gnomon.testing.openai_behaviours import say
from tests.daemon_kit import (
    END_SECONDS,
    MODEL,
    Daemon,
    House,
    RefusedError,
    StubThread,
    a_house,
    first_line,
    snapshot,
    wait_until,
)

pytestmark = [pytest.mark.system, pytest.mark.timeout(120)]

SIZE = "4m"
"""Of the whole file system: a fresh home takes a fiftieth of it."""


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    with a_house(tmp_path / "home") as made:
        yield made


# --- a full disk -------------------------------------------------------------------------------


@contextlib.contextmanager
def a_small_disk(place: Path) -> Generator[Path]:
    place.mkdir()
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=700", "tmpfs", str(place)], check=True
    )
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def fill(path: Path) -> None:
    """Take every byte that is left, and then what the daemon frees in its next writes."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for size in (65_536, 4_096, 512, 1):
        with contextlib.suppress(OSError):
            while True:
                os.write(descriptor, b"x" * size)
    os.close(descriptor)


def talk_on(daemon: Daemon, session: str) -> None:
    """Until it is refused: what is left of the last blocks takes a line or two."""
    for _ in range(20):
        daemon.chat("while it is full", session)


@pytest.mark.root
def test_a_disk_that_is_full_is_said_tears_nothing_and_is_used_again(tmp_path: Path):
    with (
        StubThread(say("an answer " * 400)) as stub,
        a_small_disk(tmp_path / "disk") as disk,
        a_house(disk / "home", MODEL, stub.url) as house,
    ):
        house.config("[kernel]\ntick_ms = 1000\n")
        daemon = house.up()
        first = daemon.chat("before")
        fill(disk / "ballast")
        with pytest.raises(RefusedError) as refused:
            talk_on(daemon, first["session"])
        assert "No space left on device" in str(refused.value)
        assert refused.value.code == "ledger"
        with pytest.raises(RefusedError, match="no space left on device") as named:
            daemon.call("kernel.pause", {})
        assert (named.value.code, named.value.status) == ("disk", 507)
        ticks = daemon.status()["ticks"]
        assert daemon.status()["running"] is True
        told = house.json("doctor", code=0)
        assert {c["name"]: c["level"] for c in told["checks"]}["disk"] == "warning"
        (disk / "ballast").unlink()

        again = daemon.chat("after", first["session"])
        assert again["stop_reason"] == "done"
        wait_until(lambda: daemon.status()["ticks"] > ticks, 20, "a tick")
        assert "No space left on device" in house.journal()
        assert "taken again" in house.journal()
        assert daemon.terminate() == 0
        assert house.json("verify")["ok"] is True
        turns = [x["turn"] for x in house.family(house.agent.runs) if x["kind"] == "turn"]
        messages = [
            x["turn"]
            for x in house.lines(house.agent.session(first["session"]))
            if x["kind"] == "message"
        ]
        assert sorted(messages) == sorted(turns * 2)


@pytest.mark.root
def test_a_daemon_can_end_on_a_full_disk_and_start_again(tmp_path: Path):
    with a_small_disk(tmp_path / "disk") as disk, a_house(disk / "home") as house:
        daemon = house.up()
        fill(disk / "ballast")
        code = daemon.terminate()
        assert "Traceback" not in daemon.said()
        assert code in {0, 1}
        (disk / "ballast").unlink()
        assert house.up().terminate() == 0
        assert house.json("verify")["ok"] is True


# --- damaged ledgers ---------------------------------------------------------------------------


def flip(path: Path, line: int) -> bytes:
    """Change a digit of a line; what it was before."""
    before = path.read_bytes()
    lines = before.split(b"\n")
    lines[line - 1] = lines[line - 1].replace(b'"at":"20', b'"at":"21', 1)
    path.write_bytes(b"\n".join(lines))
    return before


def test_a_corrupt_line_is_named_everywhere_and_restoring_it_heals(house: House):
    house.up().terminate()
    house.up().terminate()
    ledger = house.agent.engagement_ledger
    whole = flip(ledger, 2)
    before = snapshot(house.root)
    code, error = house.refused()
    assert code == 1
    assert error["code"] == "ledger-corrupt"
    assert error["facts"]["ledger"] == "engagement-ledger"
    # The line that is not what was anchored, as `verify` names it.
    assert error["facts"]["line"] == 2
    assert "engagement-ledger" in error["message"]
    assert "another line stands in its place" in error["message"]

    found = house.json("verify", code=1)
    assert found["ok"] is False
    bad = {ledger["name"]: ledger["first_bad"] for ledger in found["ledgers"] if not ledger["ok"]}
    assert set(bad) == {"engagement-ledger"}
    assert bad["engagement-ledger"]["line"] == 2

    checks = {c["name"]: c for c in house.json("doctor", code=1)["checks"]}
    assert checks["ledgers"]["ok"] is False
    assert "engagement-ledger, line 2" in checks["ledgers"]["detail"]
    assert checks["ledgers"]["fix"]

    status = house.cli("status")
    assert status.returncode == 1
    assert "engagement-ledger" in status.stderr
    assert "Traceback" not in status.stderr
    assert house.cli("journal").returncode == 0
    assert snapshot(house.root) == before, "looking changes nothing"

    ledger.write_bytes(whole)
    assert house.up().terminate() == 0
    assert house.json("verify")["ok"] is True


def test_a_tail_that_was_cut_off_is_found_by_the_anchors(house: House):
    house.up().terminate()
    ledger = house.agent.engagement_ledger
    whole = ledger.read_bytes()
    ledger.write_bytes(whole.split(b"\n")[0] + b"\n")
    code, error = house.refused()
    assert (code, error["code"]) == (1, "ledger-corrupt")
    assert error["facts"]["ledger"] == "engagement-ledger"
    assert house.json("verify", code=1)["ok"] is False


# --- damaged state -----------------------------------------------------------------------------

GARBAGE = (b"\0\0\0\0", b"{")
"""What crashes and hands leave; the readers' own tests know more."""


def damaged(house: House, path: Path) -> tuple[str, str]:
    """Start on each garbage: `refused` and its words when every one is, else `started`."""
    whole = path.read_bytes()
    outcomes: set[str] = set()
    said = ""
    for garbage in GARBAGE:
        path.write_bytes(garbage)
        process, log = house.launch()
        line = first_line(process)
        if line.get("ready"):
            outcomes.add("started")
            process.terminate()
        else:
            outcomes.add("refused")
            said = line["error"]["message"]
            assert path.read_bytes() == garbage, "what it could not read is left as it was"
        process.wait(END_SECONDS)
        assert "Traceback" not in log.read_text(), log.read_text()
        path.write_bytes(whole)
    assert len(outcomes) == 1, f"{path.name}: {outcomes}"
    return outcomes.pop(), said


@pytest.fixture
def lived(house: House) -> House:
    """A house with some life in every file."""
    with StubThread(say("fine")) as stub:
        house.environ |= {"GNOMON_MODEL": MODEL, "GNOMON_MODEL_URL": stub.url}
        house.config("[kernel]\ntick_ms = 1000\n")
        daemon = house.up()
        daemon.chat("hello")
        daemon.call("kernel.pause", {})
        folder = house.root.parent / "granted"
        folder.mkdir()
        daemon.call("folders.add", {"path": str(folder)})
        daemon.terminate()
        house.environ = {"GNOMON_MODEL": "none"}
    return house


def test_every_damaged_file_has_one_clear_outcome(lived: House):
    house = lived
    agent = house.agent
    refused = [house.home.format_file, agent.manifest]
    for path in refused:
        outcome, said = damaged(house, path)
        assert outcome == "refused", path.name
        assert path.name in said, said
    derived = [
        agent.state / "tallies.json",  # from the ledgers
        agent.state / "gateway.json",  # set aside: paused, since it may have been
        agent.state / "model-broker.json",  # set aside: counted from the spend ledger
        house.home.heartbeat,  # says nothing usable: told as a first start
        house.home.lock,  # only tells people who holds it
    ]
    for path in derived:
        assert damaged(house, path)[0] == "started", path.name
    known = {path.name for path in (*refused, *derived)}
    others = [path for path in sorted(agent.state.iterdir()) if path.is_file()]
    for path in others:
        if path.name not in known:
            outcome, said = damaged(house, path)
            assert outcome == "started" or path.name in said, (path.name, said)
    assert house.up().status()["paused_until"] is not None


def test_damaged_facts_are_kept_aside_and_it_starts_paused_with_the_day_counted_anew(
    lived: House,
):
    counted = json.loads((lived.agent.state / "model-broker.json").read_bytes())["budget"]
    for name in ("gateway.json", "model-broker.json"):
        (lived.agent.state / name).write_bytes(b"{")
    daemon = lived.up()
    assert daemon.ready["paused_until"] == "you resume it"
    budget = daemon.status()["budget"]
    assert budget["tokens_spent_today"] == counted["tokens"] > 0
    assert budget["duty_cycle_left_seconds"] == 0.0
    for name in ("gateway.json", "model-broker.json"):
        assert (lived.agent.state / f"{name}.damaged").read_bytes() == b"{"
        assert f"{name} was damaged and moved to {name}.damaged." in lived.journal()


def test_a_damaged_self_state_is_kept_aside_and_said(lived: House):
    lived.agent.self_state.write_bytes(b"{")
    daemon = lived.up()
    daemon.terminate()
    assert "self-state" in lived.journal()
    kept = [x for x in lived.agent.kernel.iterdir() if x.name.startswith("self-state.json.")]
    assert [path.read_bytes() for path in kept] == [b"{"]


def test_a_damaged_list_of_folders_grants_nothing_and_says_so(lived: House):
    path = lived.agent.state / "folders.json"
    path.write_bytes(b"{")
    daemon = lived.up()
    with pytest.raises(RefusedError) as refused:
        daemon.call("folders.list")
    assert refused.value.code == "state"
    assert path.read_bytes() == b"{"


def test_an_empty_config_is_the_defaults_and_half_a_line_is_an_error(lived: House):
    lived.home.config.write_bytes(b"")
    assert lived.up().terminate() == 0
    lived.home.config.write_bytes(b"[kernel]\ntick_ms = ")
    code, error = lived.refused()
    assert (code, error["code"], error["facts"]["line"]) == (2, "config", 2)
    lived.home.config.write_bytes(b"\xff\xfe")
    code, error = lived.refused()
    assert (code, error["code"]) == (2, "config")
    told = json.loads(lived.cli("doctor", "--json").stdout)
    checks = {c["name"]: c["ok"] for c in told["checks"]}
    assert checks["config"] is False
