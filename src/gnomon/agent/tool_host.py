"""The tool host: the one jailed process in which a run's tools touch files and start programs.

It holds no grant of its own. What it may reach is what the jail shows it; it answers `tool`
requests of the gateway and ends when the pipe does.
"""

import asyncio
import errno
import os
import sys
from collections.abc import Callable, Mapping

import msgspec

from gnomon.agent import file_tools
from gnomon.agent.outcome import FaultCode, Outcome, ToolFaultError
from gnomon.agent.places import HostArgument, Places, places
from gnomon.agent.processes import Programs
from gnomon.agent.search_tool import search
from gnomon.agent.shell_tool import shell
from gnomon.agent.tool_specs import ARGUMENTS, Arguments, Edit, List, Read, Search, Shell, Write
from gnomon.domain.errors import ToolNotFoundError, UsageError
from gnomon.domain.json_value import Fields, Json
from gnomon.domain.plain import read
from gnomon.trust.ipc import Peer

_CODES: dict[int, FaultCode] = {
    errno.ENOENT: "FILE_NOT_FOUND",
    errno.EISDIR: "NOT_A_FILE",
    errno.ENXIO: "NOT_A_FILE",
    errno.ENOTDIR: "NOT_A_FOLDER",
    errno.EEXIST: "NOT_A_FOLDER",  # a file stands where a folder was to be made
    errno.EACCES: "DENIED",
    errno.EPERM: "DENIED",
    errno.EROFS: "DENIED",
    errno.ELOOP: "DENIED",
    errno.ENOSPC: "NO_SPACE",
    errno.EDQUOT: "NO_SPACE",
    errno.E2BIG: "TOO_LARGE",
    errno.EFBIG: "NO_SPACE",
}


class ToolRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: str
    arguments: dict[str, object]


async def serve(peer: Peer, argument: Fields) -> None:
    """Answer until the gateway says stop or closes the pipe."""
    where = places(read(argument, HostArgument))
    programs = Programs(reaper=_is_own_process())
    stopped = asyncio.Event()

    async def answer(op: str, args: Fields, _part: Callable[[Json], None]) -> Json:
        match op:
            case "tool":
                asked = read(args, ToolRequest)
                outcome = await run_tool(where, programs, asked.name, asked.arguments)
                return msgspec.to_builtins(outcome)
            case "stop":
                stopped.set()
                return {}
            case _:
                raise UsageError(f"A tool host knows no operation {op!r}.", op=op)

    peer.serve(answer)
    async with asyncio.TaskGroup() as group:
        ends = [group.create_task(peer.closed()), group.create_task(stopped.wait())]
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        for end in ends:
            end.cancel()
    programs.end_strays()


def _is_own_process() -> bool:
    """Whether this interpreter was started to be a tool host and nothing else: then every child
    that it finds is a tool's, and may be ended. The gateway starts its children isolated and
    without site packages; no program that runs a host within itself (the simulator, a test) is.
    """
    return bool(sys.flags.isolated and sys.flags.no_site)


async def run_tool(
    where: Places, programs: Programs, name: str, arguments: Mapping[str, object]
) -> Outcome:
    """Carry out one call. What it cannot do is an outcome with a code; only a tool that is
    not there is raised (ToolNotFoundError).
    """
    typed = ARGUMENTS.get(name)
    if typed is None:
        raise ToolNotFoundError("Tool not found.", tool=name)
    try:
        return await _dispatch(where, programs, msgspec.convert(arguments, typed, strict=False))
    except msgspec.ValidationError as error:
        return Outcome(text=str(error), error="INVALID_ARGUMENTS")
    except ToolFaultError as fault:
        return fault.outcome()
    except OSError as error:
        return _system_refused(error)


async def _dispatch(where: Places, programs: Programs, asked: Arguments) -> Outcome:
    match asked:
        case Read():
            return Outcome(text=await asyncio.to_thread(file_tools.read, where, asked))
        case Write():
            return Outcome(text=await asyncio.to_thread(file_tools.write, where, asked))
        case Edit():
            return Outcome(text=await asyncio.to_thread(file_tools.edit, where, asked))
        case List():
            return Outcome(text=await asyncio.to_thread(file_tools.list_folder, where, asked))
        case Search():
            return await search(where, programs, asked)
        case Shell():
            return await shell(where, programs, asked)
        case _:
            raise ToolNotFoundError("Tool not found.", tool=type(asked).__name__.lower())


def _system_refused(error: OSError) -> Outcome:
    code = _CODES.get(error.errno or 0, "IO_ERROR")
    about = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, str | bytes) else ""
    return Outcome(text=f"{about}{error.strerror or error}.", error=code)
