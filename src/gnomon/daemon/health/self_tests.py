"""What the jail of each role proved at its last start: kept, and shown by doctor.

A jail whose self-test fails does not come up at all (`gnomon.trust.jail.start`); what is
recorded here is the proof of those that did.
"""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from gnomon.daemon.platform import ChildProcess, StartChild
from gnomon.daemon.store.memo import Memo
from gnomon.domain.errors import StateError
from gnomon.domain.instants import iso
from gnomon.domain.json_value import Fields
from gnomon.domain.policy import Role
from gnomon.domain.ports import Clock
from gnomon.domain.views import JailLevel
from gnomon.statefile import read_state
from gnomon.trust.ipc import Serve
from gnomon.trust.jail import Grants

FILE = "self-tests.json"


class SelfTest(msgspec.Struct, frozen=True, kw_only=True):
    """`found` says of each forbidden act whether it was held; empty where there is no jail."""

    at: str
    level: JailLevel
    found: dict[str, str] = {}


class RecordedStarts:
    """A `StartChild` that notes each child's self-test."""

    def __init__(self, start: StartChild, memo: Memo, clock: Clock) -> None:
        self._start = start
        self._memo = memo
        self._clock = clock
        then = "It is written anew as each part starts."
        self._tests = memo.load_or_set_aside(FILE, dict[str, SelfTest], then) or {}

    async def __call__(
        self, role: Role, module: str, argument: Fields, grants: Grants, *, serve: Serve | None
    ) -> ChildProcess:
        child = await self._start(role, module, argument, grants, serve=serve)
        found = {name: str(outcome) for name, outcome in child.self_test.items()}
        test = SelfTest(at=iso(self._clock.wall()), level=child.level, found=found)
        self._tests = {**self._tests, role: test}
        self._memo.save(FILE, self._tests, durable=False)
        return child


def recorded(state: Path) -> str:
    """For doctor: which roles were tried, when, and what held."""
    try:
        return _sentence(read_state(state / FILE, dict[str, SelfTest]) or {})
    except StateError as error:
        return f"the record is damaged: {error.message}"


def _sentence(tests: Mapping[str, SelfTest]) -> str:
    if not tests:
        return "no jailed process was started yet"
    return "; ".join(
        f"{role} ({test.level}, {test.at}): "
        + (", ".join(f"{name} {outcome}" for name, outcome in test.found.items()) or "no jail")
        for role, test in sorted(tests.items())
    )
