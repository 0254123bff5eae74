"""From imported rows and the report to lines for people, and to what may be shared. Pure."""

from collections.abc import Mapping, Sequence

from gnomon.cli.line import Line
from gnomon.cli.render import day, plural, source_lines, table
from gnomon.cli.terminal_text import one_line
from gnomon.domain import views, views_history
from gnomon.domain.json_value import Fields, Json
from gnomon.observe.report import keeps_failing, misses, total

SHOWN = 10
"""Entries of a section; `--json` has them all."""
BAD_LINES_SHOWN = 3
FORMATS = "Gnomon reads the JSONL transcripts of Claude Code and Codex."
SECTIONS = {
    "corrections": (
        "What you keep correcting",
        "a correction appears once it was said in 2 sessions",
    ),
    "failures": ("What keeps failing", "no tool failed the same way twice"),
    "repeats": ("What repeats", "no steps ran clean 3 times"),
    "loose_ends": (
        "Loose ends",
        "no session ended in an error, an interruption or open to-dos",
    ),
    "cost": ("Cost (list price, not your bill)", "no session says which model it used"),
}
"""A section's title, and what an empty one means."""


def import_lines(rows: Sequence[views_history.ImportRow], *, dry_run: bool) -> list[Line]:
    """What was read, then what could not be, then what is new."""
    read = [row for row in rows if row.format is not None]
    cells = (
        (
            row.format or "",
            plural(row.sessions, "session"),
            plural(row.user_turns, "turn"),
            f"{sum(row.tool_calls.values())} calls",
            "errors unknown" if row.tool_errors is None else plural(row.tool_errors, "error"),
            f"{day(row.first_at)} to {day(row.last_at)}",
            row.file,
        )
        for row in read[:SHOWN]
    )
    lines = [Line(row) for row in table(cells)]
    if len(read) > SHOWN:
        lines.append(Line(f"and {plural(len(read) - SHOWN, 'more file')}", "faint"))
    lines += [line for row in rows for line in _bad_lines(row)]
    closed = unreadable(rows)
    lines += [Line(f"{row.file}: {row.note}", "bad") for row in closed]
    lines += _without_transcript([row for row in rows if row.format is None and row not in closed])
    if not rows:
        return [Line(f"There was no file. {FORMATS}", "warn")]
    new = sum(row.new_observations for row in rows)
    verb = "would be new" if dry_run else "new"
    ending = f"{plural(len(read), 'transcript')} read, {plural(new, 'turn')} {verb}."
    if not read:
        return [*lines, Line(ending, "warn")]
    return [*lines, Line(ending, "good"), Line("See: gnomon report", "faint")]


def _without_transcript(rows: Sequence[views_history.ImportRow]) -> list[Line]:
    """Which they are, and what would have been one."""
    if not rows:
        return []
    lines = [Line(f"{plural(len(rows), 'file')} held no transcript. {FORMATS}", "warn")]
    lines += [
        Line(f"  {row.file}" + (f": {row.note}" if row.note else ""), "faint")
        for row in rows[:SHOWN]
    ]
    if len(rows) > SHOWN:
        lines.append(Line(f"  and {len(rows) - SHOWN} more: --json lists them", "faint"))
    return lines


def unreadable(rows: Sequence[views_history.ImportRow]) -> list[views_history.ImportRow]:
    """What could not be read at all, which is not the same as empty (its note says why)."""
    return [row for row in rows if row.note is not None and row.note.startswith("unreadable")]


def _bad_lines(row: views_history.ImportRow) -> list[Line]:
    if not row.bad_lines:
        return []
    count = plural(len(row.bad_lines), "bad line")
    rest = "nothing could be read" if row.format is None else "the other lines were read"
    lines = [Line(f"{row.file}: {count}, {rest}", "warn")]
    lines += [
        Line(f"  line {bad.line}: {one_line(bad.reason)}", "faint")
        for bad in row.bad_lines[:BAD_LINES_SHOWN]
    ]
    return lines


def report_lines(report: views_history.Report) -> list[Line]:
    """The five sections, in the order of page 8; an empty one says so, and when something would
    stand there. Where nothing was read it says how to.
    """
    sections = (report.corrections, report.failures, report.repeats, report.loose_ends, report.cost)
    unread = report.turns == 0 and not any(sections)
    more = [Line("Nothing was read yet. See: gnomon import --from claude-code")] if unread else []
    return [
        *_missed(report),
        *_section("corrections", _corrections(report.corrections)),
        *_section("failures", _failures(report.failures)),
        *_section("repeats", _repeats(report.repeats)),
        *_section("loose_ends", _loose_ends(report.loose_ends)),
        *_section("cost", _cost(report.cost)),
        *more,
    ]


