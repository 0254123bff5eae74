"""What crosses the pipe between the gateway and the importer.

`import {paths, cursors}` opens a reading; each `next {}` answers with a `Batch`, so the
importer never runs ahead of what the gateway has written, and neither holds a history.
"""

import msgspec

from gnomon.domain.records_observe import ImportedSession, Observation
from gnomon.domain.views_history import ImportRow
from gnomon.observe.cursors import Fingerprint
from gnomon.observe.transcripts.reading import Progress


class ImportRequest(msgspec.Struct, frozen=True, kw_only=True):
    """`cursors` is the path of the cursors' file, granted for reading."""

    paths: tuple[str, ...]
    cursors: str


class FinishedFile(msgspec.Struct, frozen=True, kw_only=True):
    """`fingerprint` is null where the file could not be read whole: it is tried again."""

    row: ImportRow
    fingerprint: Fingerprint | None


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """Statements in the order in which they are to be written. `entries` is what the cursors
    gain by them (base64 of `identity.ENTRY`s).
    """

    observations: tuple[Observation, ...] = ()
    sessions: tuple[ImportedSession, ...] = ()
    files: tuple[FinishedFile, ...] = ()
    entries: str = ""
    progress: Progress | None = None
    done: bool = False
