"""Where people go from what the CLI said: in their home, with words that are whole."""

import json
from pathlib import Path

import msgspec
import pytest

from gnomon.daemon import main as daemon
from gnomon.domain.errors import NeedsOperatorError
from gnomon.domain.views import ModelView
from gnomon.domain.views_change import JobView
from gnomon.home import Home, carried
from gnomon.lock import HomeLock
from tests.fake_gnomon import FakeConnection, run_cli
from tests.stages.test_cli_verbs import STATUS

STOPPED = msgspec.structs.replace(STATUS, running=False, pid=None, url=None)


@pytest.mark.parametrize(
    "arguments",
    [
        ["status", "--home", "/h x"],
        ["--home", "/h x", "status"],
        ["--home=/other", "status", "--home=/h x"],
    ],
)
def test_a_home_that_was_named_is_named_in_the_next_step(arguments: list[str]) -> None:
    out = run_cli(FakeConnection({"status.show": STOPPED}), *arguments).out
    assert "Start it: gnomon --home '/h x' up\n" in out


def test_errors_name_it_too_and_json_does_not() -> None:
    error = NeedsOperatorError("Gnomon is not running.", next_step="`gnomon up` starts it.")
    connection = FakeConnection({"kernel.pause": error})
    ran = run_cli(connection, "pause", "--home", "/h", "--agent", "b")
    assert ran.err == "Gnomon is not running. `gnomon --home /h --agent b up` starts it.\n"
    ran = run_cli(connection, "pause", "--home", "/h", "--json")
    assert json.loads(ran.err)["error"]["next_step"] == "`gnomon up` starts it."


def test_the_usual_home_and_one_of_the_environment_need_no_option(tmp_path: Path) -> None:
    environ = {"GNOMON_HOME": "/h", "GNOMON_AGENT": "b"}
    assert carried(["status"], environ) == ""
    assert carried(["status", "--home", "/h", "--agent=b"], environ) == ""
    assert carried(["status", "--home"], environ) == ""
    assert carried(["status", "--home", "/i", "--agent", "main"], environ) == (
        " --home /i --agent main"
    )
    assert carried([f"--home={tmp_path}"], {}) == f" --home {tmp_path}"


def test_a_home_that_is_relative_is_named_from_the_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert carried(["--home", "h"], {}) == f" --home {tmp_path / 'h'}"


def test_up_that_fails_names_the_home_as_well(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["--home", str(tmp_path), "--port", "0", "--no-open"]
    lock = HomeLock.acquire(Home(tmp_path).lock, pid=4711, url="http://127.0.0.1:9")
    assert daemon.main([*given, "--foreground"]) == 1
    assert daemon.main(given) == 1
    lock.release()
    assert capsys.readouterr().err.count(f"`gnomon --home {tmp_path} down` ends it") == 2


def test_a_simulated_home_that_is_kept_is_looked_at_with_its_name(tmp_path: Path) -> None:
    from gnomon.cli.verbs_simulate import lines_of
    from gnomon.simulate.world import Plan, simulate

    lived = simulate(Plan(days=1, seed=1, keep=tmp_path / "my month"))
    *_, last = lines_of(lived)
    assert last.text == f"Look at it: gnomon --home '{tmp_path}/my month' status"


def test_nothing_is_lived_for_a_place_that_is_taken(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "file").touch()
    for place, what in (("old", "is not empty"), ("old/file", "is not a folder")):
        kept = str(tmp_path / place)
        ran = run_cli(FakeConnection({}), "simulate", "--days", "1", "--keep", kept)
        assert ran.code == 2
        assert ran.err == f"{kept} {what}. Name a new folder with --keep.\n"


# --- on a terminal -----------------------------------------------------------------------------


def test_long_lines_are_broken_between_words_on_a_terminal_and_nowhere_else() -> None:
    refine = JobView(name="refine", summary="An edit", due=False, last_at=None, why_not="x " * 60)
    for answers, verb in (
        ({"status.show": STATUS}, ["status"]),
        ({"jobs.list": [refine]}, ["jobs", "list"]),
    ):
        piped = run_cli(FakeConnection(answers), *verb).out
        shown = run_cli(FakeConnection(answers), *verb, width=60).out
        assert max(map(len, piped.splitlines())) > 60
        assert max(map(len, shown.splitlines())) <= 60
        assert shown.split() == piped.split()


def test_what_is_exact_is_left_to_the_terminal() -> None:
    from gnomon.cli.render_approvals import diff_lines

    assert {line.words for line in diff_lines("--- a\n+++ b\n+gnomon up " + "x " * 90)} == {"exact"}


def test_json_is_never_broken() -> None:
    ran = run_cli(FakeConnection({"status.show": STATUS}), "status", "--json", width=40)
    assert len(ran.out.splitlines()) == 1


@pytest.mark.parametrize(
    ("model", "why"),
    [
        (STATUS.model, "now shadow (thinks only): what embedded says is not to be believed"),
        (ModelView(name="none", kind="none", loaded=False), ": there is no model to speak with"),
    ],
)
def test_status_says_why_less_holds_than_what_was_set(model: ModelView, why: str) -> None:
    status = msgspec.structs.replace(STATUS, model=model)
    assert why in run_cli(FakeConnection({"status.show": status}), "status").out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["journal", "--lines", "0"], "--lines is at least 1. "),
        (["journal", "--lines", "x"], "--lines takes a whole number. "),
        (["inbox", "emit", "--title", "x", "--kind", "artefact"], "Did you mean artifact? "),
        (["simulate", "--operator", "busi"], "Did you mean busy? "),
    ],
)
def test_wrong_usage_has_no_words_of_the_framework(arguments: list[str], said: str) -> None:
    ran = run_cli(FakeConnection({}), *arguments)
    assert ran.code == 2
    assert said in ran.err
    assert not any(word in ran.err for word in ("Input", "Value error", "Invalid"))
