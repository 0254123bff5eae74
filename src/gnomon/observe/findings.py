"""What of a report is worth telling on its own, without any model. Pure.

A correction that was made in two sessions or more, and a session of the last days that did not
end well. Each has a fingerprint by what it is about, so that it is told once.
"""

from collections.abc import Collection
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from pathlib import PurePosixPath

from gnomon.domain.canonical import canonical
from gnomon.domain.instants import DAY, Millis, parse_iso
from gnomon.domain.json_value import Fields
from gnomon.domain.views import Source
from gnomon.domain.views_history import Correction, LooseEnd, Report

SESSIONS = 2
RECENT = 3 * DAY
QUOTED = 3
WORDS = 120
"""Characters of somebody's words in a title."""
AT_ONCE = 3
"""Findings of one look: a first import must not be a flood."""
ENDED = {
    "error": "ended in an error",
    "interruption": "was interrupted",
    "open-todos": "ended with open to-dos",
}


@dataclass(frozen=True)
class Finding:
    """`fingerprint` is the hash of `material`: what it is about, not how often or when."""

    title: str
    body: str
    key: str
    material: Fields

    @property
    def fingerprint(self) -> str:
        return sha256(canonical(self.material)).hexdigest()[:16]


def findings(report: Report, now: Millis, told: Collection[str]) -> list[Finding]:
    """What was not told yet, the most repeated correction first; at most a few."""
    candidates = [
        *(_of_correction(each) for each in report.corrections if each.sessions >= SESSIONS),
        *(_of_loose_end(each) for each in report.loose_ends if _is_recent(each, now)),
    ]
    fresh = (each for each in candidates if each.fingerprint not in told)
    return list(islice(fresh, AT_ONCE))


def _of_correction(found: Correction) -> Finding:
    words = _short(found.text)
    quotes = [_quote(source) for source in found.sources[:QUOTED]]
    return Finding(
        title=f"You said '{words}' in {found.sessions} sessions.",
        body="\n".join(quotes),
        key="correction",
        material={"correction": " ".join(found.text.casefold().split())},
    )


def _of_loose_end(found: LooseEnd) -> Finding:
    where = f" in {PurePosixPath(found.project).name}" if found.project else ""
    what = f": '{_short(found.title)}'" if found.title else ""
    ended = found.at or ""
    lines = [f"Go on with: {found.resume}"] if found.resume else []
    lines.append(f"It ended on {ended[:10]} at {ended[11:16]} UTC.")
    return Finding(
        title=f"A session of {found.source}{where} {ENDED[found.kind]}{what}.",
        body="\n".join(lines),
        key="loose-end",
        material={"loose_end": [found.source, found.session, found.kind]},
    )


def _is_recent(found: LooseEnd, now: Millis) -> bool:
    """Within the last days by its own date; one without a date is not known to be."""
    if found.at is None:
        return False
    try:
        return 0 <= now - parse_iso(found.at) <= RECENT
    except ValueError:
        return False


def _quote(source: Source) -> str:
    place = f"{source.path}:{source.line}" if source.path and source.line else source.session
    return f"{source.dated} {source.source} ({place}): {_short(source.quote)}"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= WORDS else line[: WORDS - 1] + "\u2026"
