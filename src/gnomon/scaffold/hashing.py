"""Names for what is in force: hashes and version names of a scaffold. Pure.

A scaffold version reads `000042-1a2b3c4d5e6f`: the activation number (it counts the sets of
files that were ever in force, from 1) and the first 12 hex digits of the hash over the whole
folder. Names sort by activation, hold no colon, and two sets never share one.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from gnomon.domain.records import Sha256
from gnomon.domain.version_name import files_of, version_of

HASH_DIGITS = 12
_SNAPSHOT = re.compile(
    r"^(?P<stem>.+)\.(?P<activation>\d{6,})-(?P<count>\d{4,})-(?P<hash>[0-9a-f]{12})"
    r"(?P<suffix>(\.[^.]+)?)$"
)


def content_sha256(content: bytes) -> Sha256:
    """Of a file's exact bytes."""
    return hashlib.sha256(content).hexdigest()


def text_sha256(text: str) -> Sha256:
    """Of a file's exact bytes; scaffold files are UTF-8."""
    return content_sha256(text.encode())


def same_files(version: str, files: Mapping[str, str]) -> bool:
    """Whether a scaffold version names this very set of files, under whichever activation."""
    return files_of(version) == folder_sha256(files)[:HASH_DIGITS]


def folder_sha256(files: Mapping[str, str]) -> Sha256:
    """Over sorted (path, SHA-256) of every file (page 2); `files` maps path to text."""
    whole = hashlib.sha256()
    for path in sorted(files):
        whole.update(f"{path}\0{text_sha256(files[path])}\n".encode())
    return whole.hexdigest()


def version_name(activation: int, files: Mapping[str, str]) -> str:
    """`000042-<12 hex>` for the set of files that activation `activation` put in force."""
    return version_of(activation, folder_sha256(files)[:HASH_DIGITS])


def snapshot_name(path: str, activation: int, count: int, content: bytes) -> str:
    """What a prior content is called in `.versions/`.

    `inner-loop-prompt.000042-0001-<12 hex>.md`: the last activation under which it stood,
    a count within that activation, and the start of its own hash. A folder in `path` becomes
    part of the name, since `.versions/` is flat.
    """
    flat = PurePosixPath(path.replace("/", "__"))
    digest = content_sha256(content)[:HASH_DIGITS]
    return f"{flat.stem}.{activation:06d}-{count:04d}-{digest}{flat.suffix}"


def snapshots_of(path: str, activation: int, names: Iterable[str]) -> list[str]:
    """Of `names`, the snapshots of one file under one activation, oldest first."""
    flat = PurePosixPath(path.replace("/", "__"))
    found: list[tuple[int, str]] = []
    for name in names:
        match = _SNAPSHOT.match(name)
        if (
            match
            and (match["stem"], match["suffix"]) == (flat.stem, flat.suffix)
            and int(match["activation"]) == activation
        ):
            found.append((int(match["count"]), name))
    return [name for _, name in sorted(found)]


def named_for(path: str, sha256: str, names: Iterable[str]) -> list[str]:
    """Of `names`, the snapshots of one file that may hold a content of this hash, newest first."""
    flat = PurePosixPath(path.replace("/", "__"))
    found: list[tuple[int, int, str]] = []
    for name in names:
        match = _SNAPSHOT.match(name)
        if (
            match
            and (match["stem"], match["suffix"]) == (flat.stem, flat.suffix)
            and match["hash"] == sha256[:HASH_DIGITS]
        ):
            found.append((int(match["activation"]), int(match["count"]), name))
    return [name for *_, name in sorted(found, reverse=True)]


@dataclass(frozen=True, order=True)
class Snapshot:
    """What the name of a prior content says: under which activation it stood last, and, of a
    file's several within one, which it was. `path` is the file's, with its folders.
    """

    activation: int
    count: int
    path: str
    name: str


def snapshots(names: Iterable[str], paths: Iterable[str]) -> list[Snapshot]:
    """Those of `names` that are snapshots, newest first. `paths` are the files that stand now:
    a name alone does not tell a folder from two underscores.
    """
    known = {path.replace("/", "__"): path for path in paths}
    found: list[Snapshot] = []
    for name in names:
        if match := _SNAPSHOT.match(name):
            flat = f"{match['stem']}{match['suffix']}"
            path = known.get(flat, flat.replace("__", "/"))
            found.append(Snapshot(int(match["activation"]), int(match["count"]), path, name))
    return sorted(found, reverse=True)


def snapshot_count(name: str) -> int:
    """The count in a snapshot's name; 0 for a name that is none."""
    match = _SNAPSHOT.match(name)
    return int(match["count"]) if match else 0


def last_activation(names: Iterable[str]) -> int:
    """The highest activation that any snapshot in `.versions/` names; 0 when there is none."""
    return max(
        (int(match["activation"]) for name in names if (match := _SNAPSHOT.match(name))),
        default=0,
    )
