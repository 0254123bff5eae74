"""Plays a gateway over a real home in a process of its own, and hostile children beside it: see
`driver.py`, whose pattern this is. Reads a request from stdin, prints JSON.

Two homes, one after the other. In the *open* one the walls are left out, so that each attack is
seen to be real; the *closed* one is as users have it.
"""

import asyncio
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from gnomon.daemon.acts import Acts
from gnomon.daemon.core import Core
from gnomon.daemon.inbox.surfaces import Asked, Payload
from gnomon.daemon.operations import table
from gnomon.daemon.store.create import ensure_root
from gnomon.daemon.this_machine import this_machine
from gnomon.daemon.wire import open_core
from gnomon.domain.policy import Role
from gnomon.domain.records_referee import Outcome
from gnomon.domain.views import JailLevel
from gnomon.gateway.authority import Authority, digest
from gnomon.gateway.listen import Listener, listen
from gnomon.gateway.wiring import Wiring
from gnomon.home import Home
from gnomon.referee.config import NAME as RULES
from gnomon.resident.protocol import ArtifactArguments
from gnomon.scaffold.contents import INNER_LOOP_PROMPT
from gnomon.testing.hostile_home import SPARE, HomeTargets
from gnomon.testing.hostile_loopback import Door
from gnomon.trust import jail
from gnomon.trust.plan import Plan
from gnomon.trust.planning import Grants, make_plan
from tests.live_kit import DOCUMENT, ENVIRON

HOSTILE = "gnomon.testing.hostile_child"
CLIENT = "client-token-of-a-test-that-was-let-in-once"
HARMLESS = ("ledger", "artifact", "ack")
"""Groups after which the home is as it was."""


class Request(msgspec.Struct, kw_only=True, frozen=True):
    """`without`: for each name, a level and the walls that are left out there."""

    roles: list[Role]
    levels: list[JailLevel]
    without: dict[str, tuple[JailLevel, list[str]]]


@dataclass
class World:
    """A gateway that listens, with a surface that waits, an artifact and prior versions."""

    core: Core
    listener: Listener
    authority: Authority
    surface: str
    artifact: str
    descriptor: int

    def targets(self, role: Role) -> HomeTargets:
        agent, home = self.core.agent, self.core.home
        kept = sorted(agent.scaffold_versions.glob("*.md"))
        return HomeTargets(
            versions=tuple(map(str, kept)),
            seen=str(agent.state / "scaffold-seen.json"),
            ledger=str(agent.engagement_ledger),
            ledger_inode=agent.engagement_ledger.stat().st_ino,
            folder_inode=agent.kernel.stat().st_ino,
            descriptor=self.descriptor,
            config=str(agent.fitness_config),
            artifact=str(self.core.artifacts.path(self.artifact)),
            gateway=os.getpid(),
            door=Door(
                port=self.listener.port,
                surface=self.surface,
                cookie=self.authority.cookie_name,
                token_file=str(home.operator_token),
                client=CLIENT,
            ),
            workspace=str(agent.workspace) if role == "tool-host" else None,
        )

    def grants(self, role: Role) -> Grants:
        """As the gateway grants to each."""
        agent = self.core.agent
        match role:
            case "judge":
                return Grants(read=(agent.fitness_ledger,))
            case "tool-host":
                return Grants(write=(agent.workspace,))
            case _:
                return Grants()

    def holds(self) -> dict[str, Any]:
        """What the gateway itself sees."""
        agent = self.core.agent
        artifact = self.core.artifacts.path(self.artifact).stat()
        versions = agent.scaffold_versions
        kept = sorted(versions.iterdir()) if versions.exists() else []
        return {
            "versions": {path.name: _seen(path) for path in kept},
            "seen": (agent.state / "scaffold-seen.json").exists(),
            "ledger": _sha256(agent.engagement_ledger),
            "outcomes": [
                [line.body.outcome, line.body.source]
                for line in self.core.stores.files["engagement-ledger"].read()
                if isinstance(line.body, Outcome)
            ],
            "config": agent.fitness_config.exists(),
            "artifact": [artifact.st_mtime_ns, artifact.st_size],
            "artifact_atime": artifact.st_atime_ns,
            "tokens": _sha256(self.core.home.operator_token),
        }


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _seen(path: Path) -> list[object]:
    status = path.stat()
    return [_sha256(path), oct(status.st_mode & 0o777), status.st_mtime_ns]


