"""`make bench`: every figure of page 9 in one run, beside its bare floor, with its budget.

`--quick` measures shorter and shows only roughly; `--json` prints rows; `--only WORD` picks
files by name. Exit code 1 when a budget is exceeded or a benchmark broke.
"""

import argparse
import dataclasses
import importlib
import json
import math
import sys
from pathlib import Path

from bench.row import Row

HERE = Path(__file__).resolve().parent


def main(arguments: list[str]) -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--only", metavar="WORD", default="")
    options = parser.parse_args(arguments)
    rows, broken = measure(options.only, quick=options.quick)
    if options.json:
        print(json.dumps([_fields(row) for row in rows]))
    else:
        print("\n".join(table(rows)))
    for sentence in broken:
        print(sentence, file=sys.stderr)
    return 1 if broken or not all(row.holds for row in rows) else 0


def measure(only: str, *, quick: bool) -> tuple[list[Row], list[str]]:
    """The rows of all benchmarks, and a sentence for each that broke."""
    rows: list[Row] = []
    broken: list[str] = []
    for path in sorted(HERE.glob("bench_*.py")):
        if only not in path.stem:
            continue
        print(f"measuring {path.stem.removeprefix('bench_')} ...", file=sys.stderr, flush=True)
        try:
            rows += importlib.import_module(f"bench.{path.stem}").rows(quick)
        except Exception as error:  # noqa: BLE001 - told at the end; the other figures still count
            broken.append(f"{path.stem} broke: {type(error).__name__}: {error}")
    return rows, broken


def table(rows: list[Row]) -> list[str]:
    """One line a row, in columns."""
    cells = [("what", "ours", "floor", "ratio", "budget", "")]
    cells += [
        (
            row.what,
            f"{_number(row.ours)} {row.unit}".strip(),
            f"{_number(row.floor)} {row.unit}".strip(),
            f"{row.ratio:.2f}x" if math.isfinite(row.ratio) else "-",
            _budget(row),
            "" if row.holds else "OVER",
        )
        for row in rows
    ]
    widths = [max(len(row[column]) for row in cells) for column in range(6)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in cells]


def _budget(row: Row) -> str:
    if row.budget is None:
        return "-"
    return f"{_number(row.budget)} {row.unit}".strip() if row.absolute else f"{row.budget:g}x"


def _number(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def _fields(row: Row) -> dict[str, object]:
    ratio = row.ratio if math.isfinite(row.ratio) else None
    return {**dataclasses.asdict(row), "ratio": ratio, "holds": row.holds}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
