"""The tool broker: every tool call of every agent is decided here, then carried out.

First whether the tool exists for this agent (its manifest), then whether what the model wrote
can be its arguments, then `policy`. What is not known is denied. A write into a folder that is
granted for reading is parked for the operator (`gnomon.approvals`): it is not the tool that is
held then, but the exact bytes of one file.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from gnomon.agent.arguments import BadArgumentsError, check_for
from gnomon.agent.outcome import Outcome
from gnomon.agent.places import HostArgument
from gnomon.agent.tool_specs import RECALL_LIMIT, SHELL_SECONDS, built_in
from gnomon.brokers.held_writes import FILES, READING, HeldWrite, Hold, read_only_target
from gnomon.brokers.tool_hosts import ToolHosts
from gnomon.domain.errors import ToolNotFoundError
from gnomon.domain.json_value import Fields
from gnomon.domain.messages import ToolCall
from gnomon.domain.policy import WRITE_WHERE_READ, Autonomy, Role, policy
from gnomon.domain.views import Folder, Source

CALL_SECONDS = 60.0
"""How long a tool may take. A shell command has its own bound, and SLACK on top of it."""
SLACK_SECONDS = 15.0


@dataclass(frozen=True)
class ToolGrant:
    """What one agent may use: the tools that its manifest names, and where they work."""

    tools: frozenset[str]
    workspace: Path
    folders: tuple[Folder, ...] = ()


GrantOf = Callable[[str], ToolGrant]
"""Of an agent, by its id. Asked at each call, so that a grant taken back is gone at once."""
Recall = Callable[[str, int], Awaitable[tuple[Source, ...]]]


class ToolBroker:
    """`recall` answers in the gateway's stead, `hold` parks what the operator decides; all other
    tools run in the run's own host.
    """

    def __init__(
        self,
        hosts: ToolHosts,
        grant: GrantOf,
        autonomy: Callable[[], Autonomy],
        recall: Recall,
        hold: Hold,
    ) -> None:
        self._hosts = hosts
        self._grant = grant
        self._autonomy = autonomy
        self._recall = recall
        self._hold = hold
        self._rests_on: dict[str, set[str]] = {}
        """By run: whose words, not the operator's, it has read."""

    async def run(self, role: Role, run_id: str, agent: str, call: ToolCall) -> Outcome:
        """Carry out a call, or say why not. Raises JailError when there is no safe place for
        it, and what recall raises.
        """
        grant = self._grant(agent)
        spec = built_in().get(call.name)
        if spec is None or call.name not in grant.tools:
            return Outcome(text="Tool not found.", error=ToolNotFoundError.code)
        try:
            arguments = check_for(spec)(call.arguments)
        except BadArgumentsError as error:
            return Outcome(text=str(error), error=error.code)
        match policy(role, f"tool:{call.name}", self._autonomy()):
            case "allow":
                return await self._carry_out(role, run_id, grant, call.name, arguments)
            case "hold" | "deny":  # of no tool as a whole can be said what it would do
                return Outcome(text=f"{role} may not use {call.name}.", error="DENIED")

    async def _carry_out(
        self, role: Role, run_id: str, grant: ToolGrant, name: str, arguments: Fields
    ) -> Outcome:
        target = read_only_target(grant.workspace, grant.folders, name, arguments)
        if target is not None:
            return await self._write_where_read(role, run_id, name, target, arguments)
        if name in READING:
            self._rests_on.setdefault(run_id, set()).add(FILES)
        if name == "recall":
            query, limit = arguments["query"], arguments.get("limit", RECALL_LIMIT)
            assert isinstance(query, str)
            assert isinstance(limit, int)
            hits = await self._recall(query, limit)
            self._rests_on.setdefault(run_id, set()).update(hit.source for hit in hits)
            return Outcome(text=quotes(hits))
        argument = HostArgument(workspace=str(grant.workspace), folders=grant.folders)
        return await self._hosts.call(run_id, argument, name, arguments, seconds(name, arguments))

    async def _write_where_read(
        self, role: Role, run_id: str, name: str, target: Path, arguments: Fields
    ) -> Outcome:
        """A write that nobody but the operator may let happen."""
        match policy(role, WRITE_WHERE_READ, self._autonomy()):
            case "hold":
                rests_on = tuple(sorted(self._rests_on.get(run_id, ())))
                return await self._hold(HeldWrite(role, run_id, name, target, arguments, rests_on))
            case "allow" | "deny":  # nothing here would carry it out
                text = f"{target} is in a folder that is granted for reading."
                return Outcome(text=text, error="DENIED")

    async def end_run(self, run_id: str) -> None:
        """The run is over: so is its host, with all that its tools left running."""
        self._rests_on.pop(run_id, None)
        await self._hosts.end_run(run_id)

    async def end_idle(self) -> None:
        await self._hosts.end_idle()

    async def close(self) -> None:
        await self._hosts.close()


def seconds(name: str, arguments: Fields) -> float:
    """How long a call may take before its host is ended."""
    if name != "shell":
        return CALL_SECONDS
    asked = arguments.get("timeout_seconds", SHELL_SECONDS)
    assert isinstance(asked, int | float)
    return asked + SLACK_SECONDS


def quotes(hits: tuple[Source, ...]) -> str:
    """What was found, dated, each with the place that it can be opened at."""
    return "\n\n".join(_quote(hit) for hit in hits) or "[nothing found]"


def _quote(hit: Source) -> str:
    place = f"{hit.path}:{hit.line}" if hit.path and hit.line else hit.path or hit.session
    return f"{hit.at or hit.dated} {hit.source} ({place})\n{hit.quote}"
