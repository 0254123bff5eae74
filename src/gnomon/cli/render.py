"""From what Gnomon answers to lines for people. Pure; `output` cleans them when it prints."""

from collections.abc import Iterable, Sequence

from gnomon.cli.line import Line
from gnomon.cli.terminal_text import one_line
from gnomon.domain import views
from gnomon.domain.instants import in_words

MODES = {"off": "off", "shadow": "thinks only", "soft": "speaks", "full": "acts"}
DOING = {
    "chat": "answering you",
    "reflecting": "reflecting",
    "paused": "paused, as you asked",
    "no-model": "resting; it has no model to reflect with",
}
DEMO = "built-in demo model; don't trust what it says"


def day(at: str | None) -> str:
    """The date of an instant; where none is known, that is said."""
    return at[:10] if at else "undated"


def moment(at: str | None) -> str:
    """`2026-05-24 18:00 UTC`."""
    return in_words(at) if at else "unknown"


def plural(count: int, noun: str) -> str:
    """`1 turn`, `2 turns`."""
    return f"{count} {noun}" + ("" if count == 1 else "s")


def table(rows: Iterable[Sequence[str]], gap: str = "  ") -> list[str]:
    """Left-aligned columns; the last one is as long as it is."""
    cells = [tuple(row) for row in rows]
    if not cells:
        return []
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]) - 1)]
    return [gap.join([*map(str.ljust, row, widths), row[-1]]).rstrip() for row in cells]


def status_lines(status: views.Status) -> list[Line]:
    """The state on one screen: what it is, does, did, costs."""
    head = f"Gnomon runs (pid {status.pid})." if status.running else "Gnomon is not running."
    rows = [
        ("agent", status.agent),
        ("mode", _mode(status)),
        ("model", _model(status.model)),
        ("doing", _doing(status)),
        ("ticks", f"{status.ticks}, {plural(status.reflections, 'reflection')}"),
        ("skipped", _counts(status.skipped) or "none"),
        ("jail", ", ".join(f"{role} {level}" for role, level in sorted(status.jail.items()))),
        ("budget", _budget(status.budget)),
        ("background", _standing(status.standing_cost)),
        ("focus", one_line(status.last_focus or "")),
        ("paused", f"until {in_words(status.paused_until)}" if status.paused_until else ""),
        ("next tick", moment(status.next_tick_at) if status.next_tick_at else ""),
        ("dashboard", status.url or ""),
        ("home", status.home),
    ]
    lines = [Line(head, "good" if status.running else "warn")]
    if not status.running:
        lines.append(Line("Start it: gnomon up", "faint"))
    return lines + [Line(row) for row in table(row for row in rows if row[1])]


def _doing(status: views.Status) -> str:
    """In words; a word of a newer gateway stands as it is."""
    if status.doing is None:
        return "resting" if status.running else "nothing"
    return DOING.get(status.doing, status.doing)


def _mode(status: views.Status) -> str:
    said = f"{status.mode} ({MODES[status.mode]}), autonomy {status.autonomy}"
    if status.effective_mode == status.mode:
        return said
    now = f"{status.effective_mode} ({MODES[status.effective_mode]})"
    return f"{said}; now {now}: {_why_less(status.model)}"


def _why_less(model: views.ModelView) -> str:
    """Why less holds than what was set (`resident.gate.effective_mode`)."""
    if model.kind == "none":
        return "there is no model to speak with"
    return f"what {model.name} says is not to be believed; `gnomon model list` shows better ones"


def _model(model: views.ModelView) -> str:
    loaded = "loaded" if model.loaded else "not loaded"
    match model.kind:
        case "none":
            return "none"
        case "demo":
            return f"{model.name}, {loaded}: {DEMO}"
        case "local" | "remote":
            return f"{model.name} ({model.kind})"


def _counts(counts: dict[str, int]) -> str:
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return ", ".join(f"{name} {count}" for name, count in ordered if count)


def _budget(budget: views.BudgetView) -> str:
    said = (
        f"${budget.usd_spent_today:.2f} of ${budget.usd_per_day:.2f} today, "
        f"{budget.tokens_spent_today} of {budget.tokens_per_day} tokens"
    )
    if budget.breaker_open_until:
        said += f"; no calls until {moment(budget.breaker_open_until)}: the model kept failing"
    return said


def _standing(cost: views.StandingCost) -> str:
    parts: list[str] = []
    if cost.tokens_per_hour is not None:
        parts.append(f"{cost.tokens_per_hour:.0f} tokens")
    if cost.usd_per_hour is not None:
        parts.append(f"${cost.usd_per_hour:.4f}")
    if cost.seconds_per_hour is not None:
        parts.append(f"{cost.seconds_per_hour:.0f} s of inference")
    return ", ".join(parts) + " in the last hour" if parts else ""


