"""The refiner with the embedded model, end to end: a real jail, a real model host, a real home.

Its edits are mostly refused, or undone later, and that is the point; so all that is asked of a
run is that it ends, says what it did, and that what it says is on the record.
"""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from gnomon.daemon.core import Core
from gnomon.daemon.store.create import ensure_root
from gnomon.daemon.this_machine import this_machine
from gnomon.daemon.wire import open_core
from gnomon.domain.instants import HOUR, Millis, iso
from gnomon.domain.records import AnchoredHead, Spend
from gnomon.domain.records_change import Change
from gnomon.domain.records_referee import Components, EngagementCounts, Window
from gnomon.home import Home

pytestmark = [
    pytest.mark.system,
    pytest.mark.alone,
    pytest.mark.needs("embedded-model", "jail-full"),
    pytest.mark.timeout(180),
]
RUN_SECONDS = 150


async def measured(core: Core) -> None:
    """Two hours of before: without them there is nothing to compare a change with."""
    now, nothing = core.platform.clock.wall(), AnchoredHead(seq=0, sha256="0" * 64)
    for hours in (3, 2):
        start = Millis((now // HOUR - hours) * HOUR)
        window = Window(
            window_start=iso(start),
            window_end=iso(Millis(start + HOUR)),
            window_seconds=3600,
            stall_composite=0.4,
            stall_reason=None,
            components=Components(
                reflection_repeat_rate=0.8,
                executive_cooldown_rate=0.0,
                concern_persistence_rate=0.0,
            ),
            engagement_rate=None,
            engagement_reason="low_sample",
            engagement_counts=EngagementCounts(),
            system_unavailable_count=0,
            system_unavailable_seconds=0,
            pending=0,
            mature=True,
            rule_counts=EngagementCounts(),
            synthetic_counts=EngagementCounts(),
            tick_count=30,
            reflection_count=20,
            executive_attempt_count=0,
            scaffold_version=core.scaffold_version(),
            mixed_scaffold=False,
            config_sha256=core.fitness.sha256,
            inputs={"decision-ledger": nothing, "engagement-ledger": nothing},
        )
        await core.stores.append("fitness-ledger", window)


async def test_a_run_with_the_embedded_model_ends_and_says_what_it_did(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    ensure_root(home)
    agent = home.agent("main")
    agent.fitness_config.parent.mkdir(parents=True)
    agent.fitness_config.write_text('{"dev_mode": true}')
    platform = replace(this_machine(), environ={"GNOMON_MODEL": "embedded"})
    async with open_core(home, "main", platform) as core:
        await measured(core)
        async with asyncio.timeout(RUN_SECONDS):
            done = await core.refine.run(platform.clock.wall())
        assert done.ran, done.why_not
        (sentence,) = done.done
        changes = [
            line.body
            for line in core.stores.files["refinement-ledger"].read()
            if isinstance(line.body, Change)
        ]
        if changes:
            (change,) = changes
            assert change.change_id in sentence
            assert (change.author.role, change.author.model) == ("refiner", "smollm2-135m-instruct")
            assert change.prediction is not None
        else:
            assert sentence.startswith("It proposed nothing.")
        spends = [line.body for line in core.stores.files["spend-ledger"].read()]
        assert spends
        assert {each.purpose for each in spends if isinstance(each, Spend)} == {"refine"}
        await core.refine.stop()
