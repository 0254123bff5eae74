"""The resident's process: what it does not load, and its entry over a pipe."""

import asyncio
import subprocess
import sys
from importlib import resources

import msgspec
import yaml

from gnomon.domain.manifest import Manifest
from gnomon.domain.messages import Message
from gnomon.domain.plain import fields
from gnomon.domain.records import Started
from gnomon.resident.main import corrected, serve
from gnomon.resident.protocol import ModelFacts, ScaffoldText, Spawn, StopArguments
from gnomon.scaffold.defaults import packaged_defaults
from gnomon.testing.clock import START
from gnomon.testing.gateway import RESIDENT_MANIFEST, FakeGateway
from gnomon.testing.models import ScriptedModel
from gnomon.testing.pipe import peer_pair

FORBIDDEN = (
    "aiohttp", "sqlite3", "_sqlite3", "xllamacpp", "jinja2", "typer", "rich", "yaml", "numpy",
    "jsonschema", "http.server", "http.client", "hypothesis", "pytest",
)  # fmt: skip


def test_the_resident_loads_no_server_no_database_and_no_model_framework() -> None:
    code = "import gnomon.resident.main, sys; print('\\n'.join(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-I", "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    loaded = set(done.stdout.split())
    assert not loaded & set(FORBIDDEN)
    assert not any(name.startswith(("gnomon.gateway", "gnomon.daemon", "gnomon.cli",
                                    "gnomon.testing", "gnomon.brokers"))
                   for name in loaded)  # fmt: skip


def test_the_resident_is_small() -> None:
    """Its private memory, loaded and idle, without the interpreter's own."""
    code = (
        "import re, pathlib\n"
        "def rss():\n"
        "    text = pathlib.Path('/proc/self/status').read_text()\n"
        "    return int(re.search(r'VmRSS:\\s+(\\d+)', text).group(1))\n"
        "import asyncio, msgspec\n"
        "before = rss()\n"
        "import gnomon.resident.main\n"
        "print(rss() - before)\n"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert int(done.stdout) < 16 * 1024, "KiB"


async def test_the_entry_lives_until_the_pipe_ends() -> None:
    gateway = FakeGateway(ScriptedModel())
    here, there = peer_pair()
    here.serve(gateway.answer)
    running = [asyncio.create_task(peer.run()) for peer in (here, there)]
    spawn = Spawn(
        agent="agent-1",
        version="0",
        mode="soft",
        effective_mode="soft",
        model=ModelFacts(name="m", kind="local"),
        manifest=RESIDENT_MANIFEST,
        autonomy="full",
        scaffold=ScaffoldText(version="000001-0", files=packaged_defaults()),
        now=START,
    )
    life = asyncio.create_task(
        serve(there, msgspec.json.decode(msgspec.json.encode(fields(spawn))))
    )
    async with asyncio.timeout(10):
        await here.call("stop", fields(StopArguments(reason="enough")))
        here.close()
        await life
        await asyncio.gather(*running)
    assert isinstance(gateway.decisions()[0], Started)
    assert len(gateway.states) == 1


def test_only_a_turn_after_the_agents_work_corrects() -> None:
    said = (Message(role="user", content="x"), Message(role="assistant", content="y"))
    assert corrected("no, use pnpm", said)
    assert not corrected("no, use pnpm", ())
    assert not corrected("thank you", said)


def test_the_packaged_manifest_is_what_the_tests_run() -> None:
    text = resources.files("gnomon.data").joinpath("manifests", "resident.yaml").read_text()
    packaged = msgspec.convert(yaml.safe_load(text), Manifest)
    assert packaged == RESIDENT_MANIFEST