def folder_lines(folders: Sequence[views.Folder]) -> list[Line]:
    """The grants, or what it means that there are none."""
    if not folders:
        return [
            Line("No folders granted. The agent has its workspace alone."),
            Line("Grant one: gnomon folders add PATH", "faint"),
        ]
    rows = (("read, write" if each.writable else "read", each.path) for each in folders)
    return [Line(row) for row in table(rows)]


def model_lines(offers: Sequence[views.ModelOffer]) -> list[Line]:
    """One line a model; the current one is marked."""
    rows = table(
        ("*" if offer.current else " ", offer.name, offer.kind, one_line(offer.detail))
        for offer in offers
    )
    lines = [
        Line(row, "good" if offer.current else "plain")
        for row, offer in zip(rows, offers, strict=True)
    ]
    return [*lines, Line("Choose: gnomon model use NAME", "faint")]


def diagnosis_lines(diagnosis: views.Diagnosis) -> list[Line]:
    """Each check with its finding, and how to mend it."""
    lines: list[Line] = []
    for check in diagnosis.checks:
        match check.level:
            case "ok":
                lines.append(Line(f"ok    {check.name}: {check.detail}"))
            case "warning":
                lines.append(Line(f"warn  {check.name}: {check.detail}", "warn"))
            case "error":
                lines.append(Line(f"fault {check.name}: {check.detail}", "bad"))
        if check.fix:
            lines.append(Line(f"      {check.fix}", "faint"))
    return lines


def verification_lines(found: views.Verification) -> list[Line]:
    """Each ledger, its length and head, and the first line that is not what was written."""
    lines: list[Line] = []
    for ledger in found.ledgers:
        said = f"{ledger.name}: {plural(ledger.lines, 'line')}, head {ledger.head[:12]}"
        if ledger.ok:
            lines.append(Line(f"ok    {said}"))
        else:
            bad = ledger.first_bad
            where = f"line {bad.line}: {bad.reason}" if bad else "its head is not the known one"
            lines.append(Line(f"bad   {ledger.name}: {where}", "bad"))
    ending = "Every ledger is whole." if found.ok else "Something was changed or lost."
    return [*lines, Line(ending, "good" if found.ok else "bad")]


def session_lines(sessions: Sequence[views.SessionView]) -> list[Line]:
    """Newest first, as they came."""
    if not sessions:
        return [Line("No sessions yet.", "faint")]
    rows = (
        (each.session, day(each.last_at), plural(each.turns, "turn"), one_line(each.title, 80))
        for each in sessions
    )
    return [Line(row, words="quoted") for row in table(rows)]


def source_lines(sources: Sequence[views.Source]) -> list[Line]:
    """Dated quotes with where they stand."""
    lines: list[Line] = []
    for number, source in enumerate(sources, start=1):
        lines += [
            Line(
                f"[{number}] {source.dated} {source.source}: {one_line(source.quote)}",
                words="quoted",
            ),
            Line(f"    {_place(source)}", "faint", "exact"),
        ]
    return lines


def _place(source: views.Source) -> str:
    """Where it stands; a reply that is made of quotes names it already."""
    where = f"{source.path}:{source.line}" if source.path and source.line else source.path
    return where or source.session


def reply_lines(reply: views.TurnReply, streamed: str) -> list[Line]:
    """What comes after what was streamed: the rest of the reply, its sources, the demo model's
    sentence, the price.
    """
    rest = unsaid(reply.reply, streamed)
    lines = [Line(rest)] if rest else []
    lines += source_lines([each for each in reply.sources if _place(each) not in reply.reply])
    if reply.model_says:
        said = f"The demo model says (don't trust it): {reply.model_says}"
        lines.append(Line(said, "faint", "quoted"))
    if reply.stop_reason != "done":
        lines.append(Line(f"It stopped early: {reply.stop_reason}.", "warn"))
    return [*lines, Line(_price(reply), "faint")]


def unsaid(reply: str, streamed: str) -> str:
    """What of a reply was not streamed, if it begins with that. A model may also have streamed
    its way to it.
    """
    whole, said = reply.strip(), streamed.strip()
    if not said or not whole:
        return reply
    if said.endswith(whole):
        return ""
    rest = whole.removeprefix(said)
    return rest.lstrip() if rest.startswith("\n") else reply


def _price(reply: views.TurnReply) -> str:
    parts = [plural(reply.steps, "step"), f"{reply.seconds:.1f} s"]
    if reply.tools:
        parts.insert(1, _counts(reply.tools))
    if reply.tokens_in is not None and reply.tokens_out is not None:
        parts.append(f"{reply.tokens_in} tokens in, {reply.tokens_out} out")
    return " · ".join([*parts, reply.session])


def cost_lines(status: views.Status) -> list[Line]:
    """What `/cost` says."""
    rows = (("today", _budget(status.budget)), ("background", _standing(status.standing_cost)))
    return [Line(row) for row in table(row for row in rows if row[1])]
