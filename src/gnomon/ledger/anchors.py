"""Anchors: where every ledger ended, written down each hour when something changed.

A chain shows that no line in it was altered; the anchor shows that the chain itself is the
one that was acknowledged, and not a shorter, older or recomputed one (page 2). The anchors
are a ledger too: copied elsewhere, they prove the past up to then.
"""

import re
from collections.abc import Iterable, Mapping

from gnomon.domain.instants import HOUR, Millis
from gnomon.domain.ledgers import GENESIS, Ack, Head
from gnomon.domain.ports import Clock, Ledger
from gnomon.domain.records import Anchor, AnchoredHead

EVERY = HOUR
_HASH = re.compile(r"[0-9a-f]{64}")
RECENT = 1_000
"""Anchor lines that are read back at a start: six weeks of hours. `verify` reads all."""


def changed(
    anchored: Mapping[str, AnchoredHead], heads: Mapping[str, Head]
) -> dict[str, AnchoredHead]:
    """The heads that are not as they were anchored, empty ledgers aside."""
    now = {
        key: AnchoredHead(seq=head.seq, sha256=head.sha256)
        for key, head in heads.items()
        if head.seq
    }
    return {key: head for key, head in now.items() if anchored.get(key) != head}


def is_due(last_at: Millis | None, now: Millis) -> bool:
    """Whether an hour has gone by; also after the clock stepped back, to be safe."""
    return last_at is None or now - last_at >= EVERY or now < last_at


class Anchors:
    """Writes anchors to their ledger, and knows the latest head of each key."""

    def __init__(self, ledger: Ledger, clock: Clock) -> None:
        """Reads back the RECENT last lines. Raises LedgerCorruptError."""
        self._ledger = ledger
        self._clock = clock
        self._last_at: Millis | None = None
        self._anchored: dict[str, AnchoredHead] = {}
        for line in ledger.read(after_seq=max(ledger.head.seq - RECENT, 0)):
            if isinstance(line.body, Anchor):
                self._last_at = line.at
                self._anchored.update(line.body.heads)

    def known(self, key: str) -> AnchoredHead | None:
        """The last anchored head of a key: what opening that ledger checks from."""
        return self._anchored.get(key)

    async def write_if_due(self, heads: Mapping[str, Head]) -> Ack | None:
        """Write the changed heads if an hour has gone by."""
        return await self.write(heads) if is_due(self._last_at, self._clock.wall()) else None

    async def write(self, heads: Mapping[str, Head]) -> Ack | None:
        """Write the changed heads now (each must be durable); null when none changed."""
        news = changed(self._anchored, heads)
        if not news:
            return None
        ack = await self._ledger.append(Anchor(heads=news))
        self._last_at = ack.at
        self._anchored.update(news)
        return ack


NO_LINE = GENESIS
"""Stands for what is no hash at all: no line has it."""


class Anchored:
    """Every head that was ever anchored (or cited), in 40 bytes each, by key and `seq`."""

    def __init__(self) -> None:
        self._seqs: dict[str, bytearray] = {}
        self._hashes: dict[str, bytearray] = {}

    def add(self, heads: Mapping[str, AnchoredHead]) -> None:
        for key, head in heads.items():
            self.add_one(key, head)

    def add_one(self, key: str, head: AnchoredHead) -> None:
        sha256 = head.sha256 if _HASH.fullmatch(head.sha256) else NO_LINE
        self._seqs.setdefault(key, bytearray()).extend(max(head.seq, 1).to_bytes(8, "big"))
        self._hashes.setdefault(key, bytearray()).extend(bytes.fromhex(sha256))

    def all_keys(self) -> Iterable[str]:
        return self._seqs.keys()

    def of(self, key: str) -> list[tuple[int, str]]:
        """`seq` and hash of a ledger's anchored heads, lowest first."""
        seqs, hashes = self._seqs.get(key, b""), self._hashes.get(key, b"")
        return sorted(
            (int.from_bytes(seqs[i * 8 : i * 8 + 8], "big"), hashes[i * 32 : i * 32 + 32].hex())
            for i in range(len(seqs) // 8)
        )
