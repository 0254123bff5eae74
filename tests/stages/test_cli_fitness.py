"""The verb `fitness`, and the copy that it may work on."""

import json
from pathlib import Path

import pytest

from gnomon.cli.home_copy import copied
from gnomon.daemon.store.create import ensure_home, is_simulated
from gnomon.domain.errors import HomeError
from gnomon.domain.views_referee import Retuned, Written
from gnomon.home import Home
from gnomon.testing.referee import a_fitness
from tests.fake_gnomon import FakeConnection, run_cli

WRITTEN = Written(now="2026-05-24T18:00:00.000Z", windows=1, amendments=0, gaps=0)


def test_its_json_has_the_promised_fields():
    ran = run_cli(FakeConnection({"fitness.show": a_fitness()}), "fitness", "--json")
    found = json.loads(ran.out)
    assert set(found["windows"][0]) >= {
        "window_start", "window_end", "window_seconds", "stall_composite", "components",
        "engagement_rate", "engagement_counts", "system_unavailable_count",
        "system_unavailable_seconds", "tick_count", "reflection_count",
        "executive_attempt_count", "scaffold_version", "stall_reason", "engagement_reason",
        "pending", "mature", "mixed_scaffold", "config_sha256", "inputs",
    }  # fmt: skip
    assert [pool["days"] for pool in found["pooled"]] == [7, 28]
    assert set(found["pooled"][0]) >= {
        "days", "acted", "acked", "ignored", "rate", "interval", "unavailable", "open",
    }  # fmt: skip


def test_it_says_what_the_page_says():
    ran = run_cli(FakeConnection({"fitness.show": a_fitness()}), "fitness", "--since", "2d")
    assert "Used 14 of 22 (64%), last 7 days." in ran.out
    assert "Going in circles: 0.19" in ran.out


def test_run_due_measures_first_and_passes_the_time_on():
    connection = FakeConnection({"fitness.run": WRITTEN, "fitness.show": a_fitness()})
    ran = run_cli(connection, "fitness", "--run-due", "--now", "2026-05-24T18:01:00Z", "--json")
    assert json.loads(ran.out)["written"]["windows"] == 1
    assert [name for name, _ in connection.asked] == ["fitness.run", "fitness.show"]
    assert all(given["now"] == "2026-05-24T18:01:00Z" for _, given in connection.asked)


def test_retune_stands_alone():
    connection = FakeConnection({"fitness.retune": Retuned(days=28, answers=())})
    assert run_cli(connection, "fitness", "--retune").code == 0
    assert run_cli(connection, "fitness", "--retune", "--run-due").code == 2


# --- the copy ------------------------------------------------------------------------------------


def a_home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home")
    ensure_home(home, home.agent("main"))
    home.anchors.write_text("anchors")
    (home.models / "weights.bin").write_text("large")
    home.agent("main").engagement_ledger.write_text("line\n")
    return home


def test_a_copy_is_simulated_and_gone_afterwards(tmp_path: Path):
    home = a_home(tmp_path)
    with copied(home) as copy:
        assert is_simulated(copy)
        assert not is_simulated(home)
        assert copy.agent("main").engagement_ledger.read_text() == "line\n"
        assert copy.anchors.read_text() == "anchors"
        assert not (copy.models / "weights.bin").exists()
        copy.agent("main").engagement_ledger.write_text("changed\n")
    assert not copy.root.exists()
    assert home.agent("main").engagement_ledger.read_text() == "line\n"


def test_what_is_no_home_is_not_copied(tmp_path: Path):
    with pytest.raises(HomeError, match="no home"), copied(Home(tmp_path / "nothing")):
        pass


def test_the_verb_works_on_the_copy_and_not_on_the_home(tmp_path: Path):
    home = a_home(tmp_path)
    connection = FakeConnection({"fitness.show": a_fitness()})
    ran = run_cli(connection, "--home", str(home.root), "fitness", "--copy")
    assert ran.code == 0
    assert ran.home is not None
    assert ran.home.root != home.root
    assert connection.closed == 1
