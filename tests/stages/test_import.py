"""Importing: once, whatever the order, the copies and the crashes; never an empty success."""

import json
import os
from pathlib import Path

import pytest

from gnomon.clock import SystemClock
from gnomon.domain.errors import PipeError, UsageError
from gnomon.domain.ledgers import BODIES
from gnomon.domain.records_observe import ImportedSession, Observation
from gnomon.domain.views_history import ImportRow
from gnomon.ledger.file import LedgerFile
from gnomon.observe.importing import import_paths
from gnomon.testing.observe import ClaudeWriter, importer_here

CASES = Path(__file__).parents[1] / "cases" / "transcripts"
NAME = "observations-imported"


class Place:
    """A ledger on disk, cursors, and a folder of transcripts."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folder = root / "history"
        self.folder.mkdir()
        self.cursors = root / "state" / "import-cursors.bin"
        self.file = root / "observations-imported.jsonl"
        self.told: list = []
        self.ledger = self.open()

    def open(self) -> LedgerFile:
        return LedgerFile.open(self.file, NAME, BODIES[NAME], SystemClock(), self.told.append)

    async def reopen(self) -> None:
        await self.ledger.close()
        self.ledger = self.open()

    async def read(self, *paths: Path, dry_run: bool = False) -> list[ImportRow]:
        return await import_paths(
            paths or (self.folder,),
            self.ledger,
            self.cursors,
            importer_here(),
            self.told.append,
            dry_run=dry_run,
        )

    def observations(self) -> list[Observation]:
        return [line.body for line in self.ledger.read() if isinstance(line.body, Observation)]

    def sessions(self) -> list[ImportedSession]:
        return [line.body for line in self.ledger.read() if isinstance(line.body, ImportedSession)]


@pytest.fixture
async def place(tmp_path: Path):
    made = Place(tmp_path)
    yield made
    await made.ledger.close()


def worked(session: str, *tasks: str) -> ClaudeWriter:
    writer = ClaudeWriter(session)
    for task in tasks:
        writer.user(task)
        call = writer.calls("Bash", {"command": "git status"})
        writer.result(call, "clean")
        writer.says(f"Done: {task}")
    return writer


async def test_importing_twice_changes_nothing(place: Place) -> None:
    first = await place.read(CASES / "claude-code", CASES / "codex")
    await place.ledger.synced()
    before = place.file.read_bytes()
    again = await place.read(CASES / "claude-code", CASES / "codex")
    assert sum(row.new_observations for row in first) == sum(row.user_turns for row in first)
    assert sum(row.new_observations for row in again) == 0
    assert place.file.read_bytes() == before
    plain = [(row.file, row.user_turns, row.tool_calls, row.tokens) for row in first]
    assert plain == [(row.file, row.user_turns, row.tool_calls, row.tokens) for row in again]


async def test_importing_twice_changes_nothing_after_a_restart(place: Place) -> None:
    await place.read(CASES / "claude-code")
    await place.reopen()
    again = await place.read(CASES / "claude-code")
    assert sum(row.new_observations for row in again) == 0


@pytest.mark.parametrize("loss", ["gone", "damaged"])
async def test_lost_cursors_are_made_again_from_the_ledger(place: Place, loss: str) -> None:
    await place.read(CASES / "claude-code")
    await place.ledger.synced()
    before = place.file.read_bytes()
    if loss == "gone":
        place.cursors.unlink()
    else:
        place.cursors.write_bytes(b"\x93not cursors")
    again = await place.read(CASES / "claude-code")
    assert sum(row.new_observations for row in again) == 0
    assert place.file.read_bytes() == before


async def test_a_crash_between_lines_and_cursors_doubles_nothing(place: Place) -> None:
    worked("one", "first task", "second task").write(place.folder)
    await place.read()
    kept = place.cursors.read_bytes()
    worked("two", "third task").write(place.folder)
    await place.read()
    place.cursors.write_bytes(kept)  # as if the second import had died before it saved them
    await place.reopen()
    rows = await place.read()
    assert [row.new_observations for row in rows] == [0, 0]
    assert len(place.observations()) == 3
    assert len(place.sessions()) == 2


async def test_another_ledger_voids_the_cursors(place: Place) -> None:
    worked("one", "first task").write(place.folder)
    await place.read()
    await place.ledger.close()
    place.file.unlink()
    place.ledger = place.open()
    rows = await place.read()
    assert [row.new_observations for row in rows] == [1]


async def test_a_file_that_has_grown_gives_only_what_is_new(place: Place) -> None:
    writer = worked("one", "first task", "second task")
    writer.write(place.folder)
    assert [row.new_observations for row in await place.read()] == [2]
    writer.user("third task")
    writer.says("Done.")
    writer.write(place.folder)
    rows = await place.read()
    assert [(row.user_turns, row.new_observations) for row in rows] == [(3, 1)]
    assert [seen.task for seen in place.observations()] == [
        "first task",
        "second task",
        "third task",
    ]


async def test_a_turn_that_went_on_is_stated_again_and_is_not_new(place: Place) -> None:
    writer = ClaudeWriter("one")
    writer.user("first task")
    writer.write(place.folder)
    await place.read()
    writer.says("Now it is done.")
    writer.write(place.folder)
    rows = await place.read()
    assert [row.new_observations for row in rows] == [0]
    stated = place.observations()
    assert [seen.answer for seen in stated] == [None, "Now it is done."]
    assert stated[0].turn_id == stated[1].turn_id


async def test_a_resumed_copy_counts_once(place: Place) -> None:
    writer = worked("one", "first task", "second task")
    writer.write(place.folder)
    copy = writer.text().replace('"sessionId": "one"', '"sessionId": "two"')
    more = worked("two", "third task")
    more.now = writer.now
    (place.folder / "two.jsonl").write_text(copy + more.text(), "utf-8")
    rows = await place.read()
    assert [(row.user_turns, row.new_observations) for row in rows] == [(2, 2), (3, 1)]
    spent = sum(tokens.input for told in place.sessions() for tokens in told.tokens)
    assert spent == 6 * 100  # two replies a turn, each once


async def test_the_order_of_files_does_not_change_what_is_counted(tmp_path: Path) -> None:
    sums = []
    for order in (("a", "b"), ("b", "a")):
        root = tmp_path / "".join(order)
        root.mkdir()
        place = Place(root)
        writer = worked("one", "first task", "second task")
        for name in order:
            (place.folder / f"{name}.jsonl").write_text(writer.text(), "utf-8")
        await place.read(*(place.folder / f"{name}.jsonl" for name in order))
        spent = sum(tokens.output for told in place.sessions() for tokens in told.tokens)
        sums.append((len(place.observations()), spent))
        await place.ledger.close()
    assert sums[0] == sums[1] == (2, 40)


async def test_a_missing_path_is_a_usage_error_that_names_it(place: Place) -> None:
    with pytest.raises(UsageError, match=r"nowhere\.jsonl does not exist"):
        await place.read(place.folder / "nowhere.jsonl")
    with pytest.raises(UsageError):
        await import_paths((), place.ledger, place.cursors, importer_here(), place.told.append)


async def test_an_unreadable_session_is_not_an_empty_one(place: Place, monkeypatch) -> None:
    path = worked("one", "first task").write(place.folder)
    real = os.open

    def refuse(target, *rest, **more):
        if Path(target) == path:
            raise PermissionError(13, "Permission denied")
        return real(target, *rest, **more)

    monkeypatch.setattr(os, "open", refuse)
    (row,) = await place.read()
    assert row.note == "unreadable: permission denied"
    assert (row.tool_errors, row.interruptions, row.rejections) == (None, None, None)
    monkeypatch.undo()
    (row,) = await place.read()
    assert (row.note, row.new_observations) == (None, 1)


async def test_an_unreadable_folder_has_a_row(place: Place, monkeypatch) -> None:
    (place.folder / "shut").mkdir()
    real = os.scandir

    def refuse(target="."):
        if str(target).endswith("shut"):
            raise PermissionError(13, "Permission denied", str(target))
        return real(target)

    monkeypatch.setattr(os, "scandir", refuse)
    (row,) = await place.read()
    assert (row.file, row.note) == (
        str(place.folder / "shut"),
        "unreadable: permission denied",
    )


async def test_what_is_no_regular_file_is_never_waited_for(place: Place) -> None:
    os.mkfifo(place.folder / "pipe.jsonl")
    (row,) = await place.read(place.folder / "pipe.jsonl")
    assert row.note == "unreadable: invalid argument"
    assert await place.read() == []


async def test_links_inside_a_folder_are_not_followed(place: Place, tmp_path: Path) -> None:
    outside = worked("out", "secret task").write(tmp_path / "outside")
    (place.folder / "link.jsonl").symlink_to(outside)
    assert await place.read() == []


async def test_a_dry_run_writes_no_observation(place: Place) -> None:
    worked("one", "first task").write(place.folder)
    (row,) = await place.read(dry_run=True)
    assert row.new_observations == 1
    assert place.ledger.head.seq == 0
    assert [row.new_observations for row in await place.read()] == [1]


async def test_a_lone_surrogate_is_stored_as_a_replacement_mark(place: Place) -> None:
    writer = ClaudeWriter("one")
    writer.user("an emoji cut in two \ud83c and the text after it")
    writer.says("fine \udfff too")
    (place.folder / "one.jsonl").write_text(writer.text(), "ascii")
    (row,) = await place.read(place.folder / "one.jsonl")
    assert row.bad_lines == ()
    (seen,) = place.observations()
    assert seen.task == "an emoji cut in two \ufffd and the text after it"
    assert seen.answer == "fine \ufffd too"
    place.file.read_bytes().decode("utf-8")
    await place.read(CASES / "derived-malformed" / "05-lone-surrogate.jsonl")
    await place.reopen()  # the chain is read and checked again
    assert len(place.observations()) == 2


async def test_names_from_a_transcript_cannot_break_a_ledger_line(place: Place) -> None:
    writer = ClaudeWriter("sess\u00efon\ud800\nname", cwd="/w\u00f6rk\u0000")
    writer.user("task")
    call = writer.calls("T\u00f6\u00f6l\ud800", {"command": "x"}, model="m\u00f6del")
    writer.result(call, "no", failed=True)
    path = place.folder / "odd.jsonl"
    path.write_text(writer.text(), "ascii")
    (row,) = await place.read(path)
    assert row.new_observations == 1
    (seen,) = place.observations()
    assert list(seen.tools) == ["T\\xf6\\xf6l\\ufffd"]
    assert seen.session == "sess\u00efon\ufffd name"


async def test_absurd_numbers_do_not_reach_the_ledger(place: Place) -> None:
    writer = ClaudeWriter("one")
    writer.user("task")
    writer.says("done", tokens=10**30)
    writer.says("done", tokens=-5)
    writer.write(place.folder)
    (row,) = await place.read()
    assert row.tokens.output == 0
    assert row.bad_lines == ()


async def test_progress_is_told_by_file(place: Place) -> None:
    worked("one", "first task").write(place.folder)
    worked("two", "first task").write(place.folder)
    await place.read()
    assert [told["files"] for told in place.told if "files" in told] == [1, 2]


async def test_an_importer_that_talks_nonsense_is_cut_off(place: Place) -> None:
    from contextlib import asynccontextmanager

    @asynccontextmanager
    async def start(paths):
        async def call(op, args):
            return {} if op == "import" else {"observations": "none"}

        yield call

    worked("one", "first task").write(place.folder)
    with pytest.raises(PipeError, match="no batch"):
        await import_paths((place.folder,), place.ledger, place.cursors, start, place.told.append)


async def test_only_the_paths_and_the_cursors_are_granted(place: Place) -> None:
    granted: list = []
    path = worked("one", "first task").write(place.folder)
    await import_paths(
        (path,), place.ledger, place.cursors, importer_here(granted), place.told.append
    )
    assert granted == [(path, place.cursors)]


async def test_sub_agents_in_their_own_file_belong_to_their_session(place: Place) -> None:
    main = worked("one", "first task")
    main.write(place.folder)
    side = ClaudeWriter("one")
    side._count = 100  # the file of a sub-agent has ids of its own
    side.user("told by the main agent", isSidechain=True)
    side.calls("Grep", {"pattern": "x"})
    text = side.text().replace('"isSidechain": false', '"isSidechain": true')
    (place.folder / "agent-1.jsonl").write_text(text, "utf-8")
    rows = {Path(row.file).name: row for row in await place.read()}
    assert rows["agent-1.jsonl"].user_turns == 0
    assert rows["agent-1.jsonl"].tool_calls == {"Grep": 1}
    assert {told.session for told in place.sessions()} == {"one"}


async def test_one_bad_line_among_a_hundred_costs_one_line(place: Place) -> None:
    writer = ClaudeWriter("one")
    for number in range(100):
        writer.user(f"task number {number}")
    writer.lines.insert(50, '{"type": "user", "uuid": "x", "mess')
    writer.write(place.folder)
    (row,) = await place.read()
    assert row.user_turns == 100
    assert [(bad.line, bad.reason) for bad in row.bad_lines] == [(51, "not JSON")]


async def test_an_unfinished_import_is_finished_by_the_next(place: Place) -> None:
    from contextlib import asynccontextmanager

    for number in range(90):
        worked(f"s{number:02}", "a task", "another task").write(place.folder)

    @asynccontextmanager
    async def dies(paths):
        left = 2
        async with importer_here()(paths) as real:

            async def call(op, args):
                nonlocal left
                left -= op == "next"
                if left < 0:
                    raise PipeError("The other process went away.")
                return await real(op, args)

            yield call

    with pytest.raises(PipeError):
        await import_paths((place.folder,), place.ledger, place.cursors, dies, place.told.append)
    written = len(place.observations())
    assert 0 < written < 180
    rows = await place.read()
    assert sum(row.new_observations for row in rows) == 180 - written
    names = [seen.turn_id for seen in place.observations()]
    assert len(names) == len(set(names)) == 180


def test_records_repeated_in_a_file_are_in_the_handed_case() -> None:
    lines = (
        (CASES / "derived-malformed/08-records-repeated-by-resume.jsonl").read_text().split("\n")
    )
    uuids = [json.loads(line).get("uuid") for line in lines if line]
    assert len(uuids) > len(set(uuids))


async def test_a_record_of_another_shape_is_a_named_bad_line(place: Place) -> None:
    writer = worked("one", "first task")
    writer.lines.append('{"type": "user", "uuid": 5, "sessionId": "one"}')
    writer.lines.append('{"type": "user", "uuid": "x", "isMeta": "yes", "n": 1e999}')
    writer.write(place.folder)
    (row,) = await place.read()
    assert [bad.line for bad in row.bad_lines] == [5, 6]
    assert all("another shape" in bad.reason for bad in row.bad_lines)
    assert row.user_turns == 1


async def test_bad_lines_beyond_a_thousand_are_counted_together(place: Place) -> None:
    writer = worked("one", "first task")
    writer.lines += ["{broken"] * 1_200
    writer.write(place.folder)
    (row,) = await place.read()
    assert len(row.bad_lines) == 1_001
    assert row.bad_lines[-1].reason == "the last of 200 more bad lines"
    assert row.bad_lines[-1].line == 1_204


async def test_a_disk_that_fails_in_the_middle_is_said_and_tried_again(
    place: Place, monkeypatch
) -> None:
    from gnomon.observe.transcripts import reading

    worked("one", "first task", "second task").write(place.folder)
    real = reading.lines_of
    passes = 0

    def fails(file):
        nonlocal passes
        passes += 1
        for number, line in enumerate(real(file), 1):
            if passes == 2 and number == 5:
                raise OSError(5, "Input/output error")
            yield line

    monkeypatch.setattr(reading, "lines_of", fails)
    (row,) = await place.read()
    assert row.note == "unreadable: input/output error"
    assert row.user_turns == 1
    monkeypatch.undo()
    (row,) = await place.read()
    assert (row.note, row.user_turns, row.new_observations) == (None, 2, 1)


async def test_a_long_line_is_shortened_and_still_counts(place: Place, monkeypatch) -> None:
    from gnomon.observe.transcripts import lines

    monkeypatch.setattr(lines, "LONG", 2_000)
    monkeypatch.setattr(lines, "CHUNK", 700)
    monkeypatch.setattr(lines, "KEPT", 100)
    writer = ClaudeWriter("one")
    writer.user("look at \\ this: " + '"quoted" \u00e9 ' * 900)
    writer.says("Seen.")
    writer.write(place.folder)
    (row,) = await place.read()
    assert row.bad_lines == ()
    (seen,) = place.observations()
    assert seen.task.startswith('look at \\ this: "quoted"')
    assert (seen.answer, len(seen.task) <= 100) == ("Seen.", True)
    monkeypatch.setattr(lines, "MOST", 50)
    more = worked("two", "third task")
    more.lines.insert(0, "[" + "1," * 2_000 + "1]")
    more.lines.insert(1, "\0" * 5_000)
    (row,) = await place.read(more.write(place.folder))
    assert [bad.line for bad in row.bad_lines] == [1, 2]
    assert row.user_turns == 1


async def test_a_failure_names_the_line_of_its_transcript_that_says_so(place: Place) -> None:
    await place.read(CASES / "claude-code" / "09-api-error-message.jsonl")
    failed = [(each.path, bad) for each in place.observations() for bad in each.failures]
    assert failed
    for path, bad in failed:
        assert path is not None
        assert bad.call
        assert bad.error
        assert bad.line is not None
        text = Path(path).read_text("utf-8").splitlines()[bad.line - 1]
        assert '"is_error":true' in text.replace(" ", "")
        assert bad.error.split(":")[0] in text
