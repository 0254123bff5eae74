"""`make test`: everything, in three parts, and one line that sums up.

First units, stages, laws and contracts, which coverage is measured by; then the rest that may run
side by side, where coverage sees nothing (real daemons) or nothing new; then what needs the machine
to itself (a real model, a browser).
"""

import os
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path

BUILD = Path("build")
COVERAGE = BUILD / "coverage.json"
RED_TEAM = BUILD / "redteam.json"
NO_TESTS = 5
BUDGET_SECONDS = 600
"""Page 9: at most ten minutes on two cores."""


def _without(*folders: str) -> tuple[str, ...]:
    """Options that leave out folders which hold none of a part's tests: to collect them all takes
    longer than to run most. `tests/architecture` sees to it that they hold none.
    """
    return tuple(f"--ignore=tests/{folder}" for folder in folders)


@dataclass(frozen=True)
class Part:
    """`marks` selects its tests; `options` are pytest's."""

    name: str
    marks: str
    options: tuple[str, ...]


UNCOUNTED = ("architecture", "docs", "faults", "redteam", "system")
SIDE_BY_SIDE = ("--numprocesses=2", "--dist=worksteal")
PARTS = (
    Part(
        "side by side, with coverage",
        "counted and not (system or sweep or alone or browser)",
        (
            *SIDE_BY_SIDE,
            *_without(*UNCOUNTED),
            "--cov=gnomon",
            "--cov-report=",
            f"--cov-report=json:{COVERAGE}",
        ),
    ),
    Part(
        "side by side, laws, attacks, faults, real processes, simulated days",
        "(not counted or system or sweep) and not (alone or browser)",
        (*SIDE_BY_SIDE, *_without("unit", "properties", "contract")),
    ),
    Part(
        "one at a time",
        "alone or browser",
        _without("unit", "properties", "contract", "stages"),
    ),
)


def main(arguments: list[str]) -> int:
    """Run all parts, also after one failed. Exit code 1 when anything did."""
    began = time.monotonic()
    BUILD.mkdir(exist_ok=True)
    RED_TEAM.unlink(missing_ok=True)  # what it tries is counted anew
    codes = [_run(number, part, arguments) for number, part in enumerate(PARTS, start=1)]
    if not arguments:
        codes.append(_gate())
    passed, failed, skipped = _totals()
    seconds = time.monotonic() - began
    print(f"\nAll parts took {seconds:.0f} s (at most {BUDGET_SECONDS}).")
    print(f"{passed} passed, {failed} failed, {skipped} skipped", flush=True)
    return 1 if any(codes) or failed else 0


def _run(number: int, part: Part, arguments: list[str]) -> int:
    print(f"\n== Part {number}: {part.name}", flush=True)
    report = BUILD / f"tests-{number}.xml"
    report.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", "-m", part.marks, *part.options]
    command += [f"--junit-xml={report}", *arguments]
    code = subprocess.run(command, stdin=subprocess.DEVNULL, check=False).returncode
    return 0 if code == NO_TESTS else code


def _gate() -> int:
    command = [sys.executable, "-m", "tests.coverage_gate", str(COVERAGE)]
    return subprocess.run(command, stdin=subprocess.DEVNULL, check=False).returncode


def _totals() -> tuple[int, int, int]:
    """Passed, failed, skipped, over the parts' reports."""
    tests = failed = skipped = 0
    for report in BUILD.glob("tests-*.xml"):
        for suite in ET.parse(report).getroot().iter("testsuite"):
            tests += int(suite.get("tests", 0))
            failed += int(suite.get("failures", 0)) + int(suite.get("errors", 0))
            skipped += int(suite.get("skipped", 0))
    return tests - failed - skipped, failed, skipped


if __name__ == "__main__":
    os.chdir(Path(__file__).resolve().parent.parent)
    sys.exit(main(sys.argv[1:]))
