"""The fitness writer over real files: a job that reads three ledgers, and a gateway that
appends what it says, also when either is killed.
"""

import asyncio
import json
from bisect import bisect_right
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gnomon.disk import SYSTEM_DISK, Disk
from gnomon.domain.errors import GnomonError, PipeError, RecordError, TrustError, UsageError
from gnomon.domain.instants import HOUR, Millis, parse_iso
from gnomon.domain.json_value import Fields, Json
from gnomon.domain.ledgers import BODIES, Ack, Head, LedgerName
from gnomon.domain.records import AnchoredHead, Body
from gnomon.domain.records_referee import Amendment, Gap, Window
from gnomon.ledger.codec import encode_line
from gnomon.ledger.file import LedgerFile
from gnomon.referee import asking, writer_main
from gnomon.referee.config import default_text, parse
from gnomon.referee.fitness_tail import FitnessTail
from gnomon.referee.keeping import open_engagement
from gnomon.referee.writer_main import Work, Writer, WriterArgument
from gnomon.referee.writing import READ, WRITER_MODULE, FitnessWriting, Written
from gnomon.testing.crash import CrashDisk, Kill, Killed
from gnomon.testing.ledger import InlineThreads, MemoryLedger
from gnomon.testing.memory_child import MemoryChild
from gnomon.trust import jail
from gnomon.trust.ipc import Peer
from gnomon.trust.jail import Grants
from gnomon.trust.roles import check_append, trust_of
from tests.recompute_fitness import read, recompute
from tests.referee_kit import V2, Story, at_once, hour

NAMES: tuple[LedgerName, ...] = (*READ, "fitness-ledger")


@dataclass
class Kernel:
    """An agent's kernel folder, filled from a story; each method is a gateway's."""

    folder: Path
    story: Story = field(default_factory=Story)
    files: dict[LedgerName, LedgerFile] = field(default_factory=dict)
    grants: list[Grants] = field(default_factory=list)
    children: int = 0

    def path(self, name: LedgerName) -> Path:
        return self.folder / f"{name}.jsonl"

    def write(self) -> None:
        """The story so far, as the gateway would have it on disk."""
        self.folder.mkdir(exist_ok=True)
        copy(self.story.decisions, self.path("decision-ledger"))
        copy(self.story.engagement, self.path("engagement-ledger"))
        (self.folder / "fitness-config.json").write_text(default_text())

    def open(self, disk: Disk = SYSTEM_DISK) -> FitnessWriting:
        self.write()
        for name in NAMES:
            self.files[name] = LedgerFile.open(
                self.path(name),
                name,
                BODIES[name],
                self.story.clock,
                print,
                disk=disk if name == "fitness-ledger" else SYSTEM_DISK,
                threads=InlineThreads(),
            )
        paths: dict[LedgerName, Path] = {name: self.path(name) for name in NAMES}
        return FitnessWriting(self.files, paths, parse(default_text()), self.start)

    async def close(self) -> None:
        for file in self.files.values():
            await file.close()
        self.files = {}

    async def start(self, argument: Fields, grants: Grants) -> MemoryChild:
        self.grants.append(grants)
        self.children += 1
        return await MemoryChild.begin("fitness-writer", writer_main.serve, argument, None)

    async def run(self, now: Millis | None = None, disk: Disk = SYSTEM_DISK) -> Written:
        """Open everything, let the writer run once, close everything."""
        writing = self.open(disk)
        try:
            return await writing.run(self.story.now if now is None else now)
        finally:
            await self.close()

    def lines(self) -> list[dict[str, Any]]:
        """The fitness-ledger without its envelopes."""
        envelope = ("seq", "at", "prev", "schema")
        return [
            {name: value for name, value in line.items() if name not in envelope}
            for line in read(self.path("fitness-ledger"))
        ]

    def faults(self) -> list[str]:
        config = json.loads(default_text())
        return recompute(
            read(self.path("decision-ledger")),
            read(self.path("engagement-ledger")),
            read(self.path("fitness-ledger")),
            config,
        )


