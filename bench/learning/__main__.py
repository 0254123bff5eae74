"""`python -m bench.learning`: what the rules of judgment do to an agent, as one table.

Edits of known worth are put to simulated people (`bench/learning/world.py`) and judged by the
real rule. The same seed gives the same table. `--write` also stores it, with a quick run to
compare with, and puts it into docs/learning.md.
"""

import argparse
import sys

import msgspec

from bench.learning.figures import FULL, QUICK, measure
from bench.learning.stored import Stored, write
from bench.learning.table import dependences, table


def main(arguments: list[str]) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.learning", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="roughly, in seconds")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--write", action="store_true", help="store it and mend the page")
    options = parser.parse_args(arguments)
    figures = measure(options.seed, QUICK if options.quick else FULL)
    if options.write:
        write(Stored(full=figures, quick=measure(options.seed, QUICK)))
    if options.json:
        print(msgspec.json.encode(figures).decode())
    else:
        print(f"{table(figures)}\n\n{dependences(figures)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
