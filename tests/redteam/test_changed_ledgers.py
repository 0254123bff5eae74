"""A rewritten, rehashed or rolled-back ledger is found, and its window is null: over a home that
the daemon's own wiring lived in, and through the verb that people type. Each way is tried again
with what finds it switched off, where nothing tells it any more.
"""

import asyncio
import io
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gnomon.cli.connection import connect
from gnomon.cli.main import run
from gnomon.cli.options import Setting
from gnomon.cli.output import Output
from gnomon.domain.errors import LedgerCorruptError
from gnomon.domain.ledgers import BODIES, GENESIS, LedgerName
from gnomon.domain.records import Body, Reflection
from gnomon.domain.records_referee import Outcome, Window
from gnomon.home import Home
from gnomon.ledger import verify as verification
from gnomon.ledger.codec import encode_line, line_hash
from gnomon.ledger.places import ledgers_of
from gnomon.ledger.reading import LedgerReader
from gnomon.referee.fitness_tail import DECISIONS
from gnomon.referee.writer_main import Work, Writer
from tests.redteam.tally import tally
from tests.world_kit import Gateway, World, in_virtual_time

SOFT = "[kernel]\nidle_activity_gate_minutes = 0\n"
CITED: tuple[LedgerName, ...] = ("decision-ledger", "engagement-ledger")
HOURS = 2
THOUGHT: dict[str, Any] = {
    "focus": "the slow tests",
    "desired_action": "rest",
    "summary": "They are slow.",
    "concerns": ["the tests are slow again"],
    "interests": [],
    "open_questions": [],
    "candidate_items": [],
    "active_item": {"title": "slow tests", "source": "background"},
    "thread_title": "tests",
    "next_step": "look",
    "problem_statement": "why?",
}

pytestmark = [pytest.mark.redteam, pytest.mark.timeout(60)]


class Forged:
    """A home whose past was told anew."""

    def __init__(self, root: Path) -> None:
        self.home = Home(root)
        self.paths = ledgers_of(self.home.agent("main"))

    def lines(self, name: LedgerName) -> list[Any]:
        return list(LedgerReader(self.paths[name], name, BODIES[name]).read())

    def write(self, name: LedgerName, told: list[tuple[Any, Body]]) -> None:
        """A sound chain of these bodies, at the times of these lines."""
        prev, raws = GENESIS, list[bytes]()
        for seq, (line, body) in enumerate(told, start=1):
            raw = encode_line(seq, line.at, prev, body)
            prev = line_hash(raw)
            raws.append(raw + b"\n")
        self.paths[name].write_bytes(b"".join(raws))

    def cited(self, name: LedgerName) -> list[int]:
        windows = [line.body for line in self.lines("fitness-ledger")]
        return sorted({body.inputs[name].seq for body in windows})


def better(body: Body) -> Body:
    """What a forger would rather have had: no repeats, and every item used."""
    match body:
        case Reflection():
            return msgspec.structs.replace(body, repeated=False, repeat_count=0)
        case Outcome():
            return msgspec.structs.replace(body, outcome="acted")
        case _:
            return body


def first_better(lines: list[Any]) -> int:
    return next(line.seq for line in lines if better(line.body) != line.body)


def rewritten(forged: Forged, name: LedgerName) -> set[int]:
    """One line, and no hash. Which line may be named: itself, or the next, whose `prev` tells."""
    seq = first_better(forged.lines(name))
    raws = forged.paths[name].read_bytes().splitlines(keepends=True)
    line = forged.lines(name)[seq - 1]
    raws[seq - 1] = encode_line(seq, line.at, line.prev, better(line.body)) + b"\n"
    forged.paths[name].write_bytes(b"".join(raws))
    return {seq, seq + 1}


def rehashed(forged: Forged, name: LedgerName) -> set[int]:
    """Every line as the forger likes it, the chain sound. The first head that was kept tells."""
    lines, cited = forged.lines(name), forged.cited(name)
    seq = first_better(lines)
    forged.write(name, [(line, better(line.body)) for line in lines])
    return {next(each for each in cited if each >= seq)}


def rolled_back(forged: Forged, name: LedgerName) -> set[int]:
    """An old copy put back. Its end is missing."""
    keep = forged.cited(name)[-1] - 1
    forged.write(name, [(line, line.body) for line in forged.lines(name)[:keep]])
    return {keep + 1}


