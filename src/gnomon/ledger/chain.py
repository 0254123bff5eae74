"""What makes lines a chain: each follows the one before in number, hash and time. Pure."""

from gnomon.domain.instants import Millis, iso
from gnomon.domain.ledgers import GENESIS, Line
from gnomon.domain.records import Sha256
from gnomon.ledger.codec import bad


class Chain:
    """Where a walk stands: the last line's `seq`, hash and time."""

    __slots__ = ("_anywhere", "at", "seq", "sha256")

    def __init__(self) -> None:
        """At the very beginning of a ledger."""
        self.seq = 0
        self.sha256: Sha256 = GENESIS
        self.at: Millis | None = None
        self._anywhere = False

    @classmethod
    def anywhere(cls) -> "Chain":
        """In the middle of a ledger: the first line is taken as it stands."""
        chain = cls()
        chain._anywhere = True
        return chain

    def begin_segment(self) -> None:
        """The next line is a segment's first: the clock may have stepped back before it."""
        self.at = None

    def follow(self, line: Line) -> None:
        """Take the next line. Raises RecordError when it does not follow."""
        if not self._anywhere:
            if line.seq != self.seq + 1:
                raise bad(f"seq is {line.seq} where {self.seq + 1} should stand")
            if line.prev != self.sha256:
                raise bad(f"prev is not the hash of line {self.seq}")
            if self.at is not None and line.at < self.at:
                raise bad(f"at runs backwards, from {iso(self.at)} to {iso(line.at)}")
        self._anywhere = False
        self.seq, self.sha256, self.at = line.seq, line.sha256, line.at