def copy(ledger: MemoryLedger, path: Path) -> None:
    """A memory's ledger as files, a segment each time its clock went back."""
    parts: list[list[bytes]] = [[] for _ in range(1 + len(ledger.segment_starts))]
    for line in ledger.lines:
        raw = encode_line(line.seq, line.at, line.prev, line.body)
        parts[bisect_right(ledger.segment_starts, line.seq)].append(raw + b"\n")
    for number, part in enumerate(parts, start=1):
        name = path if number == 1 else path.with_name(f"{path.stem}.{number:04d}.jsonl")
        name.write_bytes(b"".join(part))


@pytest.fixture
async def kernel(tmp_path: Path) -> AsyncIterator[Kernel]:
    made = Kernel(tmp_path / "kernel")
    yield made
    await made.close()


def live(story: Story, hours: float, *, reflecting: bool = False) -> None:
    for _ in range(round(hours * 30)):
        if reflecting:
            story.reflect(1, concerns=["the tests are slow again"])
        else:
            story.tick()
        story.sweep()


def busy_day(story: Story) -> None:
    story.begin()
    for number in range(9):
        live(story, 1, reflecting=number % 2 == 0)
        made = story.surface()
        if number % 3 == 0:
            live(story, 0.1)
            story.answer(made, "acted" if number % 2 else "acked")
    story.restart(5 * 3600)
    story.version = V2
    live(story, 20)


async def test_it_emits_one_line_a_window(kernel: Kernel) -> None:
    kernel.story.begin()
    live(kernel.story, 3, reflecting=True)
    kernel.story.clock.advance(60)
    assert await kernel.run() == Written(windows=3)
    assert [line["window_start"] for line in kernel.lines()] == [hour(0), hour(1), hour(2)]
    needed = {"window_start", "window_end", "stall_composite", "components"}
    assert all(needed <= line.keys() for line in kernel.lines())
    assert kernel.faults() == []


async def test_every_number_of_a_busy_day_recomputes(kernel: Kernel) -> None:
    busy_day(kernel.story)
    written = await kernel.run()
    assert written.gaps == 1
    assert written.amendments > 5
    assert written.lines == len(kernel.lines())
    assert kernel.faults() == []


async def test_a_second_run_adds_nothing_and_starts_nothing_when_not_due(kernel: Kernel) -> None:
    busy_day(kernel.story)
    writing = kernel.open()
    now = kernel.story.now
    assert writing.is_due(now)
    assert (await writing.run(now)).lines > 0
    assert not writing.is_due(now)
    assert (await writing.run(now)).lines == 0
    assert writing.is_due(Millis(now + HOUR))


async def test_hour_by_hour_it_writes_what_it_writes_at_once(
    kernel: Kernel, tmp_path: Path
) -> None:
    busy_day(kernel.story)
    await kernel.run()
    other = Kernel(tmp_path / "other", kernel.story)
    writing = other.open()
    for now in range(parse_iso(hour(0)), kernel.story.now + 1, HOUR):
        await writing.run(Millis(now + 90_000))
    await other.close()
    assert other.lines()[: len(kernel.lines())] == kernel.lines()


@pytest.mark.parametrize("left", [0, 1, 7, 20])
async def test_a_truncated_tail_is_written_again_with_equal_fields(
    kernel: Kernel, left: int
) -> None:
    busy_day(kernel.story)
    await kernel.run()
    whole = kernel.lines()
    path = kernel.path("fitness-ledger")
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:left]))
    kernel.story.clock.advance(600)
    await kernel.run()
    assert kernel.lines() == whole


