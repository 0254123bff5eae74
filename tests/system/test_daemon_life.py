"""A daemon's life on a home: it starts, says so, answers, ends in order, and is alone there."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gnomon.home import HOME_FORMAT
from gnomon.lock import holder
from tests.daemon_kit import (
    END_SECONDS,
    Daemon,
    House,
    a_house,
    descendants,
    first_line,
    process_of,
    snapshot,
    wait_until,
)

pytestmark = [pytest.mark.system, pytest.mark.timeout(120)]

STATUS = {
    "running", "pid", "agent", "mode", "model", "ticks", "reflections", "skipped", "jail",
    "autonomy", "budget", "standing_cost",
}  # fmt: skip
TRIES = 4


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    with a_house(tmp_path / "home") as made:
        yield made


def settled(house: House) -> Daemon:
    """A daemon whose resident has said its first words."""
    daemon = house.up()
    wait_until(lambda: "mode" in decisions(house), what="the resident's first lines")
    return daemon


def decisions(house: House) -> list[str]:
    return [line["kind"] for line in house.lines(house.agent.decision_ledger)]


def engagement(house: House) -> list[tuple[str, str | None]]:
    lines = house.lines(house.agent.engagement_ledger)
    return [(line["kind"], line.get("cause")) for line in lines]


def test_one_line_says_that_it_is_ready(house: House):
    daemon = house.up()
    ready = daemon.ready
    assert ready["ready"] is True
    assert ready["url"].startswith("http://127.0.0.1:")
    assert ready["pid"] == daemon.pid
    assert 0 < ready["seconds"] < 30
    assert daemon.terminate() == 0
    assert daemon.process.stdout.read() == "", "one line and no more"
    assert daemon.said() == ""


def test_status_has_the_promised_fields(house: House):
    daemon = house.up()
    status = house.json("status")
    assert set(status) >= STATUS
    assert (status["running"], status["pid"], status["agent"]) == (True, daemon.pid, "main")
    assert status["model"] == {"name": "none", "kind": "none", "loaded": False}
    assert set(status["standing_cost"]) == {"tokens_per_hour", "usd_per_hour", "seconds_per_hour"}
    assert set(status["jail"].values()) <= {"full", "partial", "none"}
    assert (status["ticks"], status["reflections"], status["skipped"]) == (0, 0, {})
    daemon.terminate()
    stopped = house.json("status")
    assert set(stopped) >= STATUS
    assert (stopped["running"], stopped["pid"]) == (False, None)


def test_ticks_without_a_model_say_why_they_did_not_reflect(house: House):
    house.config("[kernel]\ntick_ms = 1000\n")
    daemon = house.up()
    wait_until(lambda: daemon.status()["ticks"] >= 2, what="two ticks")
    status = daemon.status()
    assert status["skipped"] == {"no-model": status["ticks"]}
    daemon.terminate()
    ticks = [line for line in house.lines(house.agent.decision_ledger) if line["kind"] == "tick"]
    assert {tick["skip_reason"] for tick in ticks} == {"no-model"}


def test_sigterm_ends_it_in_order(house: House):
    daemon = settled(house)
    children = descendants(daemon.pid)
    assert children, "the resident has a process of its own"
    assert daemon.terminate() == 0
    assert not [child for child in children if child.alive]
    assert engagement(house) == [("gateway_started", None), ("gateway_stopped", "orderly")]
    assert json.loads(house.home.heartbeat.read_bytes())["ended"] is True
    assert holder(house.home.lock) is None
    assert decisions(house) == ["started", "mode", "stopped"]
    assert house.json("verify")["ok"] is True


def test_a_second_life_after_an_orderly_one_is_no_crash(house: House):
    house.up().terminate()
    house.up().terminate()
    assert engagement(house) == [
        ("gateway_started", None),
        ("gateway_stopped", "orderly"),
        ("gateway_started", "orderly"),
        ("gateway_stopped", "orderly"),
    ]
    assert "ecovered" not in house.journal()


def test_a_life_that_crashed_is_told_by_the_next(house: House):
    house.up().kill()
    house.up().terminate()
    assert engagement(house) == [
        ("gateway_started", None),
        ("gateway_stopped", "crash"),
        ("gateway_started", "crash"),
        ("gateway_stopped", "orderly"),
    ]


def test_down_ends_it_and_says_so(house: House):
    daemon = house.up()
    done = house.cli("down")
    assert (done.returncode, done.stdout) == (0, "Gnomon has stopped.\n")
    assert daemon.process.wait(END_SECONDS) == 0
    again = house.cli("down")
    assert (again.returncode, again.stdout) == (0, "Gnomon is not running here.\n")


def test_up_leaves_the_terminal_and_goes_on(house: House):
    done = house.cli("up", "--port", "0", "--no-open", "--json")
    assert done.returncode == 0, done.stderr
    ready = json.loads(done.stdout)
    assert ready["ready"] is True
    process = process_of(ready["pid"])
    assert process is not None
    try:
        assert os.getsid(ready["pid"]) == ready["pid"], "it has a session of its own"
        assert house.json("status")["pid"] == ready["pid"]
    finally:
        house.cli("down")
    wait_until(lambda: not process.alive, what="its end")
    assert house.home.log.read_text() == ""


def test_a_detached_up_that_cannot_start_says_why_with_the_same_code(house: House):
    house.config("[kernel]\ntick = 5\n")
    done = house.cli("up", "--port", "0", "--no-open")
    assert done.returncode == 2
    assert "tick" in done.stderr
    assert "line 2" in done.stderr
    assert done.stderr.count("\n") == 1


# --- alone in its home -------------------------------------------------------------------------


def test_a_second_up_says_who_has_the_home_and_changes_nothing(house: House):
    daemon = settled(house)
    before = snapshot(house.root)
    code, error = house.refused()
    assert code == 1
    assert error["code"] == "home-locked"
    assert error["facts"] == {"pid": daemon.pid, "url": daemon.ready["url"]}
    assert str(daemon.pid) in error["message"]
    done = house.cli("up", "--port", "0", "--no-open")
    assert done.returncode == 1
    assert str(daemon.pid) in done.stderr
    again = house.cli("up", "--if-needed", "--no-open")
    assert again.returncode == 0
    assert f"runs already (pid {daemon.pid})" in again.stdout
    assert f"Dashboard: {daemon.ready['url']}/" in again.stdout
    again = house.cli("up", "--if-needed", "--no-open", "--json")
    assert json.loads(again.stdout)["already_running"] is True
    after = snapshot(house.root)
    # A detached start opens the log it would write to; it must say nothing there.
    assert after.pop("gateway.log", (0, b""))[1] == b""
    assert after == before
    assert daemon.status()["running"] is True


def test_of_two_that_start_at_one_moment_exactly_one_wins(tmp_path: Path):
    for attempt in range(TRIES):
        with a_house(tmp_path / f"home-{attempt}") as house:
            started = [house.launch()[0] for _ in range(2)]
            lines = [first_line(process) for process in started]
            winners = [at for at, line in enumerate(lines) if line.get("ready")]
            assert len(winners) == 1, lines
            winner, loser = started[winners[0]], started[1 - winners[0]]
            assert loser.wait(END_SECONDS) == 1
            assert lines[1 - winners[0]]["error"]["code"] == "home-locked"
            status = house.json("status")  # by the token that the winner goes by
            assert status["pid"] == winner.pid
            winner.terminate()
            assert winner.wait(END_SECONDS) == 0
            assert engagement(house) == [("gateway_started", None), ("gateway_stopped", "orderly")]


def test_a_lock_file_that_was_left_behind_holds_nobody_up(house: House):
    house.root.mkdir()
    house.home.lock.write_text('{"pid":1,"url":"http://127.0.0.1:1"}\n')
    done = house.cli("status", "--json")
    assert json.loads(done.stdout)["running"] is False
    daemon = house.up()
    assert holder(house.home.lock).pid == daemon.pid
    assert daemon.terminate() == 0


def test_a_lock_that_another_program_holds_is_respected(house: House):
    house.root.mkdir()
    hold = (
        "import fcntl,sys,time; f=open(sys.argv[1],'a'); fcntl.flock(f,2); "
        "print('held',flush=True); time.sleep(60)"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", hold, str(house.home.lock)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert other.stdout.readline() == "held\n"
        code, error = house.refused()
        assert (code, error["code"]) == (1, "home-locked")
    finally:
        other.kill()
        other.wait()
        other.stdout.close()
    assert house.up().terminate() == 0


# --- what it finds there -----------------------------------------------------------------------


def test_a_folder_with_other_things_becomes_a_home_and_they_stay(house: House):
    house.root.mkdir()
    (house.root / "mine.txt").write_text("kept")
    (house.root / "agents").mkdir()
    (house.root / "agents" / "notes.md").write_text("kept too")
    assert house.up().terminate() == 0
    assert (house.root / "mine.txt").read_text() == "kept"
    assert (house.root / "agents" / "notes.md").read_text() == "kept too"
    assert house.json("verify")["ok"] is True


def test_the_operators_token_is_the_operators_alone(house: House):
    daemon = house.up()
    assert house.home.operator_token.stat().st_mode & 0o777 == 0o600
    assert house.root.stat().st_mode & 0o777 == 0o700
    token = house.home.operator_token.read_text()
    daemon.terminate()
    assert house.up().token == token.strip(), "a restart keeps it"


@pytest.mark.parametrize(
    ("text", "line", "named"),
    [
        ("[kernel]\n\ntick_seconds = 5\n", 3, "tick_seconds"),
        ("[kernel]\ntick_ms = 10\n", 2, "tick_ms"),
        ('[kernel]\ntick_ms = "soon"\n', 2, "tick_ms"),
        ("[kernal]\ntick_ms = 5000\n", 1, "kernal"),
        ("[kernel\n", 1, ""),
        ('[kernel]\nmode = "wild"\n', 2, "mode"),
    ],
)
def test_a_wrong_setting_is_one_error_that_names_its_line(
    house: House, text: str, line: int, named: str
):
    house.config(text)
    code, error = house.refused()
    assert code == 2
    assert error["code"] == "config"
    assert error["facts"] == {"file": str(house.home.config), "line": line}
    assert named in error["message"]
    assert f"line {line}" in error["message"]
    assert house.home.config.read_text() == text


def test_a_misspelt_variable_is_refused(house: House):
    house.environ["GNOMON_MODLE"] = "none"
    code, error = house.refused()
    assert (code, error["code"]) == (2, "config")
    assert "GNOMON_MODEL" in error["message"]


def test_a_newer_home_is_refused_and_left_alone(house: House):
    house.up().terminate()
    house.home.format_file.write_text(json.dumps({"format": HOME_FORMAT + 1, "simulated": False}))
    before = snapshot(house.root)
    code, error = house.refused()
    assert (code, error["code"]) == (1, "home")
    assert "newer" in error["message"]
    after = snapshot(house.root)
    assert after == before


def test_a_port_that_is_taken_is_said(house: House):
    daemon = house.up()
    port = daemon.ready["url"].rpartition(":")[2]
    with a_house(house.root.parent / "other") as other:
        code, error = other.refused("--port", port)
        assert code == 2
        assert port in error["message"]
        began = time.monotonic()
        assert other.up().terminate() == 0, "the home is free again"
        assert time.monotonic() - began < END_SECONDS
