"""Tools as a jailed agent has them: every call is asked of the gateway, which decides."""

import msgspec

from gnomon.agent.outcome import Outcome
from gnomon.domain.json_value import Fields
from gnomon.domain.plain import read
from gnomon.domain.ports import Call


class RemoteTools:
    """The `Tools` port over the pipe, for one run."""

    def __init__(self, call: Call, run_id: str) -> None:
        self._call = call
        self._run_id = run_id

    async def run(self, name: str, arguments: Fields) -> Outcome:
        """Raises what the gateway refused with, or PipeError when it went away."""
        call: Fields = {
            "id": "",
            "name": name,
            "arguments": msgspec.json.encode(arguments).decode(),
        }
        answer = await self._call("tool.run", {"run": self._run_id, "call": call})
        return read(answer, Outcome)