async def test_a_kill_between_computing_and_appending_loses_and_doubles_nothing(
    kernel: Kernel,
) -> None:
    busy_day(kernel.story)
    await kernel.run()
    whole = kernel.lines()
    kernel.path("fitness-ledger").unlink()
    before = 0
    counting = CrashDisk()
    await kernel.run(disk=counting)
    kernel.path("fitness-ledger").unlink()
    for at in range(len(counting.points)):
        for when in ("before", "half", "after"):
            disk = CrashDisk(Kill(at, when))
            with pytest.raises(Killed):
                await kernel.run(disk=disk)
            disk.abandon()
            kernel.files = {}
            await kernel.run()
            assert kernel.lines() == whole
            kernel.path("fitness-ledger").unlink()
            before += 1
    assert before >= 6


async def test_a_failed_append_is_made_up_for_by_the_next_run(kernel: Kernel) -> None:
    busy_day(kernel.story)
    writing = kernel.open()
    ledger = kernel.files["fitness-ledger"]
    failing = Failing(ledger)
    kernel.files["fitness-ledger"] = failing  # pyright: ignore[reportArgumentType]
    with pytest.raises(OSError, match="full"):
        await writing.run(kernel.story.now)
    failing.left = 10_000
    assert not writing.is_due(kernel.story.now)
    kernel.story.clock.advance(60)
    assert writing.is_due(kernel.story.now)
    await writing.run(kernel.story.now)
    kernel.files["fitness-ledger"] = ledger
    assert kernel.faults() == []
    starts = [line["window_start"] for line in kernel.lines() if line["kind"] == "window"]
    assert len(starts) == len(set(starts)) == 30


async def test_a_job_that_keeps_failing_is_tried_less_and_less_often(kernel: Kernel) -> None:
    kernel.story.begin()
    live(kernel.story, 2)
    writing = kernel.open()
    begin = writing._start

    async def start(argument: Fields, grants: Grants) -> MemoryChild:
        raise OSError("no process")

    writing._start = start
    tries = 0
    for _ in range(600):
        assert writing.is_failing is (tries >= 2)
        if writing.is_due(kernel.story.now):
            tries += 1
            with pytest.raises(OSError, match="no process"):
                await writing.run(kernel.story.now)
        kernel.story.clock.advance(60)
    assert 12 <= tries <= 18
    writing._start = begin
    kernel.story.clock.advance(3600)
    assert (await writing.run(kernel.story.now)).windows == 2
    assert not writing.is_due(kernel.story.now)
    assert not writing.is_failing


async def test_a_job_that_hangs_is_ended_and_said_to_be_late() -> None:
    class Hanging:
        async def call(self, op: str, args: Fields, *, on_part: object = None) -> Json:
            del op, args, on_part
            await asyncio.Event().wait()
            raise AssertionError

    with pytest.raises(PipeError, match="gave no answer within 0 s"):
        await asking.work(Hanging(), {}, seconds=0.01)


class Failing:
    """A ledger that takes five lines and then no more."""

    def __init__(self, ledger: LedgerFile) -> None:
        self._ledger = ledger
        self.left = 5

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ledger, name)

    async def append(self, body: Body, *, durable: bool = True) -> Ack:
        if self.left == 0:
            raise OSError("full")
        self.left -= 1
        return await self._ledger.append(body, durable=durable)


async def test_it_reads_no_further_than_the_heads(kernel: Kernel) -> None:
    kernel.story.begin()
    live(kernel.story, 2)
    kernel.write()
    writer = Writer(argument(kernel))
    first = Head(seq=30, sha256=kernel.story.decisions.lines[29].sha256, offset=offset(kernel, 30))
    due = writer.due(
        Work(
            heads={"decision-ledger": first},
            tail=FitnessTail(),
            now=Millis(parse_iso(hour(9))),
        )
    )
    [window] = due.lines
    assert isinstance(window, Window)
    assert window.tick_count == 30
    assert not due.more


