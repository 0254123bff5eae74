"""The program itself: its entry point, its streams, its progress bar."""

import io
import json
import os
import sys
import termios
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from gnomon.cli import main as program
from gnomon.cli.app import build
from gnomon.cli.output import Output, of_this_process, terminal_width
from gnomon.cli.progress import Progress
from gnomon.daemon import main as daemon
from tests.fake_gnomon import FakeConnection, run_cli


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


class Executed(BaseException):
    """The process became another one."""


def test_up_becomes_the_daemons_program_without_looking_in_the_current_folder(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[list[str]] = []

    def become(_: str, command: list[str]) -> None:
        seen.append(command)
        raise Executed

    monkeypatch.setattr(os, "execv", become)
    monkeypatch.setattr(sys, "argv", ["gnomon", "--home", "/h", "up", "--port", "0"])
    with pytest.raises(Executed):
        program.main()
    command = [sys.executable, "-P", "-m", "gnomon.daemon.main"]
    assert seen == [[*command, "--home", "/h", "--port", "0"]]


@pytest.mark.parametrize("home", [["--home", ""], ["--home="]])
@pytest.mark.parametrize("verb", ["up", "status"])
def test_an_empty_home_is_wrong_usage_and_not_the_current_folder(
    home: list[str],
    verb: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["gnomon", verb, *home])
    assert program.main() == 2
    assert "names no folder" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_up_of_a_home_that_is_a_file_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "home"
    file.touch()
    assert daemon.main(["--home", str(file)]) == 1
    assert "is not a folder. Name one with --home" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["init", "status"])
def test_no_agent_is_made_outside_its_folder(tmp_path: Path, verb: str) -> None:
    ran = run_cli(FakeConnection({}), verb, "--home", str(tmp_path), "--agent", "../x")
    assert (ran.code, list(tmp_path.iterdir())) == (2, [])
    assert daemon.main(["--home", str(tmp_path), "--agent", "../x"]) == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--prt", "0"], "`up` takes no '--prt'. Did you mean --port?"),
        (["--prot=0"], "`up` takes no '--prot=0'. Did you mean --port?"),
        (["--fore"], "`up` takes no '--fore'. Did you mean --foreground?"),
        (["now"], "`up` takes no 'now'. `gnomon up --help` lists what there is."),
        (["--port"], "Argument --port: expected one argument."),
        (["--port", "x"], "Argument --port: 'x' is no port: 0 to 65535."),
        (["--port", "99999"], "Argument --port: '99999' is no port: 0 to 65535."),
    ],
)
def test_a_wrong_option_of_up_is_one_sentence_with_what_was_meant(
    given: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert daemon.main(["--home", str(tmp_path / "home"), *given]) == 2
    shown = capsys.readouterr()
    assert shown.err.startswith(said)
    assert len(shown.err.splitlines()) == 1
    assert daemon.main(["--home", str(tmp_path / "home"), *given, "--json"]) == 2
    error = json.loads(capsys.readouterr().out)["error"]
    assert (error["code"], error["message"].startswith(said)) == ("usage", True)
    assert list(tmp_path.iterdir()) == []


def test_the_ready_words_say_once_how_gnomon_is_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / ".venv" / "bin" / "gnomon"
    own.parent.mkdir(parents=True)
    own.touch(0o755)
    monkeypatch.setattr(sys, "prefix", str(tmp_path / ".venv"))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert "type .venv/bin/gnomon, or put it on your PATH." in daemon.way_in("http://x")
    monkeypatch.chdir("/")
    assert f"type {own}, or" in daemon.way_in("http://x")
    monkeypatch.setenv("PATH", str(own.parent))
    assert "PATH" not in daemon.way_in("http://x")


def test_a_home_that_is_not_the_usual_one_is_named_in_what_opens_and_ends_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GNOMON_HOME", "/h/gnomon")
    assert daemon.named(Path("/h/gnomon")) == ""
    other = daemon.named(Path("/h/my gnomon-demo"))
    facts: dict[str, object] = {"pid": 1, "seconds": 0.1, "login": "http://x"}
    daemon.say_ready(facts, as_json=False, named=other)
    said = capsys.readouterr().out
    assert "`gnomon open --home '/h/my gnomon-demo'` makes a fresh one" in said
    assert "`gnomon down --home '/h/my gnomon-demo'` ends it" in said
    assert "`gnomon down` ends it" in daemon.way_in("http://x")


def test_a_pause_that_goes_on_is_said_at_the_start(capsys: pytest.CaptureFixture[str]) -> None:
    facts: dict[str, object] = {"pid": 1, "seconds": 0.1, "login": "http://x"}
    daemon.say_ready({**facts, "paused_until": "you resume it"}, as_json=False)
    assert "It is paused until you resume it: `gnomon resume`" in capsys.readouterr().out
    daemon.say_ready({**facts, "paused_until": None}, as_json=False)
    assert "paused" not in capsys.readouterr().out


def test_up_takes_the_agent_that_the_environment_names() -> None:
    assert daemon.parser({"GNOMON_AGENT": "ada"}).parse_args([]).agent == "ada"
    assert daemon.parser({"GNOMON_AGENT": "ada"}).parse_args(["--agent", "bo"]).agent == "bo"
    assert daemon.parser({}).parse_args([]).agent == "main"


def test_the_verb_of_the_help_page_leads_to_the_same_program(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[list[str]] = []
    monkeypatch.setattr(os, "execv", lambda _, command: seen.append(command))
    run_cli(FakeConnection({}), "up", "--home", "/h", "--port", "0", "--json")
    flags = ["--home", "/h", "--agent", "main", "--port", "0", "--json"]
    assert seen[0][4:] == flags


def test_the_entry_point_answers_with_an_exit_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["gnomon", "--version"])
    assert program.main() == 0
    assert capsys.readouterr().out.startswith("gnomon ")
    monkeypatch.setattr(sys, "argv", ["gnomon", "nonsense"])
    assert program.main() == 2


def test_colour_is_for_terminals_that_want_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal())
    monkeypatch.setattr(sys, "stdout", Terminal())
    assert of_this_process({}).colour
    assert of_this_process({}).interactive
    assert not of_this_process({"NO_COLOR": "1"}).colour
    assert not of_this_process({"TERM": "dumb"}).colour
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert not of_this_process({}).colour
    assert not of_this_process({}).interactive


