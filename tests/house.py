"""What the house knows of its own files: for the tests of the architecture and the gates."""

import subprocess
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src"
PACKAGE = SOURCE / "gnomon"


@cache
def project() -> dict[str, Any]:
    """pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def modules() -> list[str]:
    """Every module of the package by its dotted name; a package's own is left out."""
    return sorted(
        ".".join(path.relative_to(SOURCE).with_suffix("").parts)
        for path in PACKAGE.rglob("*.py")
        if path.name != "__init__.py"
    )


def pure_modules() -> list[str]:
    """The modules that `tool.gnomon.pure` names; a package there means all in it."""
    named = project()["tool"]["gnomon"]["pure"]
    return [m for m in modules() if any(m == n or m.startswith(n + ".") for n in named)]


def file_of(module: str) -> Path:
    """The file of a module."""
    return SOURCE.joinpath(*module.split(".")).with_suffix(".py")


@cache
def committed() -> tuple[Path, ...]:
    """The files that git tracks, and those it would: what a clone gets."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        check=True,
        timeout=30,
    ).stdout
    paths = (ROOT / name for name in listed.decode().split("\0") if name)
    return tuple(path for path in paths if path.is_file())