async def test_many_lines_come_in_several_answers(kernel: Kernel) -> None:
    busy_day(kernel.story)
    kernel.write()
    writer = Writer(argument(kernel))
    whole = writer.due(work(kernel, tail=FitnessTail(), most=10_000))
    found: list[Window | Amendment | Gap] = []
    more = True
    while more:
        due = writer.due(work(kernel, tail=copy_of(found), most=7))
        found += due.lines
        more = due.more
    assert tuple(found) == whole.lines
    assert not whole.more


def copy_of(bodies: list[Window | Amendment | Gap]) -> FitnessTail:
    tail = FitnessTail()
    for body in bodies:
        tail.take(body)
    tail.settle()
    return tail


def argument(kernel: Kernel) -> WriterArgument:
    paths: dict[LedgerName, str] = {name: str(kernel.path(name)) for name in READ}
    return WriterArgument(paths=paths, config=default_text())


def offset(kernel: Kernel, lines: int) -> int:
    raw = kernel.path("decision-ledger").read_bytes().splitlines(keepends=True)
    return sum(map(len, raw[:lines]))


def work(kernel: Kernel, *, tail: FitnessTail, most: int = 256) -> Work:
    heads: dict[LedgerName, Head] = {}
    names: tuple[LedgerName, ...] = ("decision-ledger", "engagement-ledger")
    for name in names:
        ledger = kernel.story.decisions if name == "decision-ledger" else kernel.story.engagement
        heads[name] = ledger.head
    return Work(heads=heads, tail=tail, now=kernel.story.now, most=most)


# --- ledgers that are not what they were -------------------------------------------------------


async def test_a_rewritten_decision_nulls_its_window_and_no_later_one(kernel: Kernel) -> None:
    kernel.story.begin()
    live(kernel.story, 2, reflecting=True)
    await kernel.run(Millis(parse_iso(hour(1)) + 60_000))
    # Somebody rewrites the ledger from its first line on, hashes and all.
    told = [(line.at, line.body) for line in kernel.story.decisions.lines]
    kernel.story.decisions = retold(kernel.story, [told[0], *told])
    live(kernel.story, 2, reflecting=True)
    await kernel.run()
    lines = kernel.lines()
    assert [line["stall_reason"] for line in lines] == [None, "ledger_changed", "ledger_changed"]
    assert lines[1]["stall_composite"] is None
    assert lines[1]["engagement_reason"] == "ledger_changed"
    live(kernel.story, 1, reflecting=True)
    await kernel.run()
    assert kernel.lines()[-1]["stall_reason"] is None


def retold(story: Story, bodies: list[tuple[Millis, Body]]) -> MemoryLedger:
    """A decision-ledger that says it was written at those times; later lines at the story's."""
    clock = Then(story)
    made = MemoryLedger("decision-ledger", BODIES["decision-ledger"], clock)
    for clock.at, body in bodies:
        at_once(made.append(body))
    clock.at = None
    return made


class Then:
    """A clock that says what it is told to, and later the story's time."""

    def __init__(self, story: Story) -> None:
        self._clock = story.clock
        self.at: Millis | None = None

    def wall(self) -> Millis:
        return self._clock.wall() if self.at is None else self.at

    def monotonic(self) -> float:
        return self._clock.monotonic()

    def boottime(self) -> float:
        return self._clock.boottime()


async def test_a_rolled_back_ledger_is_found_and_its_windows_are_null(kernel: Kernel) -> None:
    kernel.story.begin()
    live(kernel.story, 3, reflecting=True)
    await kernel.run()
    told = [(line.at, line.body) for line in kernel.story.decisions.lines]
    kernel.story.decisions = retold(kernel.story, told[:20])
    live(kernel.story, 2, reflecting=True)
    await kernel.run()
    said = [each.get("stall_reason", each["kind"]) for each in kernel.lines()]
    assert said == [None, None, "gap", "ledger_changed"]


