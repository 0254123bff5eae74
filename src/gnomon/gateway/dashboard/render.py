"""The template engine as pages use it: everything that is not ours is escaped and cleaned."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from gnomon.domain.instants import Millis
from gnomon.domain.views import Status
from gnomon.gateway.dashboard import chart, fitness_words, wording
from gnomon.gateway.dashboard.labels import Labels, read_labels
from gnomon.gateway.dashboard.wording import Happening, Sentence
from gnomon.gateway.operation import Operation

SHARED = ("source", "step")
"""Groups of the language file that pages and scripts both use."""


def environment(
    operations: Mapping[str, Operation],
    happenings: Callable[[], Sequence[Happening]],
    now: Callable[[], Millis],
    *,
    simulated: bool = False,
) -> Environment:
    """Templates with `t` (words), `say` (a Sentence), `has` (whether operations exist)."""
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

    def has(*names: str) -> bool:
        return all(name in operations for name in names)

    def source_name(source: str) -> str:
        key = f"source.{source}"
        return labels(key) if key in labels else source

    def doing(status: Status) -> str:
        key = f"doing.{status.doing or 'nothing'}"
        return labels(key) if key in labels else str(status.doing)

    def skip_reason(reason: str) -> str:
        key = f"skip.{reason}"
        return labels(key) if key in labels else reason

    words: dict[str, Any] = {
        "t": labels,
        "say": say,
        "has": has,
        "now": now,
        "simulated": simulated,
        "gist": wording.gist,
        "pretty": wording.pretty,
        "happenings": happenings,
        "js_labels": _for_scripts(labels),
        "offer_button": wording.offer_button,
        "days_ago": wording.days_ago,
        "sparkline": chart.sparkline,
        "gauge": chart.gauge,
        "usefulness": fitness_words.usefulness,
        "pooled_of": fitness_words.pooled_of,
        "trend_of": fitness_words.trend_of,
        "outcome": fitness_words.outcome,
        "source_name": source_name,
        "skip_reason": skip_reason,
        "doing": doing,
    }
    made.globals.update(words)
    made.filters.update(
        say=say,
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


def _for_scripts(labels: Labels) -> Mapping[str, str]:
    """The scripts' own words, and those that they share with the pages."""
    shared = {
        f"{group}-{key}": text for group in SHARED for key, text in labels.under(group).items()
    }
    return labels.under("js") | shared


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
