"""The invariants, looked at as a simulated life goes on: after each life of the gateway, and at
the end. The rules are in `invariants`; here is when, and on what.
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from gnomon.config import KernelConfig
from gnomon.domain.instants import SECOND, Millis
from gnomon.domain.messages import ModelRequest
from gnomon.domain.views import Status
from gnomon.ledger.verify import verify
from gnomon.simulate import change_checks, invariants, laundering, recount, refining
from gnomon.simulate.ledger_files import PlainLine, plain_lines
from gnomon.simulate.machine import AGENT, Machine
from gnomon.simulate.story import Story

CLOUDS = frozenset({"clock-step", "disk-full", "sync-fails"})
"""Faults after which the program itself cannot know when a thing was."""


@dataclass
class Checks:
    """`unsure` are the surfaces whose answer may or may not have been taken."""

    machine: Machine
    story: Story
    prompts: set[str] = field(default_factory=set[str])
    unsure: set[str] = field(default_factory=set[str])
    violations: list[str] = field(default_factory=list[str])

    def found(self, *violations: str) -> None:
        known = set(self.violations)
        self.violations += (each for each in dict.fromkeys(violations) if each not in known)

    def heard(self, request: ModelRequest) -> None:
        """What the resident is told. The refiner sees the measure; that is what it is for."""
        if request.purpose != refining.PURPOSE:
            self.prompts.update(message.content for message in request.messages)

    def after_life(self) -> None:
        """What can be told from the files alone, whatever the life ended by."""
        self.found(*self.machine.witness.compare())

    def while_it_runs(self, shown: Status) -> None:
        """Numbers that it shows, against its ledgers."""
        self.found(*invariants.status_violations(shown, self._decisions()))

    def at_the_end(self, kernel: KernelConfig, end: Millis) -> None:
        """Everything, on the files of a home that has been closed."""
        home, story, witness = self.machine.home, self.story, self.machine.witness
        agent = home.agent(AGENT)
        decisions, engagement = self._decisions(), plain_lines(agent.engagement_ledger)
        fitness = plain_lines(agent.fitness_ledger)
        config = json.loads(agent.fitness_config.read_text(encoding="utf-8"))
        true_times = witness.true_times
        if not CLOUDS & story.faults.keys():
            times = true_times(agent.engagement_ledger)
            horizon = config["horizon_seconds"] * SECOND
            self.found(*recount.truth_violations(engagement, times, story, self.unsure, horizon))
        self.found(
            *witness.compare(everything=True),
            *invariants.prompt_violations(self.prompts),
            *invariants.duty_violations(story.called, kernel.max_duty_cycle * 3600),
            *invariants.silence_violations(story, kernel.idle_activity_gate_minutes),
            *invariants.burst_violations(
                decisions, true_times(agent.decision_ledger), kernel.tick_ms
            ),
            *invariants.order_violations(decisions),
            *invariants.order_violations(plain_lines(home.spend_ledger)),
            *invariants.turn_violations(
                [line for path in agent.runs.glob("*.jsonl") for line in plain_lines(path)],
                [line for path in agent.sessions.glob("*.jsonl") for line in plain_lines(path)],
                plain_lines(agent.observations),
            ),
            *invariants.outcome_violations(engagement),
            *recount.window_violations(decisions, engagement, fitness, config),
            *laundering.laundered(self.prompts, laundering.measured(fitness)),
            *self._of_changes(fitness, config),
            *(f"{ledger.name} does not verify" for ledger in verify(home).ledgers if not ledger.ok),
        )

    def _of_changes(self, fitness: list[PlainLine], config: dict[str, Any]) -> Iterator[str]:
        agent = self.machine.home.agent(AGENT)
        refinement, judgments = (
            plain_lines(agent.refinement_ledger),
            plain_lines(agent.judgment_ledger),
        )
        yield from change_checks.life_violations(refinement, judgments)
        yield from change_checks.verdict_violations(refinement, judgments, fitness, config)
        standing = {
            path.name: hashlib.sha256(path.read_bytes()).hexdigest()
            for path in agent.scaffold.iterdir()
            if path.is_file()
        }
        yield from change_checks.text_violations(refinement, standing)

    def _decisions(self) -> list[PlainLine]:
        return plain_lines(self.machine.home.agent(AGENT).decision_ledger)