async def test_a_ledger_that_ends_before_its_cited_line_is_read_by_time(kernel: Kernel) -> None:
    kernel.story.begin()
    live(kernel.story, 3, reflecting=True)
    kernel.write()
    tail = copy_of([*Writer(argument(kernel)).due(work(kernel, tail=FitnessTail())).lines][:1])
    tail.decision = AnchoredHead(seq=9_999, sha256="0" * 64)
    due = Writer(argument(kernel)).due(work(kernel, tail=tail))
    [window] = due.lines
    assert isinstance(window, Window)
    assert (window.window_start, window.stall_reason) == (hour(1), "ledger_changed")


async def test_a_cited_line_that_cannot_be_read_is_gone(kernel: Kernel) -> None:
    kernel.story.begin()
    live(kernel.story, 3, reflecting=True)
    kernel.write()
    tail = copy_of([*Writer(argument(kernel)).due(work(kernel, tail=FitnessTail())).lines][:1])
    path = kernel.path("decision-ledger")
    lines = path.read_bytes().splitlines(keepends=True)
    cited = tail.decision.seq - 1
    lines[cited] = lines[cited].replace(b'"kind":"tick"', b'"kind":"tock"')
    path.write_bytes(b"".join(lines))
    [window] = Writer(argument(kernel)).due(work(kernel, tail=tail)).lines
    assert isinstance(window, Window)
    assert window.stall_reason == "ledger_changed"


async def test_a_long_fitness_ledger_is_opened_line_by_line(kernel: Kernel) -> None:
    kernel.story.begin()
    for _ in range(130):
        kernel.story.tick(every=3600)
    await kernel.run()
    assert len(kernel.lines()) == 129
    kernel.story.tick(2, every=3600)
    assert (await kernel.run()).windows == 2


async def test_an_unreadable_engagement_ledger_nulls_what_rests_on_it(kernel: Kernel) -> None:
    kernel.story.begin()
    live(kernel.story, 1, reflecting=True)
    kernel.story.surface()
    live(kernel.story, 1, reflecting=True)
    kernel.write()
    path = kernel.path("engagement-ledger")
    asked = work(kernel, tail=FitnessTail())
    path.write_bytes(path.read_bytes().replace(b"About", b"Above"))
    due = Writer(argument(kernel)).due(asked)
    reasons = [body.stall_reason for body in due.lines if isinstance(body, Window)]
    assert reasons == ["ledger_changed"]


@pytest.mark.parametrize("name", ["decision-ledger", "engagement-ledger"])
@pytest.mark.parametrize("damage", ["its first line", "its end"])
async def test_a_damaged_later_segment_stops_nothing_that_comes_before_it(
    kernel: Kernel, name: LedgerName, damage: str
) -> None:
    story = kernel.story
    story.begin()
    live(story, 2.5)
    story.step(-5 * 3600)
    story.surface()
    live(story, 3)
    kernel.write()
    asked = work(kernel, tail=FitnessTail())
    path = kernel.path(name).with_name(f"{name}.0002.jsonl")
    whole = path.read_bytes()
    path.write_bytes(b"x" + whole[1:] if damage == "its first line" else whole[:40])
    lines = Writer(argument(kernel)).due(asked).lines
    reasons = [body.stall_reason for body in lines if isinstance(body, Window)]
    assert len(reasons) >= 3
    assert reasons[-1] == "ledger_changed"


# --- the clock set back, over real files --------------------------------------------------------


async def test_a_clock_set_back_leaves_each_window_once_and_none_false(kernel: Kernel) -> None:
    story = kernel.story
    story.begin()
    writing = kernel.open()
    live(story, 4.5, reflecting=True)
    await kernel.close()
    writing = kernel.open()
    await writing.run(story.now)
    story.step(-2 * 3600)
    for _ in range(4):
        live(story, 1, reflecting=True)
        await kernel.close()
        writing = kernel.open()
        await writing.run(story.now)
        await writing.run(story.now)
    lines = kernel.lines()
    starts = [line["window_start"] for line in lines if line["kind"] == "window"]
    assert starts == [hour(n) for n in range(6)]
    last = {line["window_start"]: line for line in lines}
    reasons = [last[hour(n)]["stall_reason"] for n in range(6)]
    assert reasons == [None, None, "clock_step", "clock_step", "clock_step", None]
    assert last[hour(3)]["tick_count"] == 60


