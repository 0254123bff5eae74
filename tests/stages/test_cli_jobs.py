"""The verbs of `jobs`."""

import json
from pathlib import Path

from gnomon.domain.views_change import JobDone, JobView
from tests.fake_gnomon import FakeConnection, run_cli
from tests.stages.test_cli_fitness import a_home

WAITING = JobView(name="judge", summary="Decides", due=False, why_not="Nothing.", last_at=None)
DONE = JobDone(name="judge", ran=True, done=("change-0001 is kept.",), why_not=None)


def test_jobs_are_listed():
    connection = FakeConnection({"jobs.list": [WAITING]})
    assert "Decides" in run_cli(connection, "jobs", "list").out
    [told] = json.loads(run_cli(connection, "jobs", "list", "--json").out)
    assert told == {
        "name": "judge",
        "summary": "Decides",
        "due": False,
        "why_not": "Nothing.",
        "last_at": None,
    }


def test_a_job_is_run_and_tells_what_it_did():
    connection = FakeConnection({"jobs.run": DONE})
    ran = run_cli(connection, "jobs", "run", "judge", "--json")
    assert json.loads(ran.out) == {
        "name": "judge",
        "ran": True,
        "done": ["change-0001 is kept."],
        "why_not": None,
    }
    assert connection.asked == [("jobs.run", {"name": "judge"})]
    assert "is kept" in run_cli(connection, "jobs", "run", "judge").out


def test_another_time_is_passed_on_and_a_copy_is_worked_on(tmp_path: Path):
    home = a_home(tmp_path)
    connection = FakeConnection({"jobs.run": DONE})
    then = "2026-05-31T18:00:00Z"
    ran = run_cli(
        connection, "--home", str(home.root), "jobs", "run", "judge", "--now", then, "--copy"
    )
    assert ran.code == 0
    assert connection.asked == [("jobs.run", {"name": "judge", "now": then})]
    assert ran.home is not None
    assert ran.home.root != home.root
