"""Durations as people write them: `90s`, `30m`, `1h30m`, `3d`, `2w`. Pure."""

import re

from gnomon.domain.errors import UsageError

SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
PART = re.compile(r"(\d{1,9})([smhdw])")

WRITTEN = "Write it like 30m, 1h30m, 3d or 2w."


def is_duration(text: str) -> bool:
    return re.fullmatch(rf"({PART.pattern})+", text) is not None


def parse_duration(text: str) -> int:
    """Seconds. Raises UsageError."""
    seconds = sum(int(count) * SECONDS[unit] for count, unit in PART.findall(text))
    if not is_duration(text):
        raise UsageError(f"{text!r} is no duration.", next_step=WRITTEN)
    if seconds == 0:
        raise UsageError(f"{text!r} is no time at all.", next_step=WRITTEN)
    return seconds


def spoken(seconds: float) -> str:
    """`3 days`, `1 h 30 min`, `42 s`: the two largest units that count."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, hours, days = whole // 60, whole // 3_600, whole // 86_400
    if minutes < 60:
        return f"{minutes} min"
    if hours < 24:
        return f"{hours} h" + (f" {minutes % 60} min" if minutes % 60 else "")
    return ("1 day" if days == 1 else f"{days} days") + (f" {hours % 24} h" if hours % 24 else "")
