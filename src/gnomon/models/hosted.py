"""The gateway's side of a model host: a `Model` whose process comes when it is asked for.

The first call starts the jailed host (one start, however many calls wait for it). The beat
ends it when it was idle; nothing here owns a timer. A host that does not answer in its time
is killed, one that died is started anew by the next call.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import msgspec

from gnomon.domain.errors import (
    GnomonError,
    ModelError,
    ModelReplyError,
    ModelTimeoutError,
    ModelUnavailableError,
    PipeError,
)
from gnomon.domain.json_value import Fields, Json
from gnomon.domain.messages import ModelReply, ModelRequest
from gnomon.domain.ports import Child, Clock

HUNG_SECONDS = 2.0
"""A host ends its own calls in time; one that is this much later is hung, and is killed."""
START_SECONDS = 30.0
STOP_SECONDS = 2.0

OnText = Callable[[str], None]


@dataclass(frozen=True)
class HostPlan:
    """How to start a host: its module, its argument, and what the jail grants it.

    `read` are the files it may read, `connect` the TCP ports that it may reach.
    """

    module: str
    argument: Fields
    read: tuple[str, ...] = ()
    connect: tuple[int, ...] = ()


Plan = Callable[[], Awaitable[HostPlan]]
"""Makes the plan anew at each start: names are resolved then, weights are looked for then."""
Start = Callable[[HostPlan], Awaitable[Child]]


class HostedModel:
    """A model in a jailed process. `key` gives the key for one call, or None; it goes over
    the pipe with that call and is kept nowhere.
    """

    def __init__(
        self,
        *,
        plan: Plan,
        start: Start,
        clock: Clock,
        idle_seconds: float,
        key: Callable[[], str | None] = lambda: None,
        keep_after_failure: bool = True,
    ) -> None:
        self._plan = plan
        self._start = start
        self._clock = clock
        self._idle_seconds = idle_seconds
        self._key = key
        self._keep_after_failure = keep_after_failure
        self._child: Child | None = None
        self._watch: asyncio.Task[None] | None = None
        self._starting = asyncio.Lock()
        self._running = 0
        self._last_used = 0.0

    @property
    def loaded(self) -> bool:
        return self._child is not None

    @property
    def pid(self) -> int | None:
        return self._child.pid if self._child is not None else None

    async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelReply:
        """One call. Raises the ModelError tree; cancelling it cancels the host's work."""
        self._running += 1
        try:
            child = await self._ready()
            return await self._ask(child, request, on_text)
        finally:
            self._running -= 1
            self._last_used = self._clock.boottime()

    async def end_if_idle(self, now: float) -> None:
        """End the host if nobody asked for its idle time. `now` is boot time in seconds."""
        if self._running == 0 and now - self._last_used >= self._idle_seconds:
            await self.close()

    async def close(self) -> None:
        """End the host; calls that run fail with ModelUnavailableError."""
        async with self._starting:
            await self._drop(self._child)

    async def _ready(self) -> Child:
        async with self._starting:
            if self._child is None:
                try:
                    async with asyncio.timeout(START_SECONDS):
                        self._child = await self._start(await self._plan())
                except TimeoutError:
                    raise ModelUnavailableError(
                        f"The model's process did not start within {START_SECONDS:.0f} s.",
                        next_step="See gnomon doctor.",
                    ) from None
                self._watch = asyncio.create_task(self._forget_when_dead(self._child))
            return self._child

    async def _ask(self, child: Child, request: ModelRequest, on_text: OnText | None) -> ModelReply:
        args: dict[str, Json] = {"request": msgspec.to_builtins(request)}
        key = self._key()
        if key is not None:
            args["key"] = key
        try:
            async with asyncio.timeout(request.timeout_seconds + HUNG_SECONDS):
                answer = await child.peer.call("complete", args, on_part=_text_to(on_text))
            return msgspec.convert(answer, ModelReply)
        except (TimeoutError, GnomonError, msgspec.ValidationError) as error:
            if self._is_over(error):
                await self._drop(child)
            raise _model_error(error, request) from None

    def _is_over(self, error: Exception) -> bool:
        """Whether the host is of no more use. One whose server could not be reached may have
        been given addresses that no longer hold.
        """
        if isinstance(error, ModelUnavailableError):
            return not self._keep_after_failure
        return isinstance(error, TimeoutError | PipeError | msgspec.ValidationError)

    async def _forget_when_dead(self, child: Child) -> None:
        await child.wait()
        if self._child is child:
            self._child = None

    async def _drop(self, child: Child | None) -> None:
        """Forget a host and end it. One that was forgotten already is left alone."""
        if child is None or self._child is not child:
            return
        self._child = None
        await child.stop(STOP_SECONDS)


def _model_error(
    error: TimeoutError | GnomonError | msgspec.ValidationError, request: ModelRequest
) -> ModelError:
    """What went wrong with the host, as an error of the model's tree."""
    match error:
        case ModelError():
            return error
        case TimeoutError():
            return ModelTimeoutError(
                f"The model's process did not answer within {request.timeout_seconds:.0f} s and "
                "was ended.",
                next_step="The next call starts it again.",
                seconds=request.timeout_seconds,
            )
        case PipeError():
            return ModelUnavailableError(
                "The model's process ended in mid-call.",
                next_step="The next call starts it again; if it recurs, see gnomon doctor.",
            )
        case GnomonError():
            return ModelUnavailableError(f"The model's process failed: {error}")
        case msgspec.ValidationError():
            return ModelReplyError(f"The model's process answered garbage: {error}")


def _text_to(on_text: OnText | None) -> Callable[[Json], None] | None:
    if on_text is None:
        return None

    def take(part: Json) -> None:
        match part:
            case {"text": str(text)}:
                on_text(text)
            case _:
                pass  # a part that is no text: the reply will say what counts

    return take
