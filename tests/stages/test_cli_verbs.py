"""The verbs against a Gnomon that answers from a table: words, JSON, exit codes, arguments."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gnomon.domain.errors import GnomonError, NeedsOperatorError, UsageError
from gnomon.domain.views import (
    BudgetView,
    Check,
    Diagnosis,
    Done,
    FirstBad,
    Folder,
    Journal,
    LedgerReport,
    LoginLink,
    ModelOffer,
    ModelView,
    Source,
    StandingCost,
    Status,
    Verification,
)
from gnomon.domain.views_history import (
    BadLine,
    Correction,
    CostRow,
    FailureGroup,
    ImportRow,
    LooseEnd,
    Repeat,
    Report,
    TokenCounts,
)
from tests.fake_gnomon import FakeConnection, run_cli

STATUS = Status(
    running=True,
    pid=42,
    agent="main",
    mode="soft",
    effective_mode="shadow",
    model=ModelView(name="embedded", kind="demo", loaded=False),
    ticks=7,
    reflections=3,
    skipped={"idle": 3, "budget": 1},
    jail={"resident": "full", "importer": "full"},
    autonomy="full",
    budget=BudgetView(
        usd_per_day=1.0,
        usd_spent_today=0.0,
        tokens_per_day=2_000_000,
        tokens_spent_today=900,
        duty_cycle_left_seconds=360.0,
        breaker_open_until="2026-05-24T18:00:00.000Z",
    ),
    standing_cost=StandingCost(tokens_per_hour=900.0, usd_per_hour=0.0, seconds_per_hour=60.0),
    url="http://127.0.0.1:4666",
    home="/home/me/gnomon",
    next_tick_at="2026-05-24T18:02:00.000Z",
    last_focus="the flaky\ntest",
)
QUOTE = Source(
    source="codex",
    session="s-1",
    at="2026-05-24T18:00:00.000Z",
    path="/logs/a.jsonl",
    line=7,
    quote="use pnpm,\x1b[2J not npm",
)
REPORT = Report(
    corrections=(
        Correction(text="use pnpm, not npm", sessions=7, last_at=QUOTE.at, sources=(QUOTE,)),
    ),
    failures=(
        FailureGroup(tool="shell", family="exit-1", count=9, median_minutes_to_success=2.5),
        FailureGroup(tool="edit", family="no-match", count=12, median_minutes_to_success=None),
        FailureGroup(tool="read", family="timeout", count=1, median_minutes_to_success=None),
    ),
    repeats=(Repeat(procedure="test, build, tag", count=4, clean=3),),
    loose_ends=(
        LooseEnd(
            session="s-9",
            kind="error",
            at=None,
            resume="codex resume s-9",
            title="ship it",
            project="/home/me/shop",
        ),
    ),
    cost=(
        CostRow(project="/home/me/shop", model="big", usd=1.25),
        CostRow(project=None, model="unlisted", usd=None),
    ),
)
ROW = ImportRow(
    file="/logs/a.jsonl",
    format="codex",
    sessions=1,
    user_turns=2,
    tool_calls={"shell": 3},
    tool_errors=None,
    interruptions=0,
    rejections=0,
    models=("big",),
    tokens=TokenCounts(input=1, output=2, cache_read=None, cache_creation=None),
    first_at="2026-05-24T18:00:00.000Z",
    last_at=None,
    bad_lines=(BadLine(line=3, reason="not JSON"),),
    new_observations=2,
)
NOT_ONE = msgspec.structs.replace(
    ROW,
    file="/logs/b.txt",
    format=None,
    sessions=0,
    tool_calls={},
    bad_lines=(),
    new_observations=0,
)
GNOMON = {
    "status.show": STATUS,
    "folders.list": [Folder(path="/notes", writable=False), Folder(path="/p", writable=True)],
    "folders.add": Done(detail="It may read /notes now."),
    "folders.remove": Done(detail="It may not read /notes any more."),
    "model.list": [
        ModelOffer(name="embedded", kind="demo", current=True, detail="built in", use={}),
        ModelOffer(name="qwen3:8b", kind="local", current=False, detail="Ollama", use={}),
    ],
    "model.use": Done(detail="qwen3:8b answers from now on."),
    "model.fetch": Done(detail="It is there."),
    "kernel.pause": Done(detail=""),
    "kernel.resume": Done(detail=""),
    "login.link": LoginLink(url="http://127.0.0.1:4666/login?t=x", expires_at=""),
    "journal.tail": Journal(lines=("18:00 started", "18:01 \x1b[31mred")),
    "trust.doctor": Diagnosis(
        checks=(Check(name="python", ok=True, level="ok", detail="3.11", fix=""),)
    ),
    "trust.verify": Verification(
        ok=True, ledgers=(LedgerReport(name="spend-ledger", lines=1, head="ab" * 32, ok=True),)
    ),
    "history.import": [ROW, NOT_ONE],
    "history.report": REPORT,
}


def gnomon(**other: object) -> FakeConnection:
    return FakeConnection({**GNOMON, **{name.replace("_", "."): it for name, it in other.items()}})


def test_status_says_what_it_is_and_does_on_one_screen() -> None:
    ran = run_cli(gnomon(), "status")
    assert ran.code == 0
    for words in (
        "Gnomon runs (pid 42).",
        "soft (speaks), autonomy full; now shadow (thinks only)",
        "embedded, not loaded: built-in demo model; don't trust what it says",
        "7, 3 reflections",
        "idle 3, budget 1",
        "importer full, resident full",
        "no calls until 2026-05-24 18:00 UTC: the model kept failing",
        "900 tokens, $0.0000, 60 s of inference in the last hour",
        "the flaky test",
        "next tick   2026-05-24 18:02 UTC",
    ):
        assert words in ran.out
    assert len(ran.out.splitlines()) <= 16


def test_what_it_is_doing_is_said_in_words() -> None:
    def said(**doing: Any) -> str:
        status = msgspec.structs.replace(STATUS, **doing)
        out = run_cli(gnomon(status_show=status), "status").out
        return next(line for line in out.splitlines() if line.startswith("doing"))

    assert "resting; it has no model" in said(doing="no-model")
    assert "answering you" in said(doing="chat")
    assert "resting" in said(doing=None)
    assert "nothing" in said(doing=None, running=False)
    assert "something-new" in said(doing="something-new")


def test_status_of_what_does_not_run_says_how_to_start_it() -> None:
    idle = msgspec.structs.replace(
        STATUS,
        running=False,
        pid=None,
        effective_mode="soft",
        model=ModelView(name="none", kind="none", loaded=False),
        paused_until="2026-05-24T18:00:00.000Z",
        standing_cost=StandingCost(tokens_per_hour=None, usd_per_hour=None, seconds_per_hour=None),
    )
    out = run_cli(gnomon(status_show=idle), "status").out
    assert "Gnomon is not running.\nStart it: gnomon up\n" in out
    assert "until 2026-05-24 18:00 UTC" in out
    assert "an hour" not in out


def test_a_pause_without_an_end_is_told_in_its_words() -> None:
    resting = msgspec.structs.replace(STATUS, paused_until="you resume it")
    out = run_cli(gnomon(status_show=resting), "status").out
    assert "until you resume it\n" in out


@pytest.mark.parametrize(
    "verb",
    [
        ("status",),
        ("report",),
        ("journal",),
        ("doctor",),
        ("verify",),
        ("folders", "list"),
        ("model", "list"),
        ("import", "--from", "codex"),
    ],
)
def test_every_reading_verb_has_json_of_what_was_answered(verb: tuple[str, ...]) -> None:
    connection = gnomon()
    ran = run_cli(connection, *verb, "--json")
    assert ran.code == 0
    assert ran.err == ""
    assert json.loads(ran.out) == json.loads(msgspec.json.encode(GNOMON[connection.asked[0][0]]))
    assert connection.closed == 1
    assert ran.out.isascii()
    assert "\x1b" not in ran.out


@pytest.mark.parametrize("verb", [("status",), ("report",), ("journal",), ("import", "/")])
def test_words_of_others_never_reach_the_terminal_raw(verb: tuple[str, ...]) -> None:
    assert "\x1b" not in run_cli(gnomon(), *verb).out


def test_colour_is_ours_alone() -> None:
    out = (
        run_cli(gnomon(), "journal", colour=True).out + run_cli(gnomon(), "status", colour=True).out
    )
    assert "\x1b[32mGnomon runs" in out
    assert "\\x1b[31mred" in out


def test_home_and_agent_are_taken_before_and_after_the_verb() -> None:
    for arguments in (
        ["--home", "/a", "--agent", "x", "status"],
        ["status", "--home", "/a", "--agent", "x"],
        ["--home", "/b", "--agent", "y", "status", "--home", "/a", "--agent", "x"],
        ["folders", "--home", "/a", "--agent", "x", "list"],
        ["model", "list", "--home", "/a", "--agent", "x"],
    ):
        ran = run_cli(gnomon(), *arguments)
        assert ran.home is not None
        assert (str(ran.home.root), ran.agent) == ("/a", "x")


def test_the_environment_names_the_home_when_no_option_does() -> None:
    ran = run_cli(gnomon(), "status", environ={"GNOMON_HOME": "/e", "GNOMON_AGENT": "z"})
    assert ran.home is not None
    assert (str(ran.home.root), ran.agent) == ("/e", "z")
    assert run_cli(gnomon(), "status").agent == "main"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (GnomonError("It broke.", next_step="Mend it.", where="here"), 1),
        (UsageError("Wrong.", next_step="Mend it.", where="here"), 2),
        (NeedsOperatorError("Yours.", next_step="Mend it.", where="here"), 3),
    ],
)
def test_an_error_is_a_sentence_a_next_step_and_an_exit_code(error: GnomonError, code: int) -> None:
    ran = run_cli(gnomon(status_show=error), "status")
    assert (ran.code, ran.out, ran.err) == (code, "", f"{error.message} Mend it.\n")
    ran = run_cli(gnomon(status_show=error), "status", "--json")
    assert (ran.code, ran.out) == (code, "")
    assert json.loads(ran.err)["error"] == {
        "code": error.code,
        "message": error.message,
        "next_step": "Mend it.",
        "facts": {"where": "here"},
    }


@pytest.mark.parametrize(
    "arguments",
    [
        ["statsu"],
        ["status", "--nope"],
        ["journal", "--lines", "many"],
        ["journal", "--lines", "0"],
        ["import"],
        ["import", "/", "--from", "codex"],
        ["import", "--from", "hermes"],
        ["import", "/no/such/file"],
        ["pause", "--for", "soon"],
        ["folders", "add"],
    ],
)
def test_wrong_usage_is_exit_code_2_in_words_and_in_json(arguments: list[str]) -> None:
    ran = run_cli(gnomon(), *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert len(ran.err.strip().splitlines()) == 1
    ran = run_cli(gnomon(), *arguments, "--json")
    assert json.loads(ran.err)["error"]["code"] == "usage"


def test_wrong_usage_names_the_help_of_its_verb() -> None:
    ran = run_cli(gnomon(), "folders", "add")
    assert ran.err == "Missing argument 'path'. `gnomon folders add --help` lists what there is.\n"


@pytest.mark.parametrize("arguments", [[], ["model"]])
def test_a_group_without_a_verb_shows_its_help_and_no_empty_sentence(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    ran = run_cli(gnomon(), *arguments)
    assert (ran.code, ran.out, ran.err) == (2, "", "")
    assert "Usage: gnomon" in capsys.readouterr().out


def test_ctrl_c_ends_a_verb_without_a_traceback() -> None:
    ran = run_cli(gnomon(status_show=KeyboardInterrupt()), "status")
    assert ran.code == 130
    assert "Traceback" not in ran.err


def test_verify_names_the_first_bad_line_and_exits_1() -> None:
    bad = Verification(
        ok=False,
        ledgers=(
            LedgerReport(
                name="decision-ledger",
                lines=9,
                head="cd" * 32,
                ok=False,
                first_bad=FirstBad(line=4, reason="prev does not match"),
            ),
            LedgerReport(name="anchors", lines=1, head="cd" * 32, ok=False),
        ),
    )
    ran = run_cli(gnomon(trust_verify=bad), "verify")
    assert ran.code == 1
    assert "bad   decision-ledger: line 4: prev does not match" in ran.out
    assert "bad   anchors: its head is not the known one" in ran.out
    assert run_cli(gnomon(trust_verify=bad), "verify", "--json").code == 1


def test_doctor_tells_how_to_mend_and_exits_1_for_a_fault_alone() -> None:
    def found(level: str) -> Diagnosis:
        check = msgspec.convert(
            {
                "name": "jail",
                "ok": False,
                "level": level,
                "detail": "partial",
                "fix": "Install it.",
            },
            type=Check,
        )
        return Diagnosis(checks=(check,))

    warned = run_cli(gnomon(trust_doctor=found("warning")), "doctor")
    assert warned.code == 0
    assert "warn  jail: partial\n      Install it.\n" in warned.out
    assert run_cli(gnomon(trust_doctor=found("error")), "doctor").code == 1


def test_pause_and_resume_say_for_how_long() -> None:
    connection = gnomon()
    assert "Paused for 3 days." in run_cli(connection, "pause", "--for", "3d").out
    assert "Paused until" in run_cli(connection, "pause").out
    assert "It goes on." in run_cli(connection, "resume").out
    assert connection.asked == [
        ("kernel.pause", {"for_seconds": 259_200}),
        ("kernel.pause", {}),
        ("kernel.resume", {}),
    ]


@pytest.mark.parametrize("time", ["900w", "367d", "999999999w"])
def test_a_pause_that_is_too_long_is_refused_in_words(time: str) -> None:
    connection = gnomon()
    ran = run_cli(connection, "pause", "--for", time)
    assert (ran.code, connection.asked) == (2, [])
    assert ran.err == (
        f"{time} is too long: a pause lasts at most 366 days. "
        "Without --for it lasts until `gnomon resume`.\n"
    )


def test_folders_are_granted_by_absolute_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    connection = gnomon()
    assert "may read" in run_cli(connection, "folders", "add", "notes", "--write").out
    assert "may not" in run_cli(connection, "folders", "remove", "notes").out
    assert connection.asked == [
        ("folders.add", {"path": str(tmp_path / "notes"), "writable": True}),
        ("folders.remove", {"path": str(tmp_path / "notes")}),
    ]
    assert "read         /notes\nread, write  /p" in run_cli(connection, "folders", "list").out
    assert "workspace alone" in run_cli(gnomon(folders_list=[]), "folders", "list").out


def test_a_model_is_chosen_by_name_address_and_where_its_key_is() -> None:
    connection = gnomon()
    ran = run_cli(
        connection, "model", "use", "m", "--url", "http://x/v1", "--key-env", "K", "--key-file", "F"
    )
    assert ran.out == "qwen3:8b answers from now on.\n"
    wanted = {"name": "m", "url": "http://x/v1", "key_env": "K", "key_file": "F"}
    assert connection.asked == [("model.use", wanted)]
    assert "* embedded" in run_cli(connection, "model", "list").out.replace("*  ", "* ")
    assert run_cli(connection, "model", "fetch").out == "It is there.\n"


def test_open_needs_a_running_gnomon() -> None:
    assert run_cli(gnomon(), "open").out == "http://127.0.0.1:4666/login?t=x\n"
    stopped = gnomon()
    stopped.running = False
    ran = run_cli(stopped, "open")
    assert ran.code == 3
    assert "gnomon up" in ran.err


def test_down_of_what_does_not_run_is_no_fault(tmp_path: Path) -> None:
    ran = run_cli(gnomon(), "down", "--home", str(tmp_path), "--json")
    assert json.loads(ran.out) == {"detail": "Gnomon is not running here."}


def test_import_counts_names_what_was_bad_and_says_what_is_new() -> None:
    connection = gnomon()
    out = run_cli(connection, "import", "/", "--dry-run").out
    assert "codex  1 session  2 turns  3 calls  errors unknown  2026-05-24 to undated" in out
    assert "/logs/a.jsonl: 1 bad line, the other lines were read\n  line 3: not JSON" in out
    assert "1 file held no transcript." in out
    assert "1 transcript read, 2 turns would be new." in out
    assert connection.asked == [
        ("history.import", {"paths": ["/"], "sources": [], "dry_run": True})
    ]


def test_what_could_not_be_opened_is_no_empty_file_and_ends_with_a_fault() -> None:
    closed = msgspec.structs.replace(
        NOT_ONE, file="/logs/secret", note="unreadable: permission denied"
    )
    ran = run_cli(gnomon(history_import=[ROW, closed]), "import", "/")
    assert ran.code == 1
    assert "/logs/secret: unreadable: permission denied" in ran.out
    assert "held no transcript" not in ran.out


def test_what_held_no_transcript_is_named_and_what_would_have_been_one() -> None:
    none = [msgspec.structs.replace(NOT_ONE, file=f"/n/{at}.txt", note="empty") for at in range(12)]
    out = run_cli(gnomon(history_import=none), "import", "/").out
    assert "12 files held no transcript. Gnomon reads the JSONL transcripts of Claude Code" in out
    assert "  /n/9.txt: empty\n  and 2 more: --json lists them\n" in out
    assert "0 transcripts read, 0 turns new.\n" in out
    assert "gnomon report" not in out


def test_a_folder_without_files_is_told() -> None:
    out = run_cli(gnomon(history_import=[]), "import", "/").out
    assert out == (
        "There was no file. Gnomon reads the JSONL transcripts of Claude Code and Codex.\n"
    )


def test_of_a_file_of_garbage_nothing_is_said_to_be_read() -> None:
    bad = tuple(BadLine(line=at, reason="not JSON") for at in (1, 2))
    garbage = msgspec.structs.replace(NOT_ONE, bad_lines=bad, note="no line could be read")
    out = run_cli(gnomon(history_import=[garbage]), "import", "/").out
    assert "/logs/b.txt: 2 bad lines, nothing could be read\n" in out
    assert "  /logs/b.txt: no line could be read\n" in out


def test_a_long_import_is_summed_up() -> None:
    out = run_cli(gnomon(history_import=[ROW] * 12), "import", "/").out
    assert "and 2 more files" in out
    assert "24 turns new." in out


def test_the_report_has_five_sections_in_order_and_opens_its_sources() -> None:
    out = run_cli(gnomon(), "report").out
    places = [
        out.index(words)
        for words in (
            "What you keep correcting",
            'likely: "use pnpm, not npm" (7 sessions, last 2026-05-24)',
            "/logs/a.jsonl:7",
            "What keeps failing",
            "9 times   2.5 min to the next success",
            "12 times  no success after",
            "1 other error, seen once each: gnomon report --json has them",
            "What repeats",
            "test, build, tag (4 times, 3 clean)",
            "Loose ends",
            "undated error: ship it",
            "codex resume s-9  (in /home/me/shop)",
            "list price, not your bill",
            "$1.25",
            "no listed price",
            "$1.25  together, without 1 that no list has a price for",
        )
    ]
    assert places == sorted(places)
    empty = Report(corrections=(), failures=(), repeats=(), loose_ends=(), cost=())
    out = run_cli(gnomon(history_report=empty), "report").out
    assert out.count("nothing found") == 5
    assert "gnomon import" in out


def test_a_report_without_a_finding_asks_for_no_import_of_what_was_read() -> None:
    read = Report(corrections=(), failures=(), repeats=(), loose_ends=(), cost=(), turns=3)
    out = run_cli(gnomon(history_report=read), "report").out
    assert out.count("nothing found") == 5
    assert "import" not in out


def test_an_empty_section_says_when_something_would_stand_there() -> None:
    read = Report(corrections=(), failures=(), repeats=(), loose_ends=(), cost=(), turns=3)
    out = run_cli(gnomon(history_report=read), "report").out
    assert "nothing found: a correction appears once it was said in 2 sessions" in out
    assert "nothing found: no tool failed the same way twice" in out
    assert "newest session" not in out


def test_a_report_since_a_day_after_the_newest_session_says_so_with_its_date() -> None:
    def out(**changes: Any) -> str:
        none = Report(corrections=(), failures=(), repeats=(), loose_ends=(), cost=(), turns=3)
        missed = msgspec.structs.replace(none, asked_turns=0, **changes)
        return run_cli(gnomon(history_report=missed), "report", "--since", "7d").out

    assert out(newest_at="2026-03-16T10:00:00.000Z").startswith(
        "Nothing within what you asked for: the newest session is of 2026-03-16."
    )
    assert out().startswith("Nothing that was read is of such a project")


def test_a_correction_without_a_date_goes_by_its_session_or_says_that_it_has_none() -> None:
    def last(*sources: Source) -> str:
        said = Correction(text="use pnpm", sessions=2, last_at=None, sources=sources)
        report = Report(corrections=(said,), failures=(), repeats=(), loose_ends=(), cost=())
        return run_cli(gnomon(history_report=report), "report").out

    bare = msgspec.structs.replace(QUOTE, at=None)
    assert "last no date in its transcript)" in last()
    assert "last no date in its transcript)" in last(bare)
    dated = msgspec.structs.replace(bare, session_at="2025-10-01T18:58:38.331Z")
    assert "last session of 2025-10-01)" in last(dated)


def test_what_failed_once_is_no_failure_that_keeps_coming() -> None:
    once = (FailureGroup(tool="read", family="timeout", count=1, median_minutes_to_success=None),)
    report = Report(corrections=(), failures=once, repeats=(), loose_ends=(), cost=(), turns=3)
    out = run_cli(gnomon(history_report=report), "report").out
    assert "timeout" not in out
    assert "1 other error, seen once each" in out
    priced = (CostRow(project=None, model="big", usd=1.0), CostRow(project="p", model="b", usd=2.5))
    report = Report(corrections=(), failures=(), repeats=(), loose_ends=(), cost=priced, turns=3)
    assert "$3.50  together\n" in run_cli(gnomon(history_report=report), "report").out


def test_what_keeps_failing_shows_its_latest_call_and_where_that_stands() -> None:
    quote = msgspec.structs.replace(QUOTE, quote="make test → 2 failed", line=41)
    group = FailureGroup(
        tool="Bash", family="tests", count=2, median_minutes_to_success=1.0, sources=(quote, QUOTE)
    )
    report = Report(corrections=(), failures=(group,), repeats=(), loose_ends=(), cost=(), turns=3)
    out = run_cli(gnomon(history_report=report), "report").out
    assert "make test → 2 failed" in out
    assert "/logs/a.jsonl:41" in out
    assert QUOTE.quote not in out


def test_a_shared_report_holds_counts_and_no_text_or_path() -> None:
    for arguments in (["report", "--share"], ["report", "--share", "--json"]):
        out = run_cli(gnomon(), *arguments).out
        for secret in ("pnpm", "/logs", "/home/me", "s-9", "ship", "shell", "test, build"):
            assert secret not in out
    assert json.loads(out) == {
        "corrections": 1,
        "corrected_sessions": 7,
        "failures": 22,
        "failure_families": 3,
        "repeats": 1,
        "clean_repeats": 3,
        "loose_ends": {"error": 1, "interruption": 0, "open-todos": 0},
        "usd": 1.25,
    }


@pytest.mark.parametrize("verb", ["report", "fitness"])
@pytest.mark.parametrize("since", ["nonsense", "2026-13-40", "yesterdayT1"])
def test_a_since_that_is_neither_a_date_nor_an_age_is_told_both_forms(
    verb: str, since: str
) -> None:
    ran = run_cli(FakeConnection({}), verb, "--since", since)
    assert ran.code == 2
    assert f"'{since}' is no date and no age. Write a date (2026-05-24) or an age (7d)." in ran.err
    assert "isoformat" not in ran.err


def test_since_takes_a_date_or_an_age() -> None:
    connection = gnomon()
    run_cli(connection, "report", "--since", "2026-05-24", "--project", "shop")
    run_cli(connection, "report", "--since", "7d")
    assert connection.asked[0][1] == {"since": "2026-05-24", "project": "shop"}
    since = connection.asked[1][1]["since"]
    assert isinstance(since, str)
    assert since.endswith("Z")


def test_journal_without_a_line_says_so() -> None:
    assert (
        "Nothing has happened yet."
        in run_cli(gnomon(journal_tail=Journal(lines=())), "journal").out
    )


def test_init_makes_a_home_and_says_where(tmp_path: Path) -> None:
    pytest.importorskip("gnomon.daemon.store.create", reason="comes with the daemon")
    home = str(tmp_path / "new")
    ran = run_cli(gnomon(), "init", "--home", home, "--json")
    assert json.loads(ran.out)["created"] is True
    assert json.loads(run_cli(gnomon(), "init", "--home", home, "--json").out)["created"] is False
    assert "# tick_ms = 120000" in (tmp_path / "new" / "config.toml").read_text()


def test_help_teaches_by_example() -> None:
    for verb in ("up", "chat", "import", "report", "pause", "doctor", "verify", "journal"):
        connection = gnomon()
        ran = run_cli(connection, verb, "--help")
        assert ran.code == 0
        assert connection.asked == []


def test_the_version_is_printed() -> None:
    assert run_cli(gnomon(), "--version").out.startswith("gnomon ")


def test_a_model_of_a_server_is_named_with_where_it_runs() -> None:
    served = msgspec.structs.replace(
        STATUS,
        model=ModelView(name="qwen3:8b", kind="local", loaded=True),
        skipped={},
        budget=msgspec.structs.replace(STATUS.budget, breaker_open_until=None),
    )
    out = run_cli(gnomon(status_show=served), "status").out
    assert "qwen3:8b (local)" in out
    assert "skipped     none" in out
    assert "no calls until" not in out
