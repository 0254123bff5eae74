"""A pretended inbox, and the fitness that would come of it: what the pages are tried on."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from gnomon.daemon import arguments as given
from gnomon.domain.errors import UsageError
from gnomon.domain.instants import DAY, HOUR, Millis, iso
from gnomon.domain.json_value import Fields
from gnomon.domain.records import AnchoredHead
from gnomon.domain.records_referee import (
    Components,
    EngagementCounts,
    OutcomeKind,
    OutcomeSource,
)
from gnomon.domain.views import ArtifactShown, InboxItem, InboxShown
from gnomon.domain.views_referee import (
    EngagementTrend,
    Fitness,
    FitnessGap,
    FitnessRules,
    FitnessWindow,
    Forecast,
    LedgerPage,
    LinesBehind,
    Pooled,
    PooledVersion,
    StallTrend,
)
from gnomon.gateway.operation import Operation, Progress

NOON = Millis(1_780_000_000_000)
VERSION = "000042-6f1d2c3b4a59"
OLDER = "000041-aa03bb19cc27"
SHA = "5c" * 32
DOCUMENT = """---
kind: research
title: Why the checkout tests run three times
summary: The runner retries on a port that is taken.
points:
  - Two cases bind port 8080.
  - The runner calls that a flake and starts again.
---
# What was found

The suite `checkout` ran **three times** in each of the last nine pushes.

1. Two cases bind port 8080.
2. The second one fails, and the runner retries.
   - It retries twice.

> Bind port 0 and read the address back.

| run | seconds |
|---|---|
| 1 | 41 |
| 2 | 40 |

```
pnpm test checkout
```

