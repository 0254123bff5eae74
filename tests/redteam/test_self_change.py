"""Page 9's red team of self-change, by name: what the referee and every rollback rest on is out
of reach of who is judged. Each attack is tried again with its defence switched off, where it must
get through.

The processes are real children in the real jail over a real home, as root and as an ordinary
user: `home_driver.py` plays the gateway. Ledgers that were rewritten are `test_changed_ledgers.py`,
the measure in the scaffold is `test_laundering.py`.
"""

import asyncio
import fcntl
import hashlib
import json
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from gnomon.daemon.store.create import ensure_fitness_config
from gnomon.domain.errors import ScaffoldError
from gnomon.domain.policy import Role
from gnomon.domain.views import JailLevel
from gnomon.gateway import admit
from gnomon.gateway.authority import Authority, digest
from gnomon.referee.config import NAME as RULES
from gnomon.referee.config import default_text
from gnomon.refiner.check import HeldAgainst, check
from gnomon.scaffold import folder, versions
from gnomon.scaffold.contents import INNER_LOOP_PROMPT
from gnomon.scaffold.hashing import snapshot_name
from gnomon.testing.hostile_home import EVIL_RULES
from gnomon.testing.hostile_loopback import Door, acks
from tests.capabilities import has
from tests.change_kit import PARENT, a_change, a_laboratory
from tests.live_kit import LiveGateway, a_live_gateway
from tests.redteam.conftest import run_as
from tests.redteam.tally import tally

ROLES: tuple[Role, ...] = ("resident", "refiner", "judge", "tool-host", "reviewer")
WITHOUT: dict[str, tuple[JailLevel, list[str]]] = {
    "landlock": ("partial", ["landlock"]),
    "seccomp": ("partial", ["seccomp"]),
    "landlock and seccomp": ("partial", ["landlock", "seccomp"]),
}
NAMESPACES: dict[str, tuple[JailLevel, list[str]]] = {"namespaces": ("full", ["namespaces"])}
SIZES = {"ledger/size", "ledger/size-by-a-place", "ledger/folders-time"}
"""What level `partial` leaves open for everybody (docs/trust.md): names, sizes and times."""
OF_PROGRAMS = {"ledger/size-by-a-program"}
"""And for the programs of a tool host."""
ROOM = {"ledger/room-on-its-disk"}
"""What a tool host sees at every level: that something grew, somewhere on its workspace's disk."""
TOLD_DONE = {"artifact/touch", "artifact/set-its-times"}
"""At `partial` a tool host's programs are told that it was done, and nothing was."""
HELD_BY_MODE = {"versions/overwrite", "versions/append", "versions/truncate"}
"""What the mode 0400 refuses an ordinary user, until they lift it."""
CLIENTS = "a client's"
BY_THE_TOKEN = "ack/with-the-operators-token"

Played = dict[str, Any]

pytestmark = [pytest.mark.redteam, pytest.mark.timeout(120)]


