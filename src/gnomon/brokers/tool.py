"""The tool broker: every tool call of every agent is decided here, then carried out.

First whether the tool exists for this agent (its manifest), then whether what the model wrote
can be its arguments, then `policy`. What is not known is denied.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from gnomon.agent.arguments import BadArgumentsError, check_for
from gnomon.agent.outcome import Outcome
from gnomon.agent.places import HostArgument
from gnomon.agent.tool_specs import RECALL_LIMIT, SHELL_SECONDS, built_in
from gnomon.brokers.tool_hosts import ToolHosts
from gnomon.domain.errors import ToolNotFoundError
from gnomon.domain.json_value import Fields
from gnomon.domain.messages import ToolCall
from gnomon.domain.policy import Autonomy, Role, policy
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
    """`recall` answers in the gateway's stead; all other tools run in the run's own host."""

    def __init__(
        self, hosts: ToolHosts, grant: GrantOf, autonomy: Callable[[], Autonomy], recall: Recall
    ) -> None:
        self._hosts = hosts
        self._grant = grant
        self._autonomy = autonomy
        self._recall = recall

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
                return await self._carry_out(run_id, grant, call.name, arguments)
            case "hold":  # until approvals are built, nobody could release it
                return Outcome(text="This needs the owner's approval.", error="DENIED")
            case "deny":
                return Outcome(text=f"{role} may not use {call.name}.", error="DENIED")

    async def _carry_out(
        self, run_id: str, grant: ToolGrant, name: str, arguments: Fields
    ) -> Outcome:
        if name == "recall":
            query, limit = arguments["query"], arguments.get("limit", RECALL_LIMIT)
            assert isinstance(query, str)
            assert isinstance(limit, int)
            return Outcome(text=quotes(await self._recall(query, limit)))
        argument = HostArgument(workspace=str(grant.workspace), folders=grant.folders)
        return await self._hosts.call(run_id, argument, name, arguments, seconds(name, arguments))

    async def end_run(self, run_id: str) -> None:
        """The run is over: so is its host, with all that its tools left running."""
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
    return f"{hit.at or 'undated'} {hit.source} ({place})\n{hit.quote}"
