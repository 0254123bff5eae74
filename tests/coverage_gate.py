"""The coverage gate: 100% of the pure modules, the agreed floor of the rest.

`python -m tests.coverage_gate build/coverage.json`; the floor and the list stand in
pyproject.toml under `tool.gnomon`.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.house import ROOT, file_of, project, pure_modules


def faults(measured: Mapping[str, Any]) -> list[str]:
    """What falls short, one sentence each; empty when all is well."""
    wanted = project()["tool"]["gnomon"]["coverage_overall"]
    overall = measured["totals"]["percent_covered"]
    found: list[str] = []
    if overall < wanted:
        found.append(f"Coverage is {overall:.2f}%; {wanted}% is the floor.")
    for module in pure_modules():
        name = str(file_of(module).relative_to(ROOT))
        entry = measured["files"].get(name)
        if entry is None:
            found.append(f"{name} is pure and no test imports it.")
        elif entry["summary"]["percent_covered"] < 100:
            lines = entry["missing_lines"]
            branches = entry["missing_branches"]
            found.append(f"{name} is pure; lines {lines} and branches {branches} are not covered.")
    return found


def main(path: Path) -> int:
    """Print what falls short; exit code 1 if anything does."""
    if not path.exists():
        print(f"There is no {path}.")
        return 1
    measured = json.loads(path.read_text())
    short = faults(measured)
    for sentence in short:
        print(sentence)
    print(f"Branch coverage {measured['totals']['percent_covered']:.2f}%.")
    return 1 if short else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