WAYS: dict[str, Callable[[Forged, LedgerName], set[int]]] = {
    "rewritten": rewritten,
    "rehashed": rehashed,
    "rolled back": rolled_back,
}
SOUND = ["rehashed", "rolled back"]
"""The ways that leave a sound chain: the gateway opens it, and goes on from there."""


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with two measured hours, in which it repeated itself and was read by half."""
    root = tmp_path_factory.mktemp("lived") / "home"

    async def life(_: World, gateway: Gateway) -> None:
        for number in range(4):
            surface = await gateway.emit(f"Note {number}")
            act = "inbox.use" if number % 2 else "inbox.dismiss"
            await gateway.ask(act, surface_id=surface)
        await asyncio.sleep(HOURS * 3600 + 200)
        windows = [body for body in gateway.lines("fitness-ledger") if isinstance(body, Window)]
        assert len(windows) == HOURS
        assert windows[0].stall_composite is not None
        assert windows[0].engagement_rate == 0.5

    in_a_life(root, life)
    return root


def in_a_life(root: Path, work: Callable[[World, Gateway], Any]) -> None:
    """One life of a gateway, right after the one before."""

    async def story() -> None:
        world = World(root, says=lambda _: json.dumps(THOUGHT), config=SOFT)
        if world.home.heartbeat.exists():
            await asyncio.sleep(HOURS * 3600 + 300)
        async with world.up() as gateway:
            await work(world, gateway)

    in_virtual_time(story)


@pytest.fixture
def forged(lived: Path, tmp_path: Path) -> Forged:
    root = tmp_path / "home"
    shutil.copytree(lived, root)
    return Forged(root)


def verified(forged: Forged) -> tuple[int, list[tuple[str, int, str]]]:
    """`gnomon verify --json`: its exit code, and each bad ledger with its first bad line."""
    out, err = io.StringIO(), io.StringIO()
    arguments = ["verify", "--json", "--home", str(forged.home.root)]
    code = run(arguments, Setting(Output(out, err), connect))
    assert err.getvalue() == ""
    bad = [each for each in json.loads(out.getvalue())["ledgers"] if not each["ok"]]
    return code, [
        (each["name"], each["first_bad"]["line"], each["first_bad"]["reason"]) for each in bad
    ]


def next_window(forged: Forged) -> Window:
    """What the next life measures first. Raises LedgerCorruptError where there is none."""
    found: list[Window] = []

    async def life(_: World, gateway: Gateway) -> None:
        before = len(gateway.lines("fitness-ledger"))
        await asyncio.sleep(3600 + 200)
        lines = gateway.lines("fitness-ledger")[before:]
        found.extend(line for line in lines if isinstance(line, Window))

    in_a_life(forged.home.root, life)
    return found[0]


def test_nothing_is_found_where_nothing_was_changed(forged: Forged) -> None:
    assert verified(forged) == (0, [])
    window = next_window(forged)
    assert window.stall_reason is None
    assert window.stall_composite is not None


@pytest.mark.parametrize("name", CITED)
@pytest.mark.parametrize("way", WAYS)
def test_a_changed_ledger_is_found_by_its_anchor_and_no_window_is_measured_from_it(
    forged: Forged, name: LedgerName, way: str
) -> None:
    expected = WAYS[way](forged, name)
    code, [(found, line, _)] = verified(forged)
    tally("history", f"{name} {way}, anchored", 1, int(code != 1))
    assert (code, found) == (1, name)
    assert line in expected
    with pytest.raises(LedgerCorruptError):
        next_window(forged)


@pytest.mark.parametrize("name", CITED)
@pytest.mark.parametrize("way", SOUND)
def test_without_any_anchor_it_is_found_by_what_the_windows_cite_and_the_next_one_is_null(
    forged: Forged, name: LedgerName, way: str
) -> None:
    forged.home.anchors.unlink()
    expected = WAYS[way](forged, name)
    window = next_window(forged)
    code, [(found, line, reason)] = verified(forged)
    nulled = (window.stall_composite, window.engagement_rate) == (None, None)
    tally("history", f"{name} {way}, cited", 2, int(code != 1) + int(not nulled))
    assert (code, found, "cited" in reason) == (1, name, True)
    assert line in expected
    assert nulled
    assert (window.stall_reason, window.engagement_reason) == ("ledger_changed", "ledger_changed")


@pytest.mark.parametrize("name", CITED)
@pytest.mark.parametrize("way", SOUND)
def test_where_no_head_is_compared_nothing_tells(
    forged: Forged, name: LedgerName, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The defences off: no anchor, no citation, and a writer that believes what it finds."""
    forged.home.anchors.unlink()
    WAYS[way](forged, name)
    monkeypatch.setattr(verification, "cited_heads", lambda _: ())
    monkeypatch.setattr(Writer, "_lacks", lambda *_: False)
    monkeypatch.setattr(Writer, "_decisions", believing)
    window = next_window(forged)
    assert verified(forged) == (0, [])
    assert (window.stall_reason, window.stall_composite is None) == (None, False)


def believing(writer: Writer, work: Work) -> Any:
    return writer._after(DECISIONS, 0, work), None, False
