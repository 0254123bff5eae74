"""A simulated home in a real daemon: looked at, and not lived on."""

import http.client
import json
import subprocess
from collections.abc import Generator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from gnomon.cli.verbs_demo import beside
from gnomon.daemon.store import heartbeat
from gnomon.domain.instants import parse_iso
from gnomon.home import Home
from gnomon.lock import holder
from gnomon.simulate.world import Plan, simulate
from tests.daemon_kit import Daemon, House, RefusedError, a_house, snapshot, wait_until

pytestmark = pytest.mark.system
LINK_LASTS = 600_000


@pytest.fixture(scope="module")
def month(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A day is month enough for a test."""
    home = tmp_path_factory.mktemp("demo") / "gnomon-demo"
    assert simulate(Plan(days=1, seed=1, keep=home)).violations == ()
    return home


@pytest.fixture
def house(month: Path) -> Generator[House]:
    with a_house(month) as made:
        yield made


def kept(home: Path) -> dict[str, tuple[int, bytes]]:
    """What a life would add to: ledgers, the journal, the heartbeat."""
    files = snapshot(home)
    return {
        name: file
        for name, file in files.items()
        if name.endswith((".jsonl", ".md")) or name == "heartbeat"
    }


def page(daemon: Daemon, path: str) -> str:
    """A page as a signed-in browser gets it."""
    where = urlsplit(daemon.ready["login"])
    connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=30)
    connection.request("GET", f"{where.path}?{where.query}")
    answer = connection.getresponse()
    answer.read()
    cookie = (answer.getheader("Set-Cookie") or "").partition(";")[0]
    connection.request("GET", path, headers={"Cookie": cookie})
    text = connection.getresponse().read().decode()
    connection.close()
    return text


def test_a_simulated_home_is_shown_as_it_ended_and_nothing_is_added(house: House) -> None:
    before = kept(house.root)
    daemon = house.up()
    said = daemon.status()
    fitness = daemon.call("fitness.show")
    shown = page(daemon, "/fitness")
    assert daemon.terminate() == 0
    assert said["model"]["kind"] == "none"
    assert said["next_tick_at"] is None
    assert said["reflections"] > 0
    assert fitness["windows"]
    assert "This is a simulated month" in shown
    assert kept(house.root) == before


def test_its_clock_goes_on_from_its_last_moment(house: House) -> None:
    daemon = house.up()
    link = daemon.call("login.link")
    assert daemon.terminate() == 0
    last = heartbeat.read(house.home.heartbeat)
    assert last is not None
    assert 0 <= parse_iso(link["expires_at"]) - last.wall - LINK_LASTS < 60_000


def test_the_page_opens_it_and_it_ends_with_the_gateway_that_opened_it(month: Path) -> None:
    shown = Home(month)
    with a_house(month.with_name("gnomon")) as house:
        daemon = house.up()
        link = daemon.call("demo.open")
        held = holder(shown.lock)
        assert held is not None
        assert link["url"].startswith(f"{held.url}/login?t=")
        assert link["ends_with_this"]
        again = daemon.call("demo.open")
        assert again["url"].startswith(f"{held.url}/login?t=")
        assert again["url"] != link["url"]
        assert again["ends_with_this"]
        assert daemon.terminate() == 0
        wait_until(lambda: holder(shown.lock) is None, 20, "the month's own end")
    with a_house(month) as house, pytest.raises(RefusedError):
        house.up().call("demo.open")


def test_a_month_that_was_shown_before_goes_on_and_is_said_to(month: Path) -> None:
    shown = Home(month)
    with a_house(month) as before, a_house(month.with_name("gnomon")) as house:
        month_shown = before.up()
        daemon = house.up()
        assert not daemon.call("demo.open")["ends_with_this"]
        assert daemon.terminate() == 0
        held = holder(shown.lock)
        assert held is not None
        assert held.pid == month_shown.ready["pid"]
        assert month_shown.terminate() == 0


def test_the_verb_shows_it_and_finds_it_again(month: Path) -> None:
    with a_house(month.with_name("gnomon")) as house:
        assert beside(house.root) == month
        shown = house.json("demo", "--no-open")
        try:
            assert shown["ready"]
            again = house.json("demo", "--no-open")
            assert again["url"].startswith(shown["url"])
        finally:
            gnomon = house.command("down", "--home", str(month))
            subprocess.run(gnomon, env=house.env(), check=True, timeout=60, capture_output=True)
    assert json.loads(Home(month).format_file.read_bytes())["simulated"] is True
