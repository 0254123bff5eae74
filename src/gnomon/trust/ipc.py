"""The pipe between the gateway and one other process: both sides ask and answer (page 2).

`Peer` sits on a channel of lines. Everything that a peer sends is checked; a peer that
breaks the protocol is cut off, and what waited for it hears PipeError.
"""

import asyncio
import contextlib
import socket
from collections.abc import Awaitable, Callable, Iterable, Mapping

from gnomon.domain.errors import CancelledByPeerError, GnomonError, PipeError
from gnomon.domain.json_value import Fields, Json
from gnomon.trust.channel import Channel, SocketChannel
from gnomon.trust.frames import (
    MAX_MESSAGE,
    PROTOCOL,
    Frame,
    decode,
    encode,
    from_error,
    to_error,
)

MAX_IN_FLIGHT = 32
"""Requests under way in one direction (page 2). Callers wait; a peer that sends more is cut
off."""

SendPart = Callable[[Json], None]
Serve = Callable[[str, Fields, SendPart], Awaitable[Json]]
"""Operation, arguments, a way to send parts -> result. Raises GnomonErrors."""


class _Call:
    """A request of ours: its answer, and who hears its parts."""

    def __init__(self, op: str, on_part: Callable[[Json], None] | None) -> None:
        self.op = op
        self.on_part = on_part
        self.answer: asyncio.Future[Json] = asyncio.get_running_loop().create_future()

    def let_go(self) -> None:
        """Nobody waits for the answer any more: an error that comes in its place is heard by
        whoever the pipe failed, and is no warning in a log.
        """
        if not self.answer.cancel() and not self.answer.cancelled():
            self.answer.exception()