async def test_a_window_that_was_entered_again_between_two_runs_is_not_measured_anew(
    kernel: Kernel,
) -> None:
    story = kernel.story
    story.begin()
    live(story, 4.5, reflecting=True)
    await kernel.run()
    story.step(-40 * 60)  # into hour 3, which was measured; the next run is after it
    live(story, 1.5, reflecting=True)
    await kernel.run()
    lines = kernel.lines()
    starts = [line["window_start"] for line in lines if line["kind"] == "window"]
    assert starts == [hour(n) for n in range(5)]
    last = {line["window_start"]: line for line in lines}
    assert [last[hour(n)]["stall_reason"] for n in (2, 3, 4)] == [None, "clock_step", "clock_step"]


async def test_a_clock_set_back_while_the_machine_was_off_makes_no_window_twice(
    kernel: Kernel,
) -> None:
    story = kernel.story
    story.begin()
    live(story, 4.5, reflecting=True)
    await kernel.run()
    story.clock.step(-40 * 60)  # nobody notes it; each ledger begins its next file
    story.begin(cause="crash", gap_seconds=200)
    live(story, 0.1, reflecting=True)
    await kernel.run()
    live(story, 1.4, reflecting=True)
    await kernel.run()
    starts = [line["window_start"] for line in kernel.lines() if line["kind"] == "window"]
    assert starts == [hour(n) for n in range(5)]


async def test_an_hour_lived_twice_is_no_new_window_though_the_year_is_wrong_by_then(
    kernel: Kernel,
) -> None:
    """Found by a simulated life: hour 2 has its line, is entered again, and before it is over
    the clock goes back by a year while the machine is off.
    """
    story = kernel.story
    story.begin()
    live(story, 2.4, reflecting=True)
    story.step(-3600)
    live(story, 0.65, reflecting=True)
    await kernel.run()
    live(story, 0.2, reflecting=True)
    story.clock.step(-365 * 86_400)
    story.begin(cause="crash", gap_seconds=200)
    live(story, 1.5, reflecting=True)
    await kernel.run()
    starts = [line["window_start"] for line in kernel.lines() if line["kind"] == "window"]
    assert len(starts) == len(set(starts))
    assert hour(2) in starts


async def test_a_wrong_year_set_right_leaves_the_true_windows_measured(kernel: Kernel) -> None:
    story = kernel.story
    story.begin()
    live(story, 1, reflecting=True)
    for seconds in (365 * 86_400, -365 * 86_400):
        story.step(seconds)
        live(story, 2, reflecting=True)
        await kernel.run()
    live(story, 3, reflecting=True)
    await kernel.run()
    last = {line["window_start"]: line for line in kernel.lines() if line["kind"] != "gap"}
    assert last[hour(0)]["stall_reason"] is None
    assert [last[hour(n)]["stall_reason"] for n in (4, 5, 6)] == [None, None, None]


# --- who may what -------------------------------------------------------------------------------


async def test_the_writer_is_granted_the_three_ledgers_to_read_and_nothing_to_write(
    kernel: Kernel,
) -> None:
    kernel.story.begin()
    live(kernel.story, 1)
    kernel.story.surface()
    kernel.story.step(-600)
    live(kernel.story, 2)
    await kernel.run()
    [grants] = kernel.grants
    assert grants.write == ()
    assert {path.name for path in grants.read} == {
        "decision-ledger.jsonl",
        "decision-ledger.0002.jsonl",
        "artifact-ledger.jsonl",
        "engagement-ledger.jsonl",
        "engagement-ledger.0002.jsonl",
    }
    row = trust_of("fitness-writer")
    assert (row.network, row.may_exec, row.model) == ("none", False, "none")
    assert row.limits is not None
    assert row.limits.file_size == 0


