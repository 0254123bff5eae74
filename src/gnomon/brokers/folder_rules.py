"""Which folders an operator may grant to an agent's tools, and which nobody should. Pure.

A grant is read by a model and, through a shell, by any program it starts. So what is refused
is refused whole: not a warning, and no option that forces it.
"""

from dataclasses import dataclass
from pathlib import Path, PurePath

SYSTEM_TREES = tuple(
    Path(path)
    for path in (
        "/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/proc",
        "/run", "/sbin", "/sys", "/usr", "/var/lib", "/var/log", "/var/run", "/var/spool",
        "/System", "/Library", "/private/etc",
    )
)  # fmt: skip
"""The system's own: neither they nor anything in them."""

SHARED_ROOTS = tuple(
    Path(path)
    for path in (
        "/", "/home", "/media", "/mnt", "/opt", "/root", "/srv", "/tmp", "/var",  # noqa: S108
        "/var/tmp", "/Users", "/Volumes", "/private",  # noqa: S108 - named to be refused
    )
)  # fmt: skip
"""Where folders of many owners lie: not these, but one within them."""

HOME_KEYS = (
    ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".netrc", ".password-store",
    ".claude", ".codex", ".mozilla", ".thunderbird", ".local/share/keyrings",
    ".config/gcloud", ".config/gh", ".config/op", ".config/google-chrome", ".config/chromium",
    ".config/BraveSoftware", "Library/Keychains", "Library/Application Support/Google",
)  # fmt: skip
"""Below a home: keys, credentials, browser profiles."""

KEY_NAMES = frozenset({".ssh", ".gnupg", ".aws", ".password-store"})
"""Keys wherever they lie: a copied home is a home too."""


@dataclass(frozen=True)
class Machine:
    """What must stay out of reach here. All paths are absolute, and resolved."""

    gnomon_home: Path
    homes: tuple[Path, ...]
    keys: tuple[Path, ...]
    """Those of HOME_KEYS that exist, below each home."""


def refusal(path: Path, machine: Machine, keys_found: tuple[PurePath, ...] = ()) -> str | None:
    """Why a resolved folder cannot be granted, as the rest of a sentence; null when it can.

    `keys_found` are folders with a key's name that were met inside it.
    """
    reasons = (
        _is_system(path),
        _is_home(path, machine),
        _touches_gnomon(path, machine),
        _holds_keys(path, machine, keys_found),
    )
    return next((reason for reason in reasons if reason is not None), None)


def _is_system(path: Path) -> str | None:
    if path in SHARED_ROOTS:
        return "is shared by the whole machine; grant one folder within it"
    if any(path.is_relative_to(tree) for tree in SYSTEM_TREES):
        return "belongs to the system"
    return None


def _is_home(path: Path, machine: Machine) -> str | None:
    if any(home.is_relative_to(path) for home in machine.homes):
        return "is, or holds, a whole home folder; grant one folder within it"
    return None


def _touches_gnomon(path: Path, machine: Machine) -> str | None:
    own = machine.gnomon_home
    if own.is_relative_to(path) or path.is_relative_to(own):
        return "is, holds or lies in Gnomon's own home"
    return None


def _holds_keys(path: Path, machine: Machine, keys_found: tuple[PurePath, ...]) -> str | None:
    if any(part in KEY_NAMES for part in path.parts):
        return "holds keys"
    for key in (*machine.keys, *keys_found):
        if key.is_relative_to(path):
            return f"holds keys ({key.name})"
        if path.is_relative_to(key):
            return "holds keys"
    return None
