"""Whether the resident may speak now, and what it then says."""

from collections.abc import Callable
from dataclasses import dataclass

from gnomon.daemon.inbox.surfaces import Asked, Payload, Surfaces
from gnomon.domain.errors import TrustError
from gnomon.domain.records import Mode
from gnomon.resident.notifier import SPEAKING
from gnomon.resident.protocol import SurfaceArguments, SurfaceReply


@dataclass(frozen=True)
class Speech:
    """`mode` is the effective one: with a model that nobody should believe it is `shadow`, so
    that nothing rests on that model's words.
    """

    surfaces: Surfaces
    mode: Callable[[], Mode]
    is_paused: Callable[[], bool]
    scaffold_version: Callable[[], str]

    @property
    def acts(self) -> bool:
        return self.mode() == "full"

    async def say(self, asked: SurfaceArguments) -> SurfaceReply:
        """Bring it, unless it is no news or all is paused. Raises TrustError in a mode that
        does not speak: a resident that asks then is not well.
        """
        if self.mode() not in SPEAKING:
            raise TrustError("Nothing is shown in this mode.", role="resident", op="surface")
        if self.is_paused():
            return SurfaceReply(surface_id=None, suppressed=True)
        shown = await self.surfaces.emit(
            Asked(
                payload=Payload(
                    kind=asked.kind, title=asked.title, body=asked.body, artifact=asked.artifact
                ),
                origin=asked.origin,
                scaffold_version=self.scaffold_version(),
                dedupe_key=asked.dedupe_key,
                material=asked.material,
                mode=asked.mode,
            )
        )
        return SurfaceReply(surface_id=shown, suppressed=shown is None)