See [the log](https://example.org/log).
<script>alert(1)</script>
"""


def an_item(surface_id: str, **changed: Any) -> InboxItem:
    """Something that the model brought an hour ago and that is still open."""
    fresh = InboxItem(
        surface_id=surface_id,
        kind="notification",
        title="The checkout tests ran three times in a row",
        emitted_at=iso(Millis(NOON - HOUR)),
        scaffold_version=VERSION,
        origin="model",
        outcome=None,
        source=None,
        open_until=iso(Millis(NOON + 19 * HOUR)),
    )
    return msgspec.structs.replace(fresh, **changed)


def some_items() -> list[InboxItem]:
    return [
        an_item("sf-1"),
        an_item(
            "sf-2",
            kind="artifact",
            title="Why the checkout tests run three times",
            artifact="research-checkout@v1",
        ),
        an_item("sf-3", kind="pending", title="Decide whether npm or pnpm is used in /shop"),
        an_item(
            "sf-4",
            title="You said “use pnpm, not npm” in 7 sessions",
            origin="rule",
            outcome="acked",
            source="dashboard_click",
        ),
        an_item("sf-5", title="The nightly import failed", outcome="ignored", source="timeout"),
    ]


@dataclass
class PretendedInbox:
    """`items` by what stands. `acts` is its ledger: what was written, in order. `settled` is
    what was used, dismissed and let pass before them.
    """

    items: list[InboxItem] = field(default_factory=some_items)
    acts: list[tuple[str, OutcomeKind, OutcomeSource]] = field(
        default_factory=list[tuple[str, OutcomeKind, OutcomeSource]]
    )
    edits: dict[str, str] = field(default_factory=dict[str, str])
    settled: EngagementCounts = field(
        default_factory=lambda: EngagementCounts(acted=14, acked=3, ignored=5)
    )
    document: str = DOCUMENT
    failing: dict[str, Exception] = field(default_factory=dict[str, Exception])

    def record(self, surface_id: str, outcome: OutcomeKind, source: OutcomeSource) -> InboxItem:
        found = self.find(surface_id)
        self.acts.append((surface_id, outcome, source))
        until = None if outcome == "acted" else found.open_until
        new = msgspec.structs.replace(found, outcome=outcome, source=source, open_until=until)
        self.items = [new if each.surface_id == surface_id else each for each in self.items]
        return new

    def find(self, surface_id: str) -> InboxItem:
        for each in self.items:
            if each.surface_id == surface_id:
                return each
        raise UsageError(f"There is no item {surface_id!r} in the inbox.")

    def counts(self) -> EngagementCounts:
        """What was settled before, and what the acts came to."""
        outcomes = {surface: outcome for surface, outcome, _ in self.acts}.values()
        kinds = list(outcomes)
        return EngagementCounts(
            acted=self.settled.acted + kinds.count("acted"),
            acked=self.settled.acked + kinds.count("acked"),
            ignored=self.settled.ignored,
        )

    def rows(self) -> Iterable[Operation]:
        """The rows of the table, named and typed as the daemon's."""

        async def items(_: given.InboxList, __: Progress) -> list[InboxItem]:
            return self.items

        async def show(asked: given.OfSurface, _: Progress) -> InboxShown:
            body = "The runner calls a taken port a flake. `port 0` would end it."
            found = msgspec.structs.replace(self.find(asked.surface_id), body=body)
            return InboxShown(item=found, edited=self.edits.get(asked.surface_id))

        async def document(_: given.ArtifactShow, __: Progress) -> ArtifactShown:
            return ArtifactShown(artifact="research-checkout@v1", text=self.document)

        async def opened(asked: given.OfSurface, _: Progress) -> ArtifactShown:
            self.record(asked.surface_id, "acted", "artifact_file_open")
            return ArtifactShown(artifact="research-checkout@v1", text=self.document)

        async def edit(asked: given.SurfaceEdit, _: Progress) -> InboxItem:
            self.edits[asked.surface_id] = asked.text
            return self.record(asked.surface_id, "acted", "text_edited")

        async def fitness(_: given.FitnessShow, __: Progress) -> Fitness:
            return a_fitness(self.counts(), sum(each.outcome is None for each in self.items))

        async def lines(asked: given.LedgerRead, _: Progress) -> LedgerPage:
            numbers = range(asked.after + 1, min(asked.after + asked.limit, 130) + 1)
            return LedgerPage(
                name=asked.name,
                lines=tuple(a_line(number) for number in numbers),
                head=130,
                next_after=numbers[-1] if numbers and numbers[-1] < 130 else None,
            )

        yield Operation("inbox.list", "Items", given.InboxList, list[InboxItem], items, reads=True)
        yield Operation("inbox.show", "One", given.OfSurface, InboxShown, show, reads=True)
        yield Operation(
            "artifact.show", "Its text", given.ArtifactShow, ArtifactShown, document, reads=True
        )
        yield Operation("inbox.open", "Open", given.OfSurface, ArtifactShown, opened)
        yield Operation("inbox.edit", "Edit", given.SurfaceEdit, InboxItem, edit)
        yield self._act("use", "acted", "dashboard_click")
        yield self._act("read", "acted", "dashboard_click")
        yield self._act("dismiss", "acked", "dashboard_click")
        yield self._act("resolve", "acted", "agenda_resolved")
        yield Operation("fitness.show", "Fitness", given.FitnessShow, Fitness, fitness, reads=True)
        yield Operation("ledger.read", "Lines", given.LedgerRead, LedgerPage, lines, reads=True)

    def _act(self, verb: str, outcome: OutcomeKind, source: OutcomeSource) -> Operation:
        name = f"inbox.{verb}"

        async def run(asked: given.OfSurface, _: Progress) -> InboxItem:
            if name in self.failing:
                raise self.failing[name]
            return self.record(asked.surface_id, outcome, source)

        return Operation(name, verb, given.OfSurface, InboxItem, run)


def a_line(seq: int) -> Fields:
    return {
        "seq": seq,
        "at": iso(Millis(NOON - (130 - seq) * 60_000)),
        "kind": "tick",
        "schema": 1,
        "prev": "00" * 32,
        "sha256": SHA,
        "scaffold_version": VERSION,
        "skip_reason": "idle",
    }


def a_window(hours_ago: int, stall: float | None, *, mature: bool = True) -> FitnessWindow:
    start = NOON - NOON % HOUR - hours_ago * HOUR
    head = AnchoredHead(seq=130, sha256=SHA)
    return FitnessWindow(
        seq=500 - hours_ago,
        at=iso(Millis(start + HOUR + 60_000)),
        kind="window",
        window_start=iso(Millis(start)),
        window_end=iso(Millis(start + HOUR)),
        window_seconds=3600,
        stall_composite=stall,
        stall_reason=None if stall is not None else "missing_data",
        components=Components(
            reflection_repeat_rate=0.1,
            executive_cooldown_rate=0.3,
            concern_persistence_rate=0.25,
        ),
        engagement_rate=None,
        engagement_reason="low_sample",
        engagement_counts=EngagementCounts(acted=1, ignored=hours_ago % 2),
        system_unavailable_count=0,
        system_unavailable_seconds=0,
        pending=0 if mature else 1,
        mature=mature,
        rule_counts=EngagementCounts(),
        synthetic_counts=EngagementCounts(),
        tick_count=30,
        reflection_count=12,
        executive_attempt_count=1,
        scaffold_version=VERSION,
        mixed_scaffold=hours_ago == 5,
        config_sha256=SHA,
        inputs={"decision-ledger": head, "engagement-ledger": head},
        lines={
            "decision-ledger": LinesBehind(first=90, last=130),
            "engagement-ledger": LinesBehind(first=120, last=130),
        },
    )


def a_fitness(counts: EngagementCounts | None = None, open_: int = 4, **changed: Any) -> Fitness:
    """A week of use: 14 of 22 used, 0.19 going in circles."""
    counts = counts or EngagementCounts(acted=14, acked=3, ignored=5)
    rate = round(counts.acted / counts.total, 6) if counts.total >= 3 else None
    circles = [0.31, 0.28, None, 0.22, 0.25, 0.2, 0.24, 0.19, 0.27, 0.33, 0.3, 0.22, 0.18, 0.2]
    hours = tuple([None] * 8 + [0.41, 0.36, *circles[:13], 0.19])
    windows = [a_window(ago, 0.19 if ago == 1 else 0.24, mature=ago > 3) for ago in range(1, 12)]
    rates = [None] * 8 + [0.4, 0.42, 0.45, 0.41, 0.44, 0.48, 0.5, 0.52, 0.49, 0.53, 0.55]
    rates += [0.55, 0.54, 0.57, 0.6, 0.58, 0.61, 0.62, 0.63, rate]
    ends = tuple(iso(Millis(NOON - (27 - day) * DAY)) for day in range(28))
    fresh = Fitness(
        now=iso(NOON),
        windows=tuple(reversed(windows)),
        gaps=(
            FitnessGap(
                seq=470,
                at=iso(Millis(NOON - 12 * HOUR)),
                window_start=iso(Millis(NOON - NOON % HOUR - 19 * HOUR)),
                window_end=iso(Millis(NOON - NOON % HOUR - 11 * HOUR)),
                window_seconds=8 * 3600,
            ),
        ),
        pooled=(
            Pooled(
                days=7,
                acted=counts.acted,
                acked=counts.acked,
                ignored=counts.ignored,
                rate=rate,
                interval=(0.429, 0.803) if rate is not None else None,
                unavailable=2,
                open=open_,
                reason=None if rate is not None else "low_sample",
                lines=LinesBehind(first=12, last=90),
            ),
            Pooled(
                days=28,
                acted=41,
                acked=14,
                ignored=29,
                rate=0.488,
                interval=(0.384, 0.593),
                unavailable=5,
                open=open_,
            ),
        ),
        before=Pooled(
            days=7,
            acted=12,
            acked=4,
            ignored=6,
            rate=0.545455,
            interval=(0.347, 0.731),
            unavailable=1,
            open=0,
        ),
        versions=(
            PooledVersion(
                scaffold_version=OLDER,
                acted=27,
                acked=11,
                ignored=24,
                rate=0.435,
                interval=(0.319, 0.559),
                unavailable=3,
                open=0,
            ),
            PooledVersion(
                scaffold_version=VERSION,
                acted=counts.acted,
                acked=counts.acked,
                ignored=counts.ignored,
                rate=rate,
                interval=(0.429, 0.803),
                unavailable=2,
                open=open_,
            ),
        ),
        forecast=Forecast(points=10, surfaces_per_day=5.0, days=100),
        stall=StallTrend(
            last=0.19,
            reason=None,
            window_start=windows[0].window_start,
            day=0.25,
            week=0.27,
            hours=hours,
        ),
        trends=(
            EngagementTrend(days=7, ends=ends, rates=tuple(rates)),
            EngagementTrend(
                days=28, ends=ends, rates=tuple([None] * 24 + [0.47, 0.48, 0.49, 0.488])
            ),
        ),
        rules=FitnessRules(
            window_seconds=3600,
            horizon_seconds=86_400,
            least_sample=3,
            least_reflections=5,
            repeat_weight=0.5,
            cooldown_weight=0.3,
            concern_weight=0.2,
            config_sha256=SHA,
        ),
    )
    return msgspec.structs.replace(fresh, **changed)