def _missed(report: views_history.Report) -> list[Line]:
    """Why nothing was found, where what was read lies elsewhere than what was asked for."""
    if not misses(report):
        return []
    if report.newest_at is None:
        said = "Nothing that was read is of such a project, or none of it has a date."
    else:
        said = (
            f"Nothing within what you asked for: the newest session is of {day(report.newest_at)}."
        )
    return [Line(said, "warn"), Line()]


def _section(name: str, lines: list[Line]) -> list[Line]:
    title, empty = SECTIONS[name]
    return [
        Line(title, "heading"),
        *(lines or [Line(f"  nothing found: {empty}", "faint")]),
        Line(),
    ]


def _corrections(found: Sequence[views_history.Correction]) -> list[Line]:
    lines: list[Line] = []
    for each in found[:SHOWN]:
        last = each.last_at[:10] if each.last_at else _latest(each.sources)
        where = f"{plural(each.sessions, 'session')}, last {last}"
        lines.append(Line(f'  likely: "{one_line(each.text)}" ({where})', words="quoted"))
        lines += [
            Line(f"    {line.text}", "faint", line.words) for line in source_lines(each.sources[:1])
        ]
    return lines


def _latest(sources: Sequence[views.Source]) -> str:
    """The day of the newest source: its session's, where that alone is known."""
    return sources[0].dated if sources else views.UNDATED


def _failures(found: Sequence[views_history.FailureGroup]) -> list[Line]:
    again, once = keeps_failing(found)
    rows = (
        (
            f"  {each.tool}",
            each.family,
            plural(each.count, "time"),
            "no success after"
            if each.median_minutes_to_success is None
            else f"{each.median_minutes_to_success:.1f} min to the next success",
        )
        for each in again[:SHOWN]
    )
    lines: list[Line] = []
    for row, each in zip(table(rows), again, strict=False):
        lines.append(Line(row))
        lines += [Line(f"    {line.text}", "faint") for line in source_lines(each.sources[:1])]
    if once:
        said = f"  {plural(once, 'other error')}, seen once each: gnomon report --json has them"
        lines.append(Line(said, "faint"))
    return lines


def _repeats(found: Sequence[views_history.Repeat]) -> list[Line]:
    return [
        Line(f"  {one_line(each.procedure)} ({plural(each.count, 'time')}, {each.clean} clean)")
        for each in found[:SHOWN]
    ]


def _loose_ends(found: Sequence[views_history.LooseEnd]) -> list[Line]:
    lines: list[Line] = []
    for each in found[:SHOWN]:
        title = f": {one_line(each.title, 100)}" if each.title else ""
        lines.append(Line(f"  {day(each.at)} {each.kind}{title}", words="quoted"))
        where = f"  (in {one_line(each.project)})" if each.project else ""
        lines.append(Line(f"    {each.resume}{where}", "faint", "exact"))
    return lines


def _cost(found: Sequence[views_history.CostRow]) -> list[Line]:
    rows = (
        (
            f"  {'no listed price' if each.usd is None else f'${each.usd:.2f}'}",
            each.model,
            each.project or "no project",
        )
        for each in found[:SHOWN]
    )
    lines = [Line(row) for row in table(rows)]
    if found:
        unpriced = sum(each.usd is None for each in found)
        without = f", without {unpriced} that no list has a price for" if unpriced else ""
        lines.append(Line(f"  ${total(found):.2f}  together{without}"))
    return lines


def shareable(report: views_history.Report) -> Fields:
    """Counts alone: no text, no path, no session, no project (page 8)."""
    clean = sum(each.clean for each in report.repeats)
    return {
        "corrections": len(report.corrections),
        "corrected_sessions": sum(each.sessions for each in report.corrections),
        "failures": sum(each.count for each in report.failures),
        "failure_families": len(report.failures),
        "repeats": len(report.repeats),
        "clean_repeats": clean,
        "loose_ends": {
            kind: sum(1 for each in report.loose_ends if each.kind == kind)
            for kind in ("error", "interruption", "open-todos")
        },
        "usd": round(total(report.cost), 2),
    }


def shareable_lines(counts: Fields) -> list[Line]:
    """The same for people."""
    rows = [(name.replace("_", " "), _flat(value)) for name, value in counts.items()]
    return [Line(row) for row in table(rows)]


def _flat(value: Json) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {count}" for key, count in value.items())
    return str(value)
