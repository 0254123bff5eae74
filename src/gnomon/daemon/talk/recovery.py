"""After an unclean end: finish what a commit line promised, close what never committed.

Only runs written since the life that did not end in order began its first one are looked at
(`unfinished`), so the work is bounded by one life, not by history.
"""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from gnomon.daemon.store.stores import Stores
from gnomon.daemon.talk import derive
from gnomon.daemon.talk.turns import Turns, spends_of
from gnomon.domain.errors import LedgerCorruptError, RecordError, UsageError
from gnomon.domain.instants import MINUTE, Millis
from gnomon.domain.records import RunClosed, Spend, Turn
from gnomon.domain.records_observe import Observation
from gnomon.ledger.family import LedgerFamily, check_id

SLACK = 5 * MINUTE
"""Files touched this long before are looked at too: clocks are set."""


@dataclass(frozen=True)
class Recovered:
    """How many lines were written again, and how many runs were closed unfinished."""

    lines: int = 0
    closed: int = 0


async def recover(
    stores: Stores, turns: Turns, since: Millis | None, under_way: Collection[str] = ()
) -> Recovered:
    """Bring derived ledgers up to the run-logs. Running it again changes nothing.

    Runs that are `under_way` are left to those who run them. Raises LedgerError when the disk
    refuses.
    """
    lines = closed = 0
    for path in _recent(stores.agent.sessions, since):
        await _mend(stores, stores.sessions, path)
    for path in _recent(stores.agent.runs, since):
        run = path.name.split(".", 1)[0]
        if run in under_way or not await _mend(stores, stores.runs, path):
            continue
        try:
            found = await _recover_run(stores, turns, run)
        except (RecordError, UsageError, LedgerCorruptError) as error:
            # One run that says what cannot be must not keep the gateway from starting.
            stores.journal(f"Run {run} could not be recovered, and was left as it is: {error}")
            continue
        lines, closed = lines + found.lines, closed + found.closed
    if lines or closed:
        stores.journal(
            f"Recovered after a failure: {lines} derived lines written again, "
            f"{closed} unfinished runs closed."
        )
    return Recovered(lines=lines, closed=closed)


async def _mend(stores: Stores, family: LedgerFamily, path: Path) -> bool:
    """Set a torn tail aside; whether the file can be used."""
    member = path.name.split(".", 1)[0]
    try:
        await family.mend(check_id(member, "file"))
    except (UsageError, LedgerCorruptError) as error:
        stores.journal(f"{path.name} could not be recovered, and was left as it is: {error}")
        return False
    return True


async def _recover_run(stores: Stores, turns: Turns, run: str) -> Recovered:
    ledger = stores.ledger("run", run)
    entries = list(ledger.read())
    turn = next((e for e in entries if isinstance(e.body, Turn)), None)
    if turn is not None and isinstance(turn.body, Turn):
        lines = await turns.rebuild(run, turn.body, turn.at)
        lines += await _rebuild_spend(stores, run, turn.body, turn.at)
        lines += await _rebuild_observation(stores, turn.body, turn.at)
        return Recovered(lines=lines)
    if not entries or any(isinstance(e.body, RunClosed) for e in entries):
        return Recovered()
    await ledger.append(RunClosed(reason="crashed"))
    return Recovered(closed=1)


def _recent(folder: Path, since: Millis | None) -> list[Path]:
    floor = 0 if since is None else since - SLACK
    files = [path for path in folder.glob("*.jsonl") if path.stat().st_mtime * 1000 >= floor]
    return sorted(files)


async def _rebuild_spend(stores: Stores, run: str, turn: Turn, at: Millis) -> int:
    recent = stores.files["spend-ledger"].read_range(_began(turn, at))
    standing = [line.body for line in recent if isinstance(line.body, Spend)]
    missing = derive.missing_spend(spends_of(turn), standing, run)
    for spend in missing:
        await stores.append("spend-ledger", spend)
    return len(missing)


async def _rebuild_observation(stores: Stores, turn: Turn, at: Millis) -> int:
    recent = stores.files["observations"].read_range(_began(turn, at))
    for line in recent:
        body = line.body
        if isinstance(body, Observation) and (body.session, body.turn) == (
            turn.session,
            turn.turn,
        ):
            return 0
    await stores.append("observations", derive.observation(turn, at))
    return 1


def _began(turn: Turn, committed_at: Millis) -> Millis:
    return Millis(committed_at - derive.duration_ms(turn) - SLACK)
