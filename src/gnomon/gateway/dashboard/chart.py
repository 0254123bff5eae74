"""Small line charts as SVG, drawn by the gateway. Pure.

No library and no script: a chart is part of the page that it stands in, prints, and needs
nothing of the content policy (docs/adr/0703-charts-drawn-by-the-gateway.md). Colours are
classes of the one stylesheet. What is unknown is a gap in the line, never a zero.
"""

from collections.abc import Iterator, Sequence

from markupsafe import Markup

WIDTH = 320.0
HEIGHT = 72.0
MARGIN = 5.0
"""Room for the stroke and the last point."""
SCALE = 28.0
"""Width of the numbers beside the scale."""
GRID = (0.0, 0.5, 1.0)

HIDDEN = Markup('aria-hidden="true"')

Values = Sequence[float | None]


def sparkline(values: Values, label: str, marks: Sequence[str]) -> Markup:
    """Values of 0 to 1, oldest first and equally far apart, as a line with its last point
    marked. `marks` name 0, the middle and 1; `label` is what it says to whoever cannot see it.
    """
    lines = [Markup('<polyline points="{}"/>').format(_points(run)) for run in _runs(values)]
    dots = [
        Markup('<circle class="lone" cx="{:.1f}" cy="{:.1f}" r="1.6"/>').format(*run[0])
        for run in _runs(values)
        if len(run) == 1
    ]
    return Markup(
        '<svg class="spark" viewBox="0 0 {width:.0f} {height:.0f}" role="img" '
        'aria-label="{label}">{grid}{lines}{dots}{last}</svg>'
    ).format(
        width=WIDTH,
        height=HEIGHT,
        label=label,
        grid=_grid(marks),
        lines=Markup("").join(lines),
        dots=Markup("").join(dots),
        last=_last(values),
    )


def gauge(low: float, high: float, value: float, label: str) -> Markup:
    """A value of 0 to 1 on its scale, within the range where it may truly lie. Without a label
    it only illustrates what stands beside it.
    """
    name = Markup('role="img" aria-label="{}"').format(label) if label else HIDDEN
    return Markup(
        '<svg class="gauge" viewBox="0 0 320 16" preserveAspectRatio="none" {name}>'
        '<rect class="scale" x="0" y="6" width="320" height="4" rx="2"/>'
        '<rect class="range" x="{x:.1f}" y="5" width="{width:.1f}" height="6" rx="3"/>'
        '<rect class="value" x="{at:.1f}" y="1" width="3" height="14" rx="1.5"/></svg>'
    ).format(
        name=name,
        x=WIDTH * low,
        width=max(2.0, WIDTH * (high - low)),
        at=min(WIDTH - 3, max(0.0, WIDTH * value - 1.5)),
    )


def _grid(marks: Sequence[str]) -> Markup:
    line = Markup(
        '<line class="floor" x1="{left:.0f}" x2="{width:.0f}" y1="{y:.1f}" y2="{y:.1f}"/>'
        '<text class="mark-y" x="{text:.0f}" y="{below:.1f}" text-anchor="end">{mark}</text>'
    )
    rows = [
        line.format(left=SCALE, width=WIDTH, y=_y(at), text=SCALE - 5, below=_y(at) + 3, mark=mark)
        for at, mark in zip(GRID, marks, strict=True)
    ]
    return Markup("").join(rows)


def _runs(values: Values) -> Iterator[Sequence[tuple[float, float]]]:
    """The stretches of known values, as points."""
    left = SCALE + MARGIN
    step = (WIDTH - left - MARGIN) / max(1, len(values) - 1)
    run: list[tuple[float, float]] = []
    for at, value in enumerate(values):
        if value is not None:
            run.append((left + at * step, _y(value)))
        elif run:
            yield run
            run = []
    if run:
        yield run


def _points(run: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in run)


def _last(values: Values) -> Markup:
    runs = list(_runs(values))
    if not runs:
        return Markup("")
    x, y = runs[-1][-1]
    return Markup('<circle class="last" cx="{:.1f}" cy="{:.1f}" r="3.4"/>').format(x, y)


def _y(value: float) -> float:
    held = min(1.0, max(0.0, value))
    return HEIGHT - MARGIN - held * (HEIGHT - 2 * MARGIN)