@pytest.mark.parametrize("name", [name for name in BODIES if name != "fitness-ledger"])
def test_the_writer_refuses_to_write_anywhere_but_the_fitness_ledger(name: LedgerName) -> None:
    for kind in ("window", "amendment", "gap", "tick", "outcome"):
        with pytest.raises(TrustError):
            check_append("fitness-writer", name, kind)
    check_append("fitness-writer", "fitness-ledger", "window")


@pytest.mark.parametrize(
    "role", ["gateway", "resident", "judge", "refiner", "operator", "client", "tool-host"]
)
def test_nobody_else_authors_the_number(role: str) -> None:
    with pytest.raises(TrustError):
        check_append(role, "fitness-ledger", "window")


async def test_an_answer_that_is_none_is_refused(kernel: Kernel) -> None:
    kernel.story.begin()
    live(kernel.story, 2)
    writing = kernel.open()

    async def lie(op: str, args: Fields, send_part: object) -> Json:
        return {"lines": [{"kind": "outcome", "surface_id": "s"}], "more": False}

    async def liar(peer: Peer, argument: Fields) -> None:
        peer.serve(lie)
        await peer.closed()

    async def start(argument: Fields, grants: Grants) -> MemoryChild:
        return await MemoryChild.begin("fitness-writer", liar, argument, None)

    writing._start = start
    with pytest.raises(RecordError):
        await writing.run(kernel.story.now)
    assert kernel.files["fitness-ledger"].head.seq == 0


async def test_it_answers_work_and_stop_and_nothing_else(kernel: Kernel) -> None:
    kernel.story.begin()
    live(kernel.story, 2)
    kernel.write()
    child = await kernel.start(msgspec.to_builtins(argument(kernel)), Grants())
    assert await child.peer.call("stop", {}) == {}
    with pytest.raises(UsageError):
        await child.peer.call("append", {})
    with pytest.raises(GnomonError):
        await child.peer.call("work", {"heads": 3})
    await child.stop(1)


@pytest.mark.needs("jail-full")
async def test_the_real_process_in_its_jail_says_the_same(kernel: Kernel) -> None:
    busy_day(kernel.story)
    await kernel.run()
    whole = kernel.lines()
    kernel.path("fitness-ledger").unlink()

    async def start(given: Fields, grants: Grants) -> jail.Child:
        return await jail.start("fitness-writer", WRITER_MODULE, given, grants, serve=None)

    writing = kernel.open()
    writing._start = start
    await writing.run(kernel.story.now)
    assert kernel.lines() == whole


# --- opening the fold of engagement --------------------------------------------------------------


@pytest.mark.parametrize("fewest", [3, 1_024])
async def test_the_fold_opens_with_what_still_matters(
    kernel: Kernel, fewest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gnomon.referee.keeping.FEWEST_LINES", fewest)
    story = kernel.story
    story.begin()
    for _ in range(50):
        for _ in range(3):
            story.clock.advance(8 * 3600)
            story.sweep()
            story.surface()
    kernel.open()
    opened = open_engagement(kernel.files["engagement-ledger"], story.config)
    assert set(opened.open) >= set(story.state.open)
    for name, surface in story.state.open.items():
        found = opened.open[name]
        assert (found.outcome, found.at) == (surface.outcome, surface.at)
        assert opened.open_until(found, story.now) == story.state.open_until(surface, story.now)
    remembered = [each for each in story.state.surfaces() if each.at > story.now - 28 * 24 * HOUR]
    assert {each.surface_id for each in remembered} <= {
        each.surface_id for each in opened.surfaces()
    }


async def test_an_empty_ledger_opens_empty(kernel: Kernel) -> None:
    kernel.open()
    opened = open_engagement(kernel.files["engagement-ledger"], kernel.story.config)
    assert list(opened.surfaces()) == []
