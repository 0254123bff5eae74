"""Jobs in words. Pure."""

from collections.abc import Sequence

from gnomon.cli.line import Line
from gnomon.cli.render import moment, one_line, table
from gnomon.domain.views_change import JobDone, JobView


def job_lines(jobs: Sequence[JobView]) -> list[Line]:
    """One line a job: what it is for, whether it is due, when it last left something."""
    head = ("job", "what it does", "last", "due")
    rows = (
        (
            job.name,
            job.summary,
            "never" if job.last_at is None else moment(job.last_at),
            "now" if job.due else one_line(job.why_not or "no"),
        )
        for job in jobs
    )
    lines = table([head, *rows])
    return [Line(row, "plain" if number else "faint") for number, row in enumerate(lines)]


def done_lines(done: JobDone) -> list[Line]:
    """What it did, then why it did nothing more."""
    lines = [Line(one_line(each), "good") for each in done.done]
    if done.why_not:
        lines.append(Line(one_line(done.why_not)))
    return lines or [Line(f"{done.name} ran, and there was nothing to do.")]
