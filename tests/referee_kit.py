"""What the referee's tests share: a life told in a few words, written to ledgers in memory."""

from collections.abc import Coroutine, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from gnomon.domain.instants import Millis, iso, parse_iso
from gnomon.domain.ledgers import BODIES, LedgerName, Line
from gnomon.domain.records import (
    AttemptOutcome,
    Body,
    ExecutiveAttempt,
    Origin,
    Pressure,
    Reflection,
    Started,
    Tick,
)
from gnomon.domain.records_referee import (
    Amendment,
    ClockStepped,
    FitnessBody,
    GatewayStarted,
    GatewayStopped,
    Outcome,
    OutcomeKind,
    OutcomeSource,
    SurfaceEmitted,
    Window,
)
from gnomon.ledger.stretch import StretchCount
from gnomon.referee import availability, engagement
from gnomon.referee.config import FitnessConfig, Loaded
from gnomon.referee.engagement import Engagement
from gnomon.referee.fitness_tail import FitnessTail
from gnomon.referee.windows import Evidence, Stretches, plan
from gnomon.testing.clock import FakeClock
from gnomon.testing.ledger import MemoryLedger

T = TypeVar("T")
BOOT = "boot"
MORNING = parse_iso("2026-05-24T18:00:00Z")
V1, V2 = "000001-aaaaaaaaaaaa", "000002-bbbbbbbbbbbb"


