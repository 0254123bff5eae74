"""Who may know whom. The contracts stand in pyproject.toml; AGENTS.md tells them to people."""

import ast
import subprocess
import sys

import pytest

from tests.house import ROOT, SOURCE, file_of, modules, project, pure_modules


def contracts() -> list[dict[str, object]]:
    return project()["tool"]["importlinter"]["contracts"]


def test_every_import_contract_holds() -> None:
    program = ROOT / ".venv" / "bin" / "lint-imports"
    command = [str(program)] if program.exists() else [sys.executable, "-m", "importlinter.cli"]
    done = subprocess.run(
        [*command, "--no-logo", "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_every_folder_and_module_stands_in_a_layer() -> None:
    layers = next(each["layers"] for each in contracts() if each["type"] == "layers")
    assert isinstance(layers, list)
    placed = {name.strip() for layer in layers for name in layer.replace("|", ":").split(":")}
    there = {".".join(module.split(".")[:2]) for module in modules()}
    assert there - placed - {"gnomon.__main__"} == set()


def test_the_pure_modules_are_the_same_in_every_gate() -> None:
    contract = next(each for each in contracts() if "Pure" in str(each["name"]))
    assert contract["source_modules"] == project()["tool"]["gnomon"]["pure"]
    assert pure_modules()


@pytest.mark.parametrize("module", pure_modules())
def test_a_pure_module_opens_and_prints_nothing(module: str) -> None:
    tree = ast.parse(file_of(module).read_text())
    called = {
        node.func.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert called & {"open", "print", "input", "exec", "eval", "__import__"} == set()


def test_agents_md_shows_the_layers_as_they_are_held() -> None:
    layers = next(each["layers"] for each in contracts() if each["type"] == "layers")
    assert isinstance(layers, list)
    page = (ROOT / "AGENTS.md").read_text().partition("| layer |")[2].partition("\n\n")[0]
    places = []
    for layer in layers:
        for name in layer.replace("|", ":").split(":"):
            short = name.strip().removeprefix("gnomon.")
            if (SOURCE / "gnomon" / short).is_dir() or (SOURCE / f"gnomon/{short}.py").exists():
                assert f"`{short}" in page, f"AGENTS.md does not place {short}"
        first = layer.replace("|", ":").split(":")[0].strip().removeprefix("gnomon.")
        places.append(page.index(f"`{first}"))
    assert places == sorted(places)