@pytest.fixture(scope="session")
def played(user: str, tmp_path_factory: pytest.TempPathFactory) -> Played:
    """What came of it all, by this user. It is played once, also where several run the tests."""
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    with (shared / f"home-driver-{user}.json").open("a+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        told = file.read()
        if not told:
            told = play(user)
            file.write(told)
        return json.loads(told)


def play(user: str) -> str:
    full = has("jail-full")
    request = {
        "roles": ROLES,
        "levels": ["full", "partial"] if full else ["partial"],
        "without": {**WITHOUT, **(NAMESPACES if full else {})},
    }
    command = [sys.executable, "-B", "-m", "tests.redteam.home_driver"]
    done = run_as(user, command, json.dumps(request))
    assert not done.returncode, done.stderr
    return done.stdout


@pytest.fixture
def tried(played: Played, user: str, level: JailLevel) -> Callable[[str], dict[Role, set[str]]]:
    """The attacks of a group that got through, by role; all are counted."""

    def of(group: str) -> dict[Role, set[str]]:
        by_role: dict[Role, set[str]] = {
            role: opened(found, group) for role, found in played["jailed"][level].items()
        }
        tries = sum(len(of_group(found, group)) for found in played["jailed"][level].values())
        through = sum(len(found - left_open(level, role)) for role, found in by_role.items())
        tally(group, f"{group}, {user}, {level}", tries, through)
        assert set(by_role) == set(ROLES)
        return by_role

    return of


def of_group(found: dict[str, Any], group: str) -> set[str]:
    return {name for name in found if name.startswith(f"{group}/")}


def opened(found: dict[str, Any], group: str) -> set[str]:
    return {name for name in of_group(found, group) if found[name]["open"]}


def left_open(level: JailLevel, role: Role) -> set[str]:
    """What is said to be open at a level."""
    found = ROOM if role == "tool-host" else set[str]()
    if level == "full":
        return found
    return found | SIZES | (OF_PROGRAMS | TOLD_DONE if role == "tool-host" else set())


# --- prior versions cannot be overwritten or deleted -------------------------------------------


def test_prior_versions_cannot_be_overwritten_or_deleted(tried: Any, played: Played) -> None:
    assert tried("versions") == {role: set() for role in ROLES}
    before, after = played["before"], played["after"]
    assert len(before["versions"]) >= 8
    assert {mode for _, mode, _ in before["versions"].values()} == {"0o400"}
    assert after["versions"] == before["versions"], "bytes, modes and times"
    assert after["seen"], "the one copy of what is in force"


def test_without_a_jail_prior_versions_are_overwritten_and_deleted(played: Played) -> None:
    held = of_group(played["unjailed"], "versions") - opened(played["unjailed"], "versions")
    assert held == (set() if played["uid"] == 0 else HELD_BY_MODE)
    assert played["before_unjailed"]["versions"]
    assert played["after_unjailed"]["versions"] == {}


def test_prior_versions_are_no_target_of_a_write_through_gnomon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = a_laboratory(tmp_path)
    left = lab.scaffold.write(INNER_LOOP_PROMPT, PARENT + "one more line\n")
    assert left is not None
    ways = (f".versions/{left}", f"x/../.versions/{left}", str(lab.stores.agent.scaffold / left))
    for way in ways:
        with pytest.raises(ScaffoldError):
            lab.scaffold.write(way, "forged")
    tally("versions", "write through gnomon", len(ways), 0)
    kept = lab.stores.agent.scaffold_versions / left
    assert kept.read_text() == PARENT
    monkeypatch.setattr(versions, "check_name", lambda path: None)
    lab.scaffold.write(ways[0], "forged")
    assert kept.read_text() == "forged", "with the defence off"


def test_a_versions_name_is_taken_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody took the very name between the look at the folder and the write."""
    lab = a_laboratory(tmp_path)
    rival = lab.stores.agent.scaffold_versions / snapshot_name(
        INNER_LOOP_PROMPT, 1, 1, PARENT.encode()
    )
    rival.write_text("what stands there already")
    monkeypatch.setattr(folder, "snapshots_of", lambda *_: [])
    with pytest.raises(ScaffoldError, match="appeared"):
        lab.scaffold.write(INNER_LOOP_PROMPT, PARENT + "one more line\n")
    tally("versions", "a name twice", 1, 0)
    assert rival.read_text() == "what stands there already"
    monkeypatch.setattr(folder.os.path, "lexists", lambda _: False)
    lab.scaffold.write(INNER_LOOP_PROMPT, PARENT + "one more line\n")
    assert rival.read_text() == PARENT, "with the defence off"


# --- the engagement ledger cannot be read by path, descriptor, /proc, size or watch --------------


def test_the_engagement_ledger_cannot_be_read_by_path_descriptor_proc_size_or_watch(
    tried: Any, level: JailLevel
) -> None:
    """Size, at level `full` alone."""
    found = tried("ledger")
    assert found == {role: left_open(level, role) - TOLD_DONE for role in ROLES}


def test_without_its_walls_the_engagement_ledger_is_read(played: Played) -> None:
    without = {name: opened(found, "ledger") for name, found in played["without"].items()}
    assert without["landlock"] >= {"ledger/path", "ledger/folder"}
    assert without["seccomp"] >= {"ledger/watch", "ledger/watch-the-folder"}
    assert without["landlock and seccomp"] >= {"ledger/program", "ledger/watch-by-fcntl"}
    assert opened(played["unjailed"], "ledger") == of_group(played["unjailed"], "ledger")


@pytest.mark.needs("jail-full")
def test_namespaces_are_what_hides_the_engagement_ledgers_size(played: Played) -> None:
    assert opened(played["without"]["namespaces"], "ledger") == SIZES


# --- opening or touching one's own artifact is not engagement -------------------------------------


def test_opening_or_touching_ones_own_artifact_is_not_engagement(
    tried: Any, played: Played, level: JailLevel
) -> None:
    found = tried("artifact")
    told = TOLD_DONE if level == "partial" else set[str]()
    assert found == {role: told if role == "tool-host" else set() for role in ROLES}
    for what in ("outcomes", "ledger", "artifact", "artifact_atime"):
        assert played["after"][what] == played["before"][what], what


def test_also_where_it_could_be_touched_it_is_not_engagement(played: Played) -> None:
    """The jail is not what this rests on: an indexer or a backup may open it, too. A measure that
    went by the file's times, as seed 1 once meant to, would take each for a reader.
    """
    assert opened(played["unjailed"], "artifact") == of_group(played["unjailed"], "artifact")
    before, after = played["before_unjailed"], played["after_unjailed"]
    assert acted_by_times(before, after), "with the defence off"
    assert not acted_by_times(before, before)
    assert [outcome for outcome, _ in after["outcomes"]] == ["acked"], "by the stolen token alone"


def acted_by_times(before: dict[str, Any], after: dict[str, Any]) -> bool:
    """The rule that was dropped: the file was opened after it had been brought."""
    return after["artifact_atime"] > max(before["artifact_atime"], before["artifact"][0])


LOOKS = (
    "/api/artifact.show?artifact={artifact}",
    "/api/inbox.show?surface_id={surface}",
    "/api/inbox.list",
    "/",
    "/artifact?surface={surface}",
    "/part/artifact?surface={surface}",
)
ACTS = ("open", "read", "use", "dismiss", "resolve")
LEDGERS = ("/api/ledger.read?name=engagement-ledger", "/api/fitness.show", "/part/fitness")
BY_GET = tuple(f"/api/inbox.{act}?surface_id={{surface}}" for act in ACTS)


async def get(live: LiveGateway, paths: tuple[str, ...], token: str, **named: str) -> list[int]:
    """The status of each, by GET; HEAD is tried as well."""
    key = {"Authorization": f"Bearer {token}"}
    found: list[int] = []
    async with aiohttp.ClientSession(live.listener.url, headers=key) as http:
        for path in paths:
            address = path.format(**named)
            async with http.get(address) as answer, http.head(address):
                found.append(answer.status)
    return found


def serve_by_get(live: LiveGateway) -> None:
    """As if the acts of the inbox were reading."""
    rows = live.listener._wiring.operations
    assert isinstance(rows, dict)
    for name, row in rows.items():
        if name.startswith("inbox."):
            rows[name] = replace(row, reads=True)


async def test_a_get_is_no_engagement_whoever_asks(tmp_path: Path) -> None:
    async with a_live_gateway(tmp_path) as live:
        artifact = await live.write_document("A brief")
        surface = await live.bring("A brief", "artifact", artifact)
        token = live.core.home.operator_token.read_text().strip()

        async def tried(paths: tuple[str, ...], by: str) -> list[int]:
            return await get(live, paths, by, surface=surface, artifact=artifact)

        assert await tried(LOOKS, token) == [200] * len(LOOKS)
        assert await tried(LOOKS, "guessed") == [401] * len(LOOKS)
        assert await tried(BY_GET, token) == [405] * len(BY_GET)
        tally("artifact", "by a GET", 2 * (2 * len(LOOKS) + len(BY_GET)), len(live.outcomes()))
        assert live.outcomes() == []
        serve_by_get(live)
        assert await tried(BY_GET[:1], token) == [200]
        assert live.outcomes() == [(surface, "acted", "artifact_file_open")], "with the defence off"


# --- an operator's ack cannot be forged over loopback --------------------------------------------


def test_an_operators_ack_cannot_be_forged_over_loopback(tried: Any, played: Played) -> None:
    """From a jail with a network of its own, and from one that shares the machine's."""
    assert tried("ack") == {role: set() for role in ROLES}
    assert played["after"]["outcomes"] == []
    assert played["after"]["ledger"] == played["before"]["ledger"]


@pytest.mark.parametrize(
    "wall",
    ["landlock", "seccomp", pytest.param("namespaces", marks=pytest.mark.needs("jail-full"))],
)
def test_one_wall_less_does_not_let_an_ack_be_forged(played: Played, wall: str) -> None:
    assert opened(played["without"][wall], "ack") == set()


def test_without_a_jail_the_operators_own_token_forges_an_ack(played: Played) -> None:
    """Whoever is the operator's user and is not held can be the operator (docs/trust.md). All the
    other ways are held by the gateway itself.
    """
    assert opened(played["without"]["landlock and seccomp"], "ack") == {BY_THE_TOKEN}
    assert opened(played["unjailed"], "ack") == {BY_THE_TOKEN}
    assert played["outcomes_without"] == [["acked", "cli"]]


async def test_a_program_without_a_jail_and_without_the_token_forges_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with a_live_gateway(tmp_path) as live:
        monkeypatch.setattr(live.authority, "client_of", {digest(CLIENTS): "client"}.get)
        surface = await live.bring("A note")
        found = await forged(live, surface)
        through = {way for way, taken in found.items() if taken}
        tally("ack", "without a jail", len(found), len(through))
        assert through == set()
        assert live.outcomes() == []
        assert await get(live, LEDGERS, CLIENTS) == [403] * len(LEDGERS)
        tally("ledger", "with a client's token", len(LEDGERS), 0)
        monkeypatch.setattr(Authority, "scope", lambda *_: "operator")
        monkeypatch.setattr(Authority, "use_link", lambda self, _, now: self._open_session(now))
        monkeypatch.setattr(admit, "fault_of_origin", lambda *asked, by_bearer: None)
        serve_by_get(live)
        assert all((await forged(live, surface)).values()), "with the defence off"
        assert live.outcomes() == [(surface, "acked", "dashboard_click")]
        assert await get(live, LEDGERS, CLIENTS) == [200] * len(LEDGERS)


async def forged(live: LiveGateway, surface: str) -> dict[str, bool]:
    """Which ways were taken for the operator's."""
    door = Door(
        port=live.listener.port,
        surface=surface,
        cookie=live.authority.cookie_name,
        token_file="/nowhere",
        client=CLIENTS,
    )
    ways = {way: run for way, run in acks(door).items() if f"ack/{way}" != BY_THE_TOKEN}
    return {way: await asyncio.to_thread(got_through, run) for way, run in ways.items()}


def got_through(run: Callable[[], object]) -> bool:
    try:
        run()
    except OSError:
        return False
    return True


# --- a missing config created by the refiner has no effect after restart -------------------------


def test_a_missing_config_created_by_the_refiner_has_no_effect_after_restart(
    tried: Any, played: Played
) -> None:
    assert tried("config") == {role: set() for role in ROLES}
    assert not played["after"]["config"], "nobody made it"
    assert played["rules"] == {
        "text": default_text(),
        "sha256": hashlib.sha256(default_text().encode()).hexdigest(),
        "dev_mode": False,
    }


def test_without_a_jail_a_created_config_is_in_force_after_restart(played: Played) -> None:
    assert opened(played["unjailed"], "config") == of_group(played["unjailed"], "config")
    assert played["unjailed_rules"]["text"] == EVIL_RULES
    assert played["unjailed_rules"]["dev_mode"]


OUT_OF_SCOPE = (
    RULES,
    f"../{RULES}",
    f"./{RULES}",
    f"x/../../{RULES}",
    ".versions/" + RULES,
    "composition.yaml",
    "README.md",
)


@pytest.mark.parametrize("target", OUT_OF_SCOPE)
def test_a_config_proposed_as_a_scaffold_file_is_refused(target: str) -> None:
    standing = HeldAgainst(incumbent="", packaged="", failed=(), floor_most=0, growth_max=0.15)
    refusal = check(target, EVIL_RULES, standing)
    tally("config", f"proposed as {target}", 1, int(refusal is None))
    assert refusal is not None
    assert refusal.code == "target"


def test_a_config_in_the_scaffold_is_not_the_referees(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Past the check there is another wall: nothing that is written to the scaffold leaves it."""
    lab = a_laboratory(tmp_path)
    rules = lab.stores.agent.fitness_config
    rules.unlink(missing_ok=True)
    lab.scaffold.write(RULES, EVIL_RULES)
    assert ensure_fitness_config(lab.stores.agent).text == default_text()
    with pytest.raises(ScaffoldError):
        lab.scaffold.write(f"../{RULES}", EVIL_RULES)
    tally("config", "through the scaffold", 2, 0)
    monkeypatch.setattr(versions, "check_name", lambda path: None)
    lab.scaffold.write(f"../{RULES}", EVIL_RULES)
    assert ensure_fitness_config(lab.stores.agent).config.dev_mode, "with the defence off"


@pytest.mark.parametrize("target", OUT_OF_SCOPE[1:5])
async def test_a_change_of_what_is_no_scaffold_file_ends_there(tmp_path: Path, target: str) -> None:
    """Also where nobody checked it: it is refused, and keeps no other from being tried."""
    lab = a_laboratory(tmp_path)
    await lab.changes.propose(a_change(1, candidate=EVIL_RULES, target=target))
    await lab.changes.propose(a_change(2))
    ended, tried_next = lab.changes.state().in_order()
    tally("config", f"applied to {target}", 1, int(ended.status != "refused"))
    assert (ended.status, tried_next.status) == ("refused", "watched")
    await lab.close()
