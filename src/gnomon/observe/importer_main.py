"""The importer's process: jailed, reads the granted paths, answers `import` and `next`."""

from collections.abc import Callable
from pathlib import Path

from gnomon.domain.errors import UsageError
from gnomon.domain.json_value import Fields, Json
from gnomon.domain.plain import fields, read
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
                request = read(args, ImportRequest)
                paths = tuple(Path(each) for each in request.paths)
                self._importer = Importer(paths, Path(request.cursors))
                return {}
            case "next" if self._importer is not None:
                return fields(self._importer.next())
            case "stop":
                return {}
            case _:
                raise UsageError(f"The importer does not answer {op!r} now.", op=op)


async def serve(peer: Peer, argument: Fields) -> None:
    """Entry of the child process; returns when the gateway has gone."""
    del argument
    peer.serve(Service().answer)
    await peer.closed()
