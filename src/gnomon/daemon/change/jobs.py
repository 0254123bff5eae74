"""The jobs that the beat runs, by name: what each is for, whether it is due, and running one by
hand. What runs by hand does what the beat would do, and no more.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from gnomon.daemon import arguments as args
from gnomon.daemon.evaluation_time import EvaluationTime
from gnomon.domain.errors import UsageError
from gnomon.domain.instants import Millis, iso
from gnomon.domain.views_change import JobDone, JobView
from gnomon.gateway.operation import Nothing, Operation, Progress


def never() -> Millis | None:
    return None


@dataclass(frozen=True)
class JobRow:
    """One job. `not_due` says at a time why it has nothing to do then; null: it is due. `run`
    does it as of a time and answers what was done, or why nothing was. `last_at` is when it
    last left something behind.
    """

    name: str
    summary: str
    not_due: Callable[[Millis], str | None]
    run: Callable[[Millis], Awaitable[JobDone]]
    last_at: Callable[[], Millis | None] = never


class Jobs:
    """The registry. `wire` adds a row for each job there is."""

    def __init__(self, time: EvaluationTime) -> None:
        self._time = time
        self._rows: dict[str, JobRow] = {}

    def add(self, row: JobRow) -> None:
        self._rows[row.name] = row

    async def list(self, _: Nothing, __: Progress) -> list[JobView]:
        now = self._time.today()
        return [_view(row, now) for row in self._rows.values()]

    async def run(self, asked: args.JobRun, _: Progress) -> JobDone:
        """Run one now. Raises UsageError for a name that is none, or a time that may not be
        given; and what the job itself raises.
        """
        row = self._rows.get(asked.name)
        if row is None:
            raise UsageError(
                f"There is no job {asked.name!r}.",
                next_step=f"There are: {', '.join(sorted(self._rows))}.",
            )
        return await row.run(self._time.given(asked.now))


def _view(row: JobRow, now: Millis) -> JobView:
    why_not, last_at = row.not_due(now), row.last_at()
    return JobView(
        name=row.name,
        summary=row.summary,
        due=why_not is None,
        why_not=why_not,
        last_at=None if last_at is None else iso(last_at),
    )


def job_rows(jobs: Jobs) -> tuple[Operation, ...]:
    """The rows of the table. A job that was begun is finished, whoever waits for it."""
    listed: Any = jobs.list
    run: Any = jobs.run
    return (
        Operation("jobs.list", "What the beat runs", Nothing, list[JobView], listed, reads=True),
        Operation("jobs.run", "Run a job now", args.JobRun, JobDone, run, cancellable=False),
    )
