"""The template engine as pages use it: everything that is not ours is escaped and cleaned."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from gnomon.domain.instants import Millis
from gnomon.domain.verdict_reasons import plain_reason
from gnomon.domain.views import Status
from gnomon.domain.views_change import ApprovalView
from gnomon.gateway.dashboard import change_words, chart, fitness_words, wording
from gnomon.gateway.dashboard.diff_rows import diff_rows
from gnomon.gateway.dashboard.exact_text import exact
from gnomon.gateway.dashboard.labels import Labels, read_labels
from gnomon.gateway.dashboard.wording import Happening, Sentence
from gnomon.gateway.wiring import Wiring

OF_CHANGE: Mapping[str, Callable[..., Any]] = {
    "diff_rows": diff_rows,
    "change_gist": change_words.gist,
    "change_verdict": change_words.verdict,
    "verdict_class": change_words.verdict_class,
    "usefulness_moved": change_words.usefulness_moved,
    "circles_moved": change_words.circles_moved,
    "expected": change_words.expected,
    "change_step": change_words.step,
    "plain_reason": plain_reason,
    "step_link": change_words.step_link,
    "light_sentence": change_words.light_sentence,
    "why_light": change_words.why_light,
    "wants": change_words.wants,
    "is_text": change_words.is_text,
    "is_stale": change_words.is_stale,
    "if_approved": change_words.if_approved,
    "if_nothing": change_words.if_nothing,
    "percent": fitness_words.percent,
    "points": fitness_words.points,
}
"""What templates of self-change call."""
SHARED = ("source", "step")
"""Groups of the language file that pages and scripts both use."""


def environment(
    has: Callable[..., bool],
    happenings: Callable[[], Sequence[Happening]],
    now: Callable[[], Millis],
    wiring: Wiring,
) -> Environment:
    """Templates with `t` (words), `say` (a Sentence), `has` (whether operations are offered)."""
    made = Environment(
        loader=PackageLoader("gnomon.gateway.dashboard"),
        autoescape=True,
        undefined=StrictUndefined,
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_clean,
    )
    labels = read_labels()

    def say(sentence: Sentence) -> str:
        return labels(sentence.key, **sentence.values)

    words: dict[str, Any] = {
        "t": labels,
        "say": say,
        "has": has,
        "now": now,
        "simulated": wiring.simulated,
        "dev_mode": wiring.dev_mode,
        "home_option": wiring.home_option,
        "gist": wording.gist,
        "pretty": wording.pretty,
        "happenings": happenings,
        "js_labels": _for_scripts(labels, wiring.home_option),
        "offer_button": wording.offer_button,
        "days_ago": wording.days_ago,
        "lasted": wording.lasted,
        "several": wording.several,
        "sparkline": chart.sparkline,
        "gauge": chart.gauge,
        "usefulness": fitness_words.usefulness,
        "pooled_of": fitness_words.pooled_of,
        "trend_of": fitness_words.trend_of,
        "lines_address": fitness_words.lines_address,
        "outcome": fitness_words.outcome,
        "raw_words": fitness_words.raw_words,
        "knows": labels.__contains__,
        **_named(labels),
        **OF_CHANGE,
    }
    made.globals.update(words)
    made.filters.update(
        say=say,
        exact=exact,
        money=wording.money,
        number=wording.number,
        percent=fitness_words.percent,
        points=fitness_words.points,
        moment=wording.moment,
        when=_when,
        day=_day,
        hour=_hour,
        code=_code,
    )
    return made


def _named(labels: Labels) -> Mapping[str, Callable[..., str]]:
    """Words for facts that are names; one that the language file does not know is shown."""

    def word(group: str, name: str) -> str:
        key = f"{group}.{name}"
        return labels(key) if key in labels else name

    def based_on(approval: ApprovalView) -> str:
        if not approval.untrusted:
            return labels("approval.trusted")
        names = [
            labels("approval.sessions", source=labels(f"source.{name}"))
            if f"source.{name}" in labels
            else name
            for name in approval.untrusted
        ]
        return labels("approval.untrusted", names=", ".join(names))

    def doing(status: Status) -> str:
        return word("doing", wording.doing(status))

    return {
        "source_name": partial(word, "source"),
        "skip_reason": partial(word, "skip"),
        "doing": doing,
        "based_on": based_on,
    }


def _for_scripts(labels: Labels, home_option: str) -> Mapping[str, str]:
    """The scripts' own words, and those that they share with the pages."""
    named = {key: labels(f"js.{key}", home_option=home_option) for key in ("gone", "signed-out")}
    shared = {
        f"{group}-{key}": text for group in SHARED for key, text in labels.under(group).items()
    }
    return labels.under("js") | shared | named


def _clean(value: Any) -> Any:
    return (
        value if isinstance(value, Markup) or not isinstance(value, str) else wording.clean(value)
    )


def _when(instant: str | None) -> Markup | str:
    """A moment, in UTC; the page's script rewrites it in the reader's own time."""
    if instant is None:
        return ""
    plain = wording.clean(instant)
    return Markup('<time datetime="{}" data-when>{}</time>').format(plain, wording.moment(plain))


def _hour(instant: str) -> Markup:
    """A window's start: the day and the hour, always both."""
    plain = wording.clean(instant)
    shown = wording.moment(plain)
    return Markup('<time datetime="{}" data-when="hour">{}</time>').format(plain, shown)


def _day(instant: str | None) -> Markup | str:
    if instant is None:
        return ""
    plain = wording.clean(instant)
    return Markup('<time datetime="{}" data-when="day">{}</time>').format(plain, plain[:10])


def _code(text: str) -> Markup:
    """`words` between backticks as code; everything is escaped first."""
    pieces = str(escape(wording.clean(text))).split("`")
    marked = [f"<code>{each}</code>" if at % 2 else each for at, each in enumerate(pieces)]
    return Markup("".join(marked))  # noqa: S704 - escaped above, piece by piece
