"""The pages tell the truth: generated ones are fresh, links resolve, commands run."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from docs.generate import PACKAGED, PAGES, SERVED
from tests.house import ROOT, committed

FENCE = re.compile(r"^( *)```(\S+) run\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
MADE_LATER = {"docs/dashboard.png"}
"""Pictures of the running program."""


def pages() -> list[Path]:
    """What people read; a served copy is read where it comes from."""
    served = {PACKAGED / name for name in SERVED}
    found = [path for path in committed() if path.suffix == ".md" and path not in served]
    return [path for path in found if "cases" not in path.parts]


def blocks() -> Iterator[tuple[str, str]]:
    for page in pages():
        for number, found in enumerate(FENCE.finditer(page.read_text()), start=1):
            yield f"{page.relative_to(ROOT)}#{number}", found.group(3)


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"(?m)^#+ (.*)$", page.read_text())
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("name", sorted(PAGES))
def test_a_generated_page_is_what_the_code_says(name: str) -> None:
    assert (ROOT / "docs" / name).read_text() == PAGES[name](), "run `make docs`"


@pytest.mark.parametrize("name", SERVED)
def test_a_page_that_the_gateway_shows_is_the_one_that_is_read_here(name: str) -> None:
    page = (ROOT / "docs" / name).read_text()
    assert (PACKAGED / name).read_text() == page, "run `make docs`"


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    for link in LINK.findall(page.read_text()):
        if re.match(r"https?:", link):
            continue
        target, _, anchor = link.partition("#")
        path = (page.parent / target).resolve() if target else page
        if str(path.relative_to(ROOT)) in MADE_LATER:
            continue
        assert path.exists(), link
        if anchor:
            assert anchor in anchors(path), link


@pytest.mark.docs
@pytest.mark.parametrize(("name", "commands"), list(blocks()))
def test_every_marked_command_runs(name: str, commands: str, tmp_path: Path) -> None:
    environ = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "GNOMON_HOME": str(tmp_path / "gnomon"),
        "LANG": "C.UTF-8",
    }
    done = subprocess.run(
        ["sh", "-eux", "-c", commands],
        cwd=tmp_path,
        env=environ,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_readme_opens_with_the_two_commands_and_a_picture() -> None:
    text = (ROOT / "README.md").read_text()
    opening = text[:900]
    assert opening.index("make up") < opening.index("make test") < opening.index("dashboard.png")


def test_every_dependency_has_its_reason() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    named = [
        re.split(r"[><=\[ ]", requirement)[0]
        for requirement in [
            *project["project"]["dependencies"],
            *project["project"]["optional-dependencies"]["local"],
        ]
    ]
    reasons = (ROOT / "docs" / "adr" / "0002-dependencies.md").read_text()
    assert [name for name in named if name not in reasons] == []


def test_up_has_the_same_flags_in_both_places_that_parse_them() -> None:
    parser = subprocess.run(
        [sys.executable, "-m", "gnomon.daemon.main", "--help"],
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT / "src")},
    ).stdout
    flags = set(re.findall(r"--[a-z-]+", parser)) - {"--help"}
    page = PAGES["cli.md"]().partition("## `gnomon up`")[2].partition("## ")[0]
    assert flags == set(re.findall(r"\| `(--[a-z-]+)", page)) | {"--home", "--agent", "--json"}


def test_where_the_rules_of_the_measure_stand_is_said_from_the_home_on() -> None:
    named = "kernel/fitness-config.json"
    told = [*(ROOT / "docs").glob("*.md"), ROOT / "README.md"]
    told += [each for each in (ROOT / "src").rglob("*") if each.suffix in {".py", ".json", ".html"}]
    bare = [
        path.name
        for path in told
        if path.read_text().count(named) != path.read_text().count(f"agents/main/{named}")
    ]
    assert bare == []
