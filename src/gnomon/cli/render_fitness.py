"""Fitness in lines for a terminal, in the page's words. Pure."""

from collections.abc import Sequence

from gnomon.cli.line import Line
from gnomon.cli.render import moment, plural, table
from gnomon.domain.views_referee import Fitness, FitnessWindow, Pooled, Retuned, Written

WINDOWS_SHOWN = 24


def fitness_lines(fitness: Fitness) -> list[Line]:
    """What one reads first, then the newest windows."""
    least = fitness.rules.least_sample
    lines = [Line(used_sentence(pool, least), "heading") for pool in fitness.pooled[:1]]
    if fitness.written is not None:
        lines[:0] = [written_line(fitness.written)]
    lines += [Line(_month(pool)) for pool in fitness.pooled[1:] if pool.rate is not None]
    if fitness.forecast.days is not None and fitness.forecast.surfaces_per_day:
        lines.append(
            Line(
                f"At {fitness.forecast.surfaces_per_day:.1f} a day, a "
                f"{fitness.forecast.points}-point difference shows after about "
                f"{fitness.forecast.days} days.",
                "faint",
            )
        )
    lines.append(Line(circles_sentence(fitness)))
    if not fitness.windows:
        return [*lines, Line("No hour is over yet. The first is measured one minute after.")]
    return [*lines, Line(""), *_windows(fitness.windows[-WINDOWS_SHOWN:])]


def used_sentence(pool: Pooled, least: int) -> str:
    """`Used 14 of 22 (64%), last 7 days. You dismissed 3, let 5 pass. ...`"""
    settled = pool.acted + pool.acked + pool.ignored
    if pool.rate is None:
        return (
            f"Too early to say. Brought {settled + pool.open + pool.unavailable}, used "
            f"{pool.acted}, open {pool.open}. A score appears after {least} have settled."
        )
    said = (
        f"Used {pool.acted} of {settled} ({_percent(pool.rate)}), last {pool.days} days. "
        f"You dismissed {pool.acked}, let {pool.ignored} pass."
    )
    tail: list[str] = []
    if pool.unavailable:
        verb = "doesn't" if pool.unavailable == 1 else "don't"
        tail.append(f"{pool.unavailable} came while it was off and {verb} count")
    if pool.open:
        tail.append(f"{pool.open} {'is' if pool.open == 1 else 'are'} open")
    return f"{said} {'; '.join(tail)}." if tail else said


def _month(pool: Pooled) -> str:
    assert pool.rate is not None
    settled = pool.acted + pool.acked + pool.ignored
    return f"Last {pool.days} days: {pool.acted} of {settled} ({_percent(pool.rate)})."


def circles_sentence(fitness: Fitness) -> str:
    """`Going in circles: 0.19 (0 fresh, 1 stuck), the last hour; ...`"""
    stall = fitness.stall
    means = ", ".join(
        f"{name} {value:.2f}"
        for name, value in (("24 h", stall.day), ("7 days", stall.week))
        if value is not None
    )
    if stall.last is None:
        return f"Going in circles: not known for the last hour. {means}".rstrip()
    said = f"Going in circles: {stall.last:.2f} (0 fresh, 1 stuck), the last hour"
    return f"{said}; {means}." if means else f"{said}."


def _windows(windows: Sequence[FitnessWindow]) -> list[Line]:
    head = ("hour", "circles", "used", "dismissed", "let pass", "missed", "open", "thoughts", "")
    rows = [head, *map(_row, reversed(windows))]
    return [Line(row, "plain" if number else "faint") for number, row in enumerate(table(rows))]


def _row(window: FitnessWindow) -> tuple[str, ...]:
    counts = window.engagement_counts
    notes = [
        "" if window.mature else "provisional",
        "instructions changed" if window.mixed_scaffold else "",
        (window.stall_reason or "").replace("_", " "),
    ]
    circles = "-" if window.stall_composite is None else f"{window.stall_composite:.2f}"
    return (
        moment(window.window_start),
        circles,
        str(counts.acted),
        str(counts.acked),
        str(counts.ignored),
        str(window.system_unavailable_count),
        str(window.pending),
        str(window.reflection_count),
        ", ".join(filter(None, notes)),
    )


def written_line(written: Written) -> Line:
    """What `--run-due` did."""
    if not (written.windows or written.amendments or written.gaps):
        return Line("No window was due.")
    said = ", ".join(
        (
            plural(written.windows, "window"),
            plural(written.amendments, "amendment"),
            plural(written.gaps, "gap"),
        )
    )
    return Line(f"Written: {said}.", "good")


def retuned_lines(found: Retuned) -> list[Line]:
    """Each question, its answer, what it rests on, what to do."""
    asked = f"From the last {found.days} days. The questions are meant for after 30: before that, "
    lines = [Line(f"{asked}little rests on the answers.", "faint")]
    for each in found.answers:
        lines.append(Line(f"{each.question} {each.answer.capitalize()}.", "heading"))
        figures = ", ".join(
            f"{name.replace('_', ' ')} {_figure(value)}"
            for name, value in each.figures.items()
            if value is not None
        )
        lines.append(Line(f"  {figures}", "faint"))
        if each.advice:
            lines.append(Line(f"  {each.advice}", "warn"))
    return lines


def _figure(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.3g}" if value % 1 else f"{value:.0f}"


def _percent(rate: float) -> str:
    return f"{int(rate * 100 + 0.5)}%"
