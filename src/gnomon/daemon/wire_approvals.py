"""The wiring of held actions: who does which kind, and what the operator is told."""

from typing import cast

from gnomon.agent.outcome import Outcome
from gnomon.approvals.execute import Executions, Marks
from gnomon.approvals.file_writes import FileWrites, WriteGrant
from gnomon.brokers.held_writes import HeldWrite
from gnomon.daemon.change.announcing import Announcing
from gnomon.daemon.change.approving import Approving
from gnomon.daemon.change.holding import AskedIn, HeldWrites
from gnomon.daemon.core import Core
from gnomon.domain.policy import WRITE_WHERE_READ, Role, policy


def wire_approvals(core: Core) -> None:
    """Make the queue, its executors, and what parks writes in it. After the resident's parts."""
    platform = core.platform

    def granted() -> WriteGrant:
        grant = core.tool_grant("resident")
        return WriteGrant(grant.tools, grant.folders)

    def may(role: str) -> bool:
        """Whoever may have it held may have it done, once the operator said so."""
        return policy(cast("Role", role), WRITE_WHERE_READ, core.autonomy()) != "deny"

    core.approving = Approving(
        stores=core.stores,
        ids=platform.ids,
        executions=Executions(
            {"file.write": FileWrites(granted, may, platform.beside, platform.disk)},
            Marks(core.agent.approvals_begun, platform.disk),
        ),
        announcing=Announcing(
            surfaces=core.surfaces,
            book=core.book,
            memo=core.memo,
            may_speak=core.may_speak,
            scaffold_version=core.scaffold_version,
            say=core.stores.journal,
        ),
        begins=core.unfinished.mark,
        changed=lambda: core.stream.publish("approvals", {}),
        seen=lambda: core.seen("inbox"),
    )

    def asked_in(run_id: str) -> AskedIn:
        run = core.services.runs.get(run_id)
        turn = None if run is None else run.turn
        return AskedIn(None, None) if turn is None else AskedIn(turn.session, turn.text)

    core.held_writes = HeldWrites(core.approving, asked_in, platform.beside)


async def hold(core: Core, asked: HeldWrite) -> Outcome:
    """For the tool broker, which is made before what parks its writes."""
    return await core.held_writes.hold(asked)
