"""A home that this user cannot work in is refused by name, before anything is begun."""

import os
from pathlib import Path

import pytest

from gnomon.cli import verbs_demo
from gnomon.daemon.main import main
from gnomon.daemon.store.create import check_writable, open_log
from gnomon.domain.errors import HomeError
from gnomon.home import Home
from tests.fake_gnomon import FakeConnection, Ran, run_cli


def test_a_folder_that_cannot_be_written_is_named_with_what_to_do(tmp_path: Path) -> None:
    closed = tmp_path / "agents" / "main"

    def may(path: Path, mode: int) -> bool:
        assert mode == os.R_OK | os.W_OK | os.X_OK
        return path != closed

    check_writable([tmp_path], may)
    with pytest.raises(HomeError, match="cannot be written by the user who runs") as refused:
        check_writable([tmp_path, closed, tmp_path / "other"], may)
    assert str(closed) in refused.value.message
    assert "--home" in refused.value.next_step
    assert refused.value.facts == {"file": str(closed)}


def test_a_log_that_cannot_be_written_is_named_with_what_to_do(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.log.mkdir()
    with pytest.raises(HomeError, match="cannot be written") as refused:
        open_log(home)
    assert "--home" in refused.value.next_step


def test_up_in_a_home_whose_log_cannot_be_written_is_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Home(tmp_path).log.mkdir()
    assert main(["--home", str(tmp_path), "--no-open"]) == 1
    assert str(Home(tmp_path).log) in capsys.readouterr().err


def the_demo(home: Path) -> Ran:
    return run_cli(FakeConnection({}), "demo", "--home", str(home), "--no-open")


def test_the_demo_names_the_place_that_it_cannot_use_and_what_to_do(tmp_path: Path) -> None:
    in_the_way = tmp_path / "gnomon-demo"
    in_the_way.write_text("a file")
    ran = the_demo(tmp_path / "gnomon")
    assert ran.code == 1
    assert f"{in_the_way} is not a folder" in ran.err
    assert "--home" in ran.err
    below = the_demo(in_the_way / "deeper")
    assert below.code == 1
    assert f"{in_the_way / 'deeper-demo'}" in below.err


def test_the_demo_leaves_a_folder_that_holds_something_else(tmp_path: Path) -> None:
    own = tmp_path / "gnomon-demo" / "letter.txt"
    own.parent.mkdir()
    own.write_text("mine")
    ran = the_demo(tmp_path / "gnomon")
    assert ran.code == 1
    assert f"{own.parent} holds something else" in ran.err
    assert own.read_text() == "mine"


def test_the_demo_beside_a_home_that_is_no_folder_is_refused_as_up_refuses_it(
    tmp_path: Path,
) -> None:
    plain = tmp_path / "gnomon"
    plain.write_text("a file")
    for home in (plain, Path(os.devnull)):
        ran = the_demo(home)
        assert ran.code == 1
        assert f"{home} is not a folder" in ran.err
    assert not (tmp_path / "gnomon-demo").exists()


def test_the_demo_tells_of_the_days_while_it_lives_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[str]] = []
    monkeypatch.setattr(os, "execv", lambda _, command: seen.append(command))
    monkeypatch.setattr(verbs_demo, "DAYS", 1)
    monkeypatch.setattr(verbs_demo, "DAYS_A_LINE", 1)
    ran = the_demo(tmp_path / "gnomon")
    assert ran.code == 0
    assert "Day 1 of 1" in ran.err
    assert seen[0][4:6] == ["--home", str(tmp_path / "gnomon-demo")]
