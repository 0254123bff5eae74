"""Whether the machine asks for rest: on battery, or hot. Read from the kernel's files."""

from pathlib import Path

HOT_MILLIDEGREES = 85_000
"""A zone above 85 C holds background inference back (the first kernel ran at 70 C steady)."""


def on_battery(root: Path = Path("/sys/class/power_supply")) -> bool:
    """True when a mains supply is known and every one of them is offline."""
    mains = [_read(supply / "online") for supply in _children(root) if _is_mains(supply)]
    return bool(mains) and all(state == "0" for state in mains)


def is_hot(root: Path = Path("/sys/class/thermal")) -> bool:
    """True when any thermal zone reads above `HOT_MILLIDEGREES`."""
    readings = (_read(zone / "temp") for zone in _children(root))
    return any(text.lstrip("-").isdigit() and int(text) > HOT_MILLIDEGREES for text in readings)


def power_bound() -> bool:
    """Whether background inference must wait for mains power or a cooler machine."""
    return on_battery() or is_hot()


def _children(root: Path) -> list[Path]:
    try:
        return sorted(root.iterdir())
    except OSError:
        return []  # No such kernel interface here: nothing is known, nothing is held back.


def _is_mains(supply: Path) -> bool:
    return _read(supply / "type") == "Mains"


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""  # A sensor may refuse to be read; that says nothing of heat.