@asynccontextmanager
async def a_world(root: Path) -> AsyncGenerator[World]:
    home = Home(root)
    ensure_root(home)
    platform = replace(this_machine(), environ=ENVIRON)
    async with open_core(home, "main", platform) as core:
        now = platform.clock.wall
        core.world.look_at_scaffold(now())
        prompt = core.agent.scaffold / INNER_LOOP_PROMPT
        for number in range(SPARE):
            core.world.scaffold.write(INNER_LOOP_PROMPT, f"{prompt.read_text()}\n{number}\n")
            core.world.look_at_scaffold(now())
        made = await core.artifacts.put(
            ArtifactArguments(
                action_kind="research-brief", title="What was found", query="why?", text=DOCUMENT
            )
        )
        payload = Payload(kind="artifact", title="A brief", body="Read it.", artifact=made.artifact)
        surface = await core.surfaces.emit(
            Asked(payload=payload, origin="model", scaffold_version=core.scaffold_version())
        )
        assert surface is not None
        token = home.operator_token.read_text().strip()
        authority = Authority(
            operator_sha256=digest(token),
            keep=lambda _: None,
            client_of=lambda found: "client" if found == digest(CLIENT) else None,
        )
        operations = table(core, Acts(core))
        listener = await listen(Wiring(operations, authority, core.stream, platform.clock), 0)
        descriptor = os.open(core.agent.engagement_ledger, os.O_RDONLY)
        core.agent.fitness_config.unlink()  # as if it had been lost
        try:
            yield World(core, listener, authority, surface, made.artifact, descriptor)
        finally:
            os.close(descriptor)
            await listener.close()


async def attacked(
    world: World, role: Role, level: JailLevel, without: list[str] | None = None
) -> dict[str, Any]:
    """One child of a role, every attack."""
    grants = world.grants(role)
    builder = jail.builders()[0] if level == "full" else "none"
    plan = make_plan(role, HOSTILE, grants, level=level, builder=builder, canary=None)
    plan = weakened(plan, without or [])
    child = await jail.launch(plan, {}, grants, serve=None, extra={})
    groups = list(HARMLESS) if without else []
    targets = msgspec.to_builtins(world.targets(role))
    try:
        asked = {"does": "home", "targets": targets, "groups": groups}
        answer: Any = await child.peer.call("do", asked, timeout=60)
    finally:
        await child.stop(5)
    return answer


def weakened(plan: Plan, without: list[str]) -> Plan:
    """The same plan with walls left out, to show that they were what held."""
    return replace(
        plan,
        self_test=not without,
        landlock="landlock" not in without,
        seccomp="seccomp" not in without,
        builder="none" if "namespaces" in without else plan.builder,
    )


async def unjailed(world: World) -> dict[str, Any]:
    """A plain child of this user, with what it may inherit."""
    os.set_inheritable(world.descriptor, True)
    code = (
        "import sys, json, msgspec; from gnomon.testing.hostile_child import attack_home;"
        "from gnomon.testing.hostile_home import HomeTargets;"
        "t = msgspec.json.decode(sys.stdin.buffer.read(), type=HomeTargets);"
        "print(json.dumps(attack_home(t, [])))"
    )
    done = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", code],
        input=msgspec.json.encode(world.targets("tool-host")),
        capture_output=True,
        close_fds=False,
        check=True,
        timeout=60,
    )
    return json.loads(done.stdout)


async def rules_after_a_restart(root: Path) -> dict[str, Any]:
    """By which rules the referee goes in the next life."""
    platform = replace(this_machine(), environ=ENVIRON)
    async with open_core(Home(root), "main", platform) as core:
        rules = core.fitness
        return {"text": rules.text, "sha256": rules.sha256, "dev_mode": rules.config.dev_mode}


async def play(request: Request, base: Path) -> dict[str, Any]:
    answer: dict[str, Any] = {"uid": os.geteuid(), "rules_file": RULES}
    async with a_world(base / "open") as world:
        answer["before_unjailed"] = world.holds()
        answer["without"] = {
            name: await attacked(world, "refiner", level, without)
            for name, (level, without) in request.without.items()
        }
        answer["outcomes_without"] = world.holds()["outcomes"]
        answer["unjailed"] = await unjailed(world)
        await world.core.book.beat()
        answer["after_unjailed"] = world.holds()
    answer["unjailed_rules"] = await rules_after_a_restart(base / "open")
    jail.protect_this_process()
    async with a_world(base / "closed") as world:
        answer["before"] = world.holds()
        answer["jailed"] = {
            level: {role: await attacked(world, role, level) for role in request.roles}
            for level in request.levels
        }
        answer["after"] = world.holds()
    answer["rules"] = await rules_after_a_restart(base / "closed")
    return answer


def main() -> None:
    request = msgspec.json.decode(sys.stdin.buffer.read(), type=Request)
    with tempfile.TemporaryDirectory(prefix="redteam-home-") as base:
        print(json.dumps(asyncio.run(play(request, Path(base)))))


if __name__ == "__main__":
    main()
