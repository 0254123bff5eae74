"""All that a child is told before it confines itself: made by the gateway, read by `enter`."""

import marshal
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    # A child loads this before it may load anything that is not Python's own.
    from gnomon.domain.policy import Role
    from gnomon.domain.views import JailLevel

Showing = Literal["read", "run", "write", "device"]
"""How a path is shown: to read; to read and run; to change (and run); a device node."""
Builder = Literal["unshare", "bubblewrap", "none"]
"""Who makes the namespaces."""


@dataclass(frozen=True)
class Plan:
    """Plain data, so that it can be handed over before anything but Python is loaded.

    `shown`: real paths (no links in them) and how they appear. `links`: a link and where it
    leads. `files`: made-up files and their text. `private`: empty folders of its own, with
    the most bytes they hold. `rules`: Landlock's, a path and its rights. `probes`: paths that
    must be out of reach. `processes_now`: tasks that the user has already (level `partial`).
    """

    role: "Role"
    module: str
    level: "JailLevel"
    builder: Builder
    parent: int
    packages: tuple[str, ...]
    shown: tuple[tuple[str, Showing], ...]
    links: tuple[tuple[str, str], ...]
    files: tuple[tuple[str, str], ...]
    private: tuple[tuple[str, int], ...]
    rules: tuple[tuple[str, int], ...]
    ports: tuple[int, ...]
    may_exec: bool
    network: bool
    tcp: bool
    udp: bool
    data: int
    address_space: int | None
    file_size: int
    descriptors: int
    processes: int
    oom_score: int
    probes: tuple[str, ...]
    landlock: bool = True
    seccomp: bool = True
    self_test: bool = True
    listens: bool = False


def dump(plan: Plan) -> bytes:
    """Marshal: both ends are the same interpreter, and it needs no import in the child."""
    return marshal.dumps(asdict(plan))


def load(data: bytes) -> Plan:
    """Only for bytes that the gateway wrote before the child ran anything else."""
    fields: dict[str, Any] = marshal.loads(data)  # noqa: S302 - from the gateway alone
    return Plan(**fields)
