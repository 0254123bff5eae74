"""An operation: one thing that an operator or a client may ask of Gnomon.

The daemon holds the one table of them (`gnomon.daemon.operations`). The HTTP API, the pages
and the CLI are three doors to that table; none has logic of its own.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from gnomon.domain.json_value import Fields

Progress = Callable[[Fields], None]
"""Takes one part of a long operation: `{"text": ...}`, `{"file": ..., "read": ...}`."""

Authority = Literal["operator", "client"]


class Nothing(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """No arguments."""


@dataclass(frozen=True)
class Operation:
    """`name` is `noun.verb`. `reads` ones change nothing and are served by GET.

    `run(arguments, progress)` gets a decoded `arguments` struct and answers a `View` or a
    list of them. `authority` is the least that may ask. `cancellable`: when the caller goes
    away, the operation is cancelled; one that `outlives_pages` goes on when a browser leaves,
    and ends with a CLI that does (Ctrl-C).
    """

    name: str
    summary: str
    arguments: type[msgspec.Struct]
    result: Any
    run: Callable[[Any, Progress], Awaitable[Any]]
    reads: bool = False
    authority: Authority = "operator"
    cancellable: bool = True
    outlives_pages: bool = False