class Peer:
    """The other process. One task runs `run`; others `call`; `serve` says who answers it.

    Requests that come before `serve` was called wait for it.
    """

    def __init__(self, channel: Channel, hello: Fields | None = None) -> None:
        self._channel = channel
        self._hello: Fields = hello or {}
        self._greeting: asyncio.Future[Fields] = asyncio.get_running_loop().create_future()
        # A failed greeting that nobody waits for is not worth a warning: `run` raises it too.
        self._greeting.add_done_callback(lambda done: done.cancelled() or done.exception())
        self._slots = asyncio.Semaphore(MAX_IN_FLIGHT)
        self._calls: dict[int, _Call] = {}
        self._last_id = 0
        self._serve: Serve | None = None
        self._waiting: list[tuple[int, str, Fields]] = []
        self._answering: dict[int, asyncio.Task[None]] = {}
        self._pieces: list[str] = []
        self._pieces_size = 0
        self._ended = asyncio.Event()
        self._end_reason: PipeError | None = None
        self._greeted = False
        self._reading: asyncio.Task[None] | None = None

    @classmethod
    async def over(cls, sock: socket.socket, hello: Fields | None = None) -> "Peer":
        """A peer on a connected stream socket, which it takes over."""
        return cls(await SocketChannel.open(sock), hello)

    # --- asking ----------------------------------------------------------------------------

    async def call(
        self,
        op: str,
        args: Fields,
        *,
        on_part: Callable[[Json], None] | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - the bound crosses to the other side as a cancel
    ) -> Json:
        """Ask, and wait for the answer. Cancelling it takes the request back over there too.

        `timeout` (seconds) covers the wait for a free slot as well. Raises the GnomonError
        that the other side raised, or PipeError when it is gone, broken or late.
        """
        try:
            async with asyncio.timeout(timeout):
                return await self._call(op, args, on_part)
        except TimeoutError:
            raise PipeError(
                f"No answer to {op!r} within {timeout} s.", reason="timeout", op=op
            ) from None

    async def _call(self, op: str, args: Fields, on_part: Callable[[Json], None] | None) -> Json:
        await self._slots.acquire()
        try:
            self._check_open()
            lines = list(encode({"id": self._last_id + 1, "op": op, "args": args}))
        except BaseException:
            self._slots.release()
            raise
        self._last_id += 1
        number = self._last_id
        call = self._calls[number] = _Call(op, on_part)
        try:
            self._write(lines)
            await self._channel.drain()
            return await call.answer
        except asyncio.CancelledError:
            # The slot stays taken until the other side has let go of the request.
            call.on_part = None
            if number in self._calls:
                with contextlib.suppress(PipeError):
                    self._write(encode({"cancel": number}))
            raise
        finally:
            call.let_go()

    # --- answering -------------------------------------------------------------------------

    def serve(self, serve: Serve) -> None:
        """Let `serve` answer the other side's requests, each in its own task."""
        self._serve = serve
        waiting, self._waiting = self._waiting, []
        for number, op, args in waiting:
            self._start_answer(serve, number, op, args)

    def _start_answer(self, serve: Serve, number: int, op: str, args: Fields) -> None:
        task = asyncio.create_task(self._answer(serve, number, op, args))
        self._answering[number] = task
        task.add_done_callback(lambda _: self._answering.pop(number, None))

    async def _answer(self, serve: Serve, number: int, op: str, args: Fields) -> None:
        def send_part(part: Json) -> None:
            self._write(encode({"id": number, "part": part}))

        try:
            lines = list(encode({"id": number, "ok": await serve(op, args, send_part)}))
        except asyncio.CancelledError:
            taken_back = CancelledByPeerError("The caller took its request back.", op=op)
            lines = self._error_lines(number, taken_back)
        except GnomonError as error:
            lines = self._error_lines(number, error)
        except Exception as error:  # noqa: BLE001 - the border of the process: said to both sides
            self._report(op, error)
            lines = self._error_lines(number, _internal(op, error))
        with contextlib.suppress(PipeError):
            self._write(lines)
            await self._channel.drain()

    def _error_lines(self, number: int, error: GnomonError) -> list[bytes]:
        try:
            return list(encode({"id": number, "err": from_error(error)}))
        except PipeError:
            bare = GnomonError(error.message[:1000], next_step=error.next_step[:1000])
            return list(encode({"id": number, "err": {**from_error(bare), "code": error.code}}))

    def _report(self, op: str, error: Exception) -> None:
        asyncio.get_running_loop().call_exception_handler(
            {"message": f"Answering {op!r} failed", "exception": error}
        )

    # --- the life of the pipe --------------------------------------------------------------

    async def run(self) -> None:
        """Read until the other side closes. Raises PipeError when it broke the protocol.

        Whoever runs it again waits for the same end. Cancelling it closes the pipe.
        """
        if self._reading is None:
            self._reading = asyncio.create_task(self._read())
            self._reading.add_done_callback(lambda done: done.cancelled() or done.exception())
        try:
            await asyncio.shield(self._reading)
        except asyncio.CancelledError:
            self.close()
            raise

    async def _read(self) -> None:
        reason = PipeError("The other process closed the pipe.", reason="closed")
        try:
            self._greet()
            while (line := await self._channel.read()) is not None:
                self._take(decode(line))
        except PipeError as error:
            reason = error
            raise
        finally:
            await self._end(reason)

    async def greeting(self) -> Fields:
        """What the other side said with its hello. Raises PipeError if it never did."""
        return await asyncio.shield(self._greeting)

    async def closed(self) -> None:
        """Wait until the pipe has ended, for whatever reason."""
        await self._ended.wait()

    def close(self) -> None:
        """End the pipe. What is under way hears PipeError."""
        self._channel.close()

    def _greet(self) -> None:
        if not self._greeted:
            self._greeted = True
            self._channel.write(encode({"hello": {**self._hello, "protocol": PROTOCOL}}))

    async def _end(self, reason: PipeError) -> None:
        self._end_reason = reason
        self._ended.set()
        self._channel.close()
        if not self._greeting.done():
            self._greeting.set_exception(reason)
        for call in list(self._calls.values()):
            if not call.answer.done():
                call.answer.set_exception(reason)
            self._slots.release()
        self._calls.clear()
        tasks = list(self._answering.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _check_open(self) -> None:
        if self._end_reason is not None:
            raise PipeError(
                self._end_reason.message,
                next_step=self._end_reason.next_step,
                **self._end_reason.facts,
            )

    def _write(self, lines: Iterable[bytes]) -> None:
        self._check_open()
        self._greet()
        self._channel.write(lines)

    # --- frames ----------------------------------------------------------------------------

    def _take(self, frame: Frame) -> None:
        """Act on one frame. Raises PipeError where it has no place."""
        match frame:
            case {"more": str(text)} if not self._is_over(text):
                self._pieces.append(text)
            case {"last": str(text)} if not self._is_over(text):
                whole = "".join((*self._pieces, text))
                self._pieces.clear()
                self._pieces_size = 0
                self._take_whole(decode(whole.encode("utf-8", "surrogatepass")))
            case _ if self._pieces:
                raise PipeError("A frame stood between the pieces of another.", reason="shape")
            case _:
                self._take_whole(frame)

    def _take_whole(self, frame: Frame) -> None:
        if self._greeting.done():
            self._take_traffic(frame)
            return
        hello = frame.get("hello")
        if not isinstance(hello, Mapping) or hello.get("protocol") != PROTOCOL:
            raise PipeError(
                f"The other process does not speak protocol {PROTOCOL}.",
                next_step="Restart Gnomon, so that all its processes are of one version.",
                reason="protocol",
            )
        self._greeting.set_result(hello)

    def _is_over(self, text: str) -> bool:
        self._pieces_size += len(text) + 1  # one more, so that empty pieces end too
        if self._pieces_size > MAX_MESSAGE:
            raise PipeError("The other process sent a message over the bound.", reason="too-large")
        return False

    def _take_traffic(self, frame: Frame) -> None:
        match frame:
            case {"id": int(number), "op": str(op), "args": Mapping() as args}:
                self._take_request(number, op, args)
            case {"id": int(number), "part": part}:
                self._take_part(number, part)
            case {"id": int(number), "ok": value}:
                self._take_answer(number, value, None)
            case {"id": int(number), "err": Mapping() as err}:
                self._take_answer(number, None, to_error(err))
            case {"cancel": int(number)}:
                self._take_cancel(number)
            case _:
                raise PipeError("A frame came where it has no place.", reason="shape")

    def _take_request(self, number: int, op: str, args: Fields) -> None:
        under_way = len(self._answering) + len(self._waiting)
        if under_way >= MAX_IN_FLIGHT:
            raise PipeError(f"Over {MAX_IN_FLIGHT} requests at a time.", reason="too-many")
        if number in self._answering or any(number == held for held, _, _ in self._waiting):
            raise PipeError(f"Request {number} came twice.", reason="shape")
        if self._serve is None:
            self._waiting.append((number, op, args))
        else:
            self._start_answer(self._serve, number, op, args)

    def _take_part(self, number: int, part: Json) -> None:
        call = self._calls.get(number)
        if call is None:
            raise PipeError(f"A part of {number}, which nobody asked for.", reason="shape")
        if call.on_part is None:
            return
        try:
            call.on_part(part)
        except Exception as error:  # noqa: BLE001 - the caller's own fault; goes to the caller
            call.on_part = None
            if not call.answer.done():
                call.answer.set_exception(error)

    def _take_answer(self, number: int, value: Json, error: GnomonError | None) -> None:
        call = self._calls.pop(number, None)
        if call is None:
            raise PipeError(f"An answer to {number}, which nobody asked for.", reason="shape")
        self._slots.release()
        if call.answer.done():
            return
        if error is None:
            call.answer.set_result(value)
        else:
            call.answer.set_exception(error)

    def _take_cancel(self, number: int) -> None:
        for held in [entry for entry in self._waiting if entry[0] == number]:
            self._waiting.remove(held)
            taken_back = CancelledByPeerError("The caller took its request back.", op=held[1])
            self._write(self._error_lines(number, taken_back))
        task = self._answering.get(number)
        # Unknown numbers are fine: the answer and the cancel crossed.
        if task is not None:
            task.cancel()


def _internal(op: str, error: Exception) -> GnomonError:
    return GnomonError(
        f"Answering {op!r} failed inside: {type(error).__name__}.",
        next_step="See the gateway's log.",
        op=op,
        type=type(error).__name__,
    )
