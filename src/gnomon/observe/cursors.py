"""Import cursors: what was read already, so that reading again writes nothing twice.

One state file, written whole. `entries` are `identity.ENTRY`s: who told each turn, message
and session first. `rows` let an unchanged file answer without being read. `seq` and
`sha256` say up to which line of the ledger the file knows; lines after it (a crash came
between) are looked up in the ledger itself, and a ledger that is another one voids it all.
"""

import re
from collections.abc import Iterable
from pathlib import Path

import msgspec

from gnomon.domain.ledgers import GENESIS, Line
from gnomon.domain.records_observe import ImportedSession, Observation
from gnomon.domain.views_history import ImportRow
from gnomon.observe.identity import ENTRY, digest, key

_TURN_ID = re.compile(r"[0-9a-f]{1,16}", re.ASCII)
VERSION = 3
"""Counts up when parsers read more than before: then everything is read anew."""
MOST_BYTES = 512 * 1024 * 1024


class Fingerprint(msgspec.Struct, frozen=True, array_like=True):
    """A file as it was when it was read whole."""

    device: int
    inode: int
    size: int
    changed_ns: int


class ReadFile(msgspec.Struct, frozen=True, array_like=True):
    fingerprint: Fingerprint
    row: ImportRow


class Cursors(msgspec.Struct, frozen=True, kw_only=True):
    version: int = VERSION
    seq: int = 0
    sha256: str = GENESIS
    entries: bytes = b""
    rows: dict[str, ReadFile] = {}


_DECODER = msgspec.msgpack.Decoder(Cursors)


def load(path: Path) -> Cursors:
    """The cursors of a file; none at all where it is missing, damaged or of another version:
    they are a memory of what the ledger and the transcripts hold, and are made again.
    """
    try:
        if path.stat().st_size > MOST_BYTES:
            return Cursors()
        cursors = _DECODER.decode(path.read_bytes())
    except (OSError, msgspec.DecodeError):
        return Cursors()
    return cursors if cursors.version == VERSION else Cursors()


def encode(cursors: Cursors) -> bytes:
    return msgspec.msgpack.encode(cursors)


def body_digest(body: Observation | ImportedSession) -> int:
    """What a statement says, without its kind's tag order or its time of writing."""
    return digest(msgspec.json.encode(body, order="deterministic"))


def owner_of(source: str, path: str, session: str) -> int:
    return key(source, "owner", path, session)


def session_key(source: str, path: str, session: str) -> int:
    return key(source, "session", path, session)


def turn_key(said: str) -> int | None:
    """The key that a turn's id stands for. Null for what is none: the line stays, and keeps no
    later import from being made.
    """
    return int(said, 16) if _TURN_ID.fullmatch(said) else None


def from_lines(lines: Iterable[Line]) -> bytes:
    """Entries for what the ledger holds."""
    found = bytearray()
    for line in lines:
        match line.body:
            case Observation(turn_id=str(said), path=str(path)) as body:
                name = turn_key(said)
                if name is None:
                    continue
                owner = owner_of(body.source, path, body.session)
                found += ENTRY.pack(name, owner, body_digest(body))
            case ImportedSession() as body:
                name = session_key(body.source, body.path, body.session)
                owner = owner_of(body.source, body.path, body.session)
                found += ENTRY.pack(name, owner, body_digest(body))
            case _:
                continue
    return bytes(found)
