"""Facts of a pretended Gnomon, as the pages and the CLI would be told them."""

from typing import Any

import msgspec

from gnomon.domain.views import (
    BudgetView,
    Check,
    Diagnosis,
    FirstBad,
    LedgerReport,
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
    LooseEndKind,
    Repeat,
    Report,
    TokenCounts,
)

NO_TOKENS = TokenCounts(input=None, output=None, cache_read=None, cache_creation=None)
QUOTE = Source(
    source="claude-code",
    session="5f1c",
    at="2026-05-12T09:14:00.000Z",
    path="/home/ada/.claude/projects/shop/5f1c.jsonl",
    line=212,
    quote=(
        "The test was flaky because two cases shared one temporary port. Fixed by binding "
        "port 0 and reading the address back; it ran 200 times clean after that."
    ),
)


def a_status(**changed: Any) -> Status:
    """A fresh Gnomon with the demo model, of which nothing has left the machine."""
    fresh = Status(
        running=True,
        pid=4242,
        agent="gnomon",
        mode="soft",
        effective_mode="shadow",
        model=ModelView(name="smollm2-135m", kind="demo", loaded=False),
        ticks=40,
        reflections=12,
        skipped={"idle": 20, "duty-cycle": 8},
        jail={"resident": "full", "tool-host": "full", "importer": "full"},
        autonomy="memory",
        budget=BudgetView(
            usd_per_day=1.0,
            usd_spent_today=0.0,
            tokens_per_day=200_000,
            tokens_spent_today=4_100,
            duty_cycle_left_seconds=311.0,
            breaker_open_until=None,
        ),
        standing_cost=StandingCost(tokens_per_hour=900.0, usd_per_hour=0.0, seconds_per_hour=40.0),
        remote_calls=0,
        usd_spent=0.0,
        next_tick_at="2026-05-28T20:28:00.000Z",
        last_focus="Why the checkout tests were run three times in a row",
    )
    return msgspec.structs.replace(fresh, **changed)


def a_loose_end(session: str, kind: LooseEndKind) -> LooseEnd:
    at = "2026-05-20T22:10:00.000Z"
    return LooseEnd(
        session=session,
        kind=kind,
        at=at,
        resume=f"claude --resume {session}",
        project="/home/ada/shop",
        title="now make the checkout test pass",
    )


def a_report() -> Report:
    return Report(
        corrections=(
            Correction(
                text="use pnpm, not npm",
                sessions=7,
                last_at="2026-05-21T16:02:00.000Z",
                sources=(
                    msgspec.structs.replace(QUOTE, quote="no, use pnpm, not npm here"),
                    msgspec.structs.replace(
                        QUOTE, source="codex", quote="pnpm please, never npm", line=33
                    ),
                ),
            ),
            Correction(
                text="don't add comments that restate the code",
                sessions=3,
                last_at="2026-05-18T08:40:00.000Z",
                sources=(QUOTE,),
            ),
        ),
        failures=(
            FailureGroup(
                tool="Bash",
                family="command not found",
                count=31,
                median_minutes_to_success=2.5,
                last_at="2026-05-21T16:02:00.000Z",
                sources=(msgspec.structs.replace(QUOTE, quote="bash: pnpm: command not found"),),
            ),
            FailureGroup(
                tool="Edit",
                family="text to replace not found",
                count=12,
                median_minutes_to_success=None,
            ),
        ),
        repeats=(
            Repeat(
                procedure="git pull > pnpm test > git push",
                count=9,
                clean=8,
                sources=(msgspec.structs.replace(QUOTE, quote="git pull && pnpm test"),),
            ),
        ),
        loose_ends=(
            a_loose_end("5f1c-checkout", "error"),
            a_loose_end("77ab-search", "open-todos"),
            a_loose_end("90de-docs", "interruption"),
        ),
        cost=(
            CostRow(project="shop", model="claude-sonnet-4-5", usd=12.4),
            CostRow(project=None, model="qwen3:8b", usd=None),
        ),
    )


def an_import_row(file: str, **changed: Any) -> ImportRow:
    row = ImportRow(
        file=file,
        format="claude-code",
        sessions=1,
        user_turns=6,
        tool_calls={"Bash": 4},
        tool_errors=1,
        interruptions=0,
        rejections=0,
        models=("claude-sonnet-4-5",),
        tokens=NO_TOKENS,
        first_at=None,
        last_at=None,
        bad_lines=(BadLine(line=9, reason="not JSON"),),
        new_observations=5,
    )
    return msgspec.structs.replace(row, **changed)


def a_stranger(file: str) -> ImportRow:
    """The row of a file that is no transcript."""
    return an_import_row(
        file,
        format=None,
        sessions=0,
        user_turns=0,
        tool_calls={},
        tool_errors=0,
        models=(),
        bad_lines=(),
        new_observations=0,
        note="not a transcript of a format that is read",
    )


def a_diagnosis() -> Diagnosis:
    return Diagnosis(
        checks=(
            Check(
                name="jail self-test",
                ok=True,
                level="ok",
                detail="A forbidden write, read, stat, socket, exec and signal failed.",
                fix="",
            ),
            Check(
                name="bubblewrap",
                ok=False,
                level="warning",
                detail="It is not installed; namespaces are made without it.",
                fix="Install it: `apt install bubblewrap`.",
            ),
        )
    )


def damaged() -> Verification:
    """What `trust.verify` says of a rewritten ledger."""
    bad = FirstBad(line=17, reason="prev does not match")
    row = LedgerReport(name="decision-ledger", lines=52, head="cd" * 32, ok=False, first_bad=bad)
    return Verification(ok=False, ledgers=(row,))
