"""The importer's process: jailed, reads the granted paths, answers `import` and `next`."""

from collections.abc import Callable
from pathlib import Path
from typing import cast

import msgspec

from gnomon.domain.errors import RecordError, UsageError
from gnomon.domain.json_value import Fields, Json
from gnomon.observe.exchange import ImportRequest
from gnomon.observe.importer import Importer
from gnomon.trust.ipc import Peer


class Service:
    """Answers the gateway. One import at a time; a new `import` replaces the one before."""

    def __init__(self) -> None:
        self._importer: Importer | None = None

    async def answer(self, op: str, args: Fields, send_part: Callable[[Json], None]) -> Json:
        del send_part
        match op:
            case "import":
                request = _request(args)
                paths = tuple(Path(each) for each in request.paths)
                self._importer = Importer(paths, Path(request.cursors))
                return {}
            case "next" if self._importer is not None:
                return cast("Json", msgspec.to_builtins(self._importer.next()))
            case "stop":
                return {}
            case _:
                raise UsageError(f"The importer does not answer {op!r} now.", op=op)


def _request(args: Fields) -> ImportRequest:
    try:
        return msgspec.convert(args, ImportRequest)
    except msgspec.ValidationError as error:
        raise RecordError(f"Not an import: {error}", kind="import", reason=str(error)) from error


async def serve(peer: Peer, argument: Fields) -> None:
    """Entry of the child process; returns when the gateway has gone."""
    del argument
    peer.serve(Service().answer)
    await peer.closed()
