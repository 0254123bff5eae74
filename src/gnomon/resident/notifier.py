"""The one door by which something leaves the resident for the operator.

The gateway decides whether it is news, keeps what it says and writes that it was shown; here
stands only that the resident handed it over, on its own ledger.
"""

from gnomon.domain.errors import TrustError
from gnomon.domain.plain import fields, read
from gnomon.domain.ports import Pipe
from gnomon.domain.records import Mode, SurfaceDecided
from gnomon.resident.ports import LedgerOverPipe
from gnomon.resident.protocol import SurfaceArguments, SurfaceReply

SPEAKING: frozenset[Mode] = frozenset({"soft", "full"})


class Notifier:
    """`mode` is the effective one; in `off` and `shadow` nothing leaves."""

    def __init__(self, pipe: Pipe, mode: Mode) -> None:
        self._pipe = pipe
        self._mode = mode
        self._ledger = LedgerOverPipe(pipe)

    @property
    def speaks(self) -> bool:
        return self._mode in SPEAKING

    async def surface(self, asked: SurfaceArguments) -> SurfaceReply:
        """Hand it over, and note that it was. Raises TrustError in a mode that does not speak,
        and what the gateway refuses it with.
        """
        if not self.speaks:
            raise TrustError("Nothing is shown in this mode.", role="resident", op="surface")
        reply = read(await self._pipe.call("surface", fields(asked)), SurfaceReply)
        await self._ledger.append(
            "decision-ledger",
            SurfaceDecided(
                surface_kind=asked.kind,
                title=asked.title,
                origin=asked.origin,
                suppressed=reply.suppressed,
            ),
        )
        return reply