def at_once(coroutine: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that waits for nothing."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("it waited")


def reflection(
    number: int = 1,
    *,
    repeated: bool = False,
    concerns: Iterable[str] = (),
    pressure: Pressure = "none",
    version: str = V1,
    model: str = "m",
    seconds: float = 2.0,
) -> Reflection:
    return Reflection(
        reflection_no=number,
        focus="f",
        desired_action="rest",
        summary="s",
        concerns=tuple(concerns),
        active_item=None,
        raw_signature="0" * 64,
        repeated=repeated,
        repeat_count=int(repeated),
        pressure=pressure,
        model=model,
        seconds=seconds,
        tokens_in=None,
        tokens_out=None,
        scaffold_version=version,
    )


@dataclass
class Story:
    """A clock and the ledgers of one agent. Each method writes what the gateway would."""

    clock: FakeClock = field(default_factory=lambda: FakeClock(MORNING))
    config: FitnessConfig = field(default_factory=FitnessConfig)
    version: str = V1

    def __post_init__(self) -> None:
        self.stretch = StretchCount()
        self.decisions = self._ledger("decision-ledger")
        self.engagement = self._ledger("engagement-ledger")
        self.state = Engagement(self.config)
        self.reflections = 0
        self.emitted = 0

    def _ledger(self, name: LedgerName) -> MemoryLedger:
        return MemoryLedger(name, BODIES[name], self.clock, self.stretch)

    @property
    def now(self) -> Millis:
        return self.clock.wall()

    # --- the resident ---------------------------------------------------------------------

    def decide(self, body: Body) -> Line:
        at_once(self.decisions.append(body))
        return self.decisions.lines[-1]

    def tick(self, count: int = 1, every: float = 120) -> None:
        for _ in range(count):
            self.decide(Tick(scaffold_version=self.version, skip_reason="idle"))
            self.clock.advance(every)

    def reflect(self, count: int = 1, every: float = 120, **said: Any) -> None:
        """A tick that reflects, `count` times."""
        for _ in range(count):
            self.reflections += 1
            self.decide(reflection(self.reflections, version=self.version, **said))
            self.decide(Tick(scaffold_version=self.version))
            self.clock.advance(every)

    def attempt(self, outcome: AttemptOutcome = "produced") -> None:
        self.decide(ExecutiveAttempt(action_kind="plan", title="t", query="q", outcome=outcome))

    def awake_resident(self) -> None:
        self.decide(Started(version="1", mode="soft", model="m", scaffold_version=self.version))

    # --- the gateway ------------------------------------------------------------------------

    def say(self, *bodies: Body) -> None:
        for body in bodies:
            at_once(self.engagement.append(body))
            self.state.take(self.engagement.lines[-1])

    def begin(self, **fields: Any) -> None:
        self.say(GatewayStarted(boot_id=BOOT, **fields))
        self.say(*engagement.at_start(self.state, self.now))

    def end(self, cause: str = "orderly") -> None:
        self.say(*engagement.at_stop(self.state, self.now))
        self.say(GatewayStopped(cause=cause, boot_id=BOOT))

    def restart(self, seconds: float) -> None:
        self.end()
        self.clock.advance(seconds)
        self.begin(cause="orderly", gap_seconds=round(seconds))

    def crash(self, seconds: float) -> None:
        """Killed; up again after so long, which is also when its last beat was."""
        self.clock.advance(seconds)
        self.say(GatewayStopped(cause="crash", boot_id=BOOT, gap_seconds=round(seconds)))
        self.begin(cause="crash", gap_seconds=round(seconds))

    def pause(self, seconds: float) -> None:
        self.end(availability.PAUSE)
        self.clock.advance(seconds)
        self.say(availability.resumed(BOOT, round(seconds)))
        self.say(*engagement.at_start(self.state, self.now))

    def sleep(self, seconds: float) -> None:
        self.clock.sleep(seconds)
        self.say(*(availability.slept(seconds, BOOT) or ()))

    def step(self, seconds: float) -> None:
        """Somebody sets the wall; the next beat sees it at once."""
        before = self.now
        self.clock.step(seconds)
        if seconds < 0:
            self.stretch.set_back(self.now)
        self.say(
            ClockStepped(
                step_seconds=round(seconds), wall_before=iso(before), wall_after=iso(self.now)
            )
        )

    def surface(
        self, surface_id: str = "", *, origin: Origin = "model", synthetic: bool = False
    ) -> str:
        self.emitted += 1
        surface_id = surface_id or f"s{self.emitted:04d}"
        self.say(
            SurfaceEmitted(
                surface_id=surface_id,
                surface_kind="pending",
                title=f"About {surface_id}",
                payload_sha256="0" * 64,
                artifact=None,
                scaffold_version=self.version,
                origin=origin,
                delivered_to=("inbox",),
                synthetic=synthetic,
            )
        )
        return surface_id

    def answer(
        self, surface_id: str, outcome: OutcomeKind, source: OutcomeSource = "dashboard_click"
    ) -> Outcome | None:
        decided = engagement.decide_outcome(self.state, surface_id, outcome, source, self.now)
        if decided is not None:
            self.say(decided)
        return decided

    def sweep(self) -> list[Outcome]:
        due = engagement.sweep(self.state, self.now)
        self.say(*due)
        return due

    def outcomes(self, surface_id: str) -> list[Outcome]:
        return [
            line.body
            for line in self.engagement.lines
            if isinstance(line.body, Outcome) and line.body.surface_id == surface_id
        ]

    def standing(self, surface_id: str) -> OutcomeKind | None:
        """The outcome that stands, by a fold that knows nothing but the ledger."""
        folded = Engagement(self.config).take_all(self.engagement.lines)
        found = folded.find(surface_id)
        assert found is not None
        return found.outcome

    # --- the writer -------------------------------------------------------------------------

    def fitness(
        self, now: Millis | None = None, *, tail: FitnessTail | None = None
    ) -> list[FitnessBody]:
        """What the writer would append now, to a fitness-ledger that stands at `tail`."""
        tail = tail if tail is not None else FitnessTail()
        evidence = Evidence(
            decisions=self.decisions.lines[tail.decision.seq :],
            engagement=self.engagement.lines[tail.after :],
            stretches=Stretches(self.decisions.segment_starts, self.engagement.segment_starts),
            cited_at=self.decisions.lines[tail.decision.seq - 1].at if tail.decision.seq else None,
        )
        return list(plan(tail, evidence, self.loaded, self.now if now is None else now))

    @property
    def loaded(self) -> Loaded:
        return Loaded(self.config, "", "c" * 64)


def standing(bodies: Iterable[FitnessBody]) -> dict[str, Window | Amendment]:
    """The line that stands for each window."""
    return {body.window_start: body for body in bodies if isinstance(body, Window | Amendment)}


def hour(number: int) -> str:
    """The start of the hour that is so many after the story's first."""
    return iso(Millis(MORNING + number * 3_600_000))