def test_what_an_old_terminal_cannot_show_is_shown_by_its_code(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    output = of_this_process({})
    output.stream("“ok”", output.flow())
    assert raw.getvalue() == b"\\u201cok\\u201d"


def test_only_a_terminal_has_a_width() -> None:
    ours, terminal = os.openpty()
    with open(terminal, "w", encoding="utf-8") as stream, open(ours, "rb") as _:
        for columns, width in ((80, 80), (12, None)):
            termios.tcsetwinsize(stream.fileno(), (24, columns))
            assert terminal_width(stream) == width
    assert terminal_width(io.StringIO()) is None
    with open(os.devnull, "w", encoding="utf-8") as file:
        assert terminal_width(file) is None


def test_a_reader_that_has_enough_is_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    discarded: list[int] = []
    monkeypatch.setattr(os, "dup2", lambda _, stream: discarded.append(stream))
    with open(os.devnull, "w", encoding="utf-8") as closed:
        monkeypatch.setattr(sys, "stdout", closed)
        assert run_cli(FakeConnection({"status.show": BrokenPipeError()}), "status").code == 1
    assert len(discarded) == 1


def test_progress_shows_on_a_terminal_and_nowhere_else() -> None:
    shown = Terminal()
    with Progress(Output(out=io.StringIO(), err=shown), "Reading") as progress:
        progress.part({"file": "a\x1b]0;x\x07.jsonl", "read": 1, "total": 2})
        progress.part({"text": "[bold]b"})
    assert "Reading" in shown.getvalue()
    assert "\x1b]0;" not in shown.getvalue()
    silent = io.StringIO()
    with Progress(Output(out=io.StringIO(), err=silent), "Reading") as progress:
        progress.part({"file": "a", "read": 1, "total": 2})
    assert silent.getvalue() == ""


def verbs(words: str, command: Any) -> Iterator[tuple[str, Any]]:
    for name, sub in getattr(command, "commands", {}).items():
        if getattr(sub, "commands", None):
            yield from verbs(f"{words}{name} ", sub)
        else:
            yield f"{words}{name}", sub


@pytest.mark.parametrize(
    ("words", "command"), list(verbs("", typer.main.get_command(build()))), ids=str
)
def test_every_verb_takes_what_all_take_and_teaches_by_example(words: str, command: Any) -> None:
    options = {name for parameter in command.params for name in parameter.opts}
    assert {"--home", "--agent", "--json"} <= options
    assert f"`gnomon {words}" in command.help
    assert "Example" in command.help
