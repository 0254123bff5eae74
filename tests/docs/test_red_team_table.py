"""docs/trust.md prints what the red team tried: every line of it, and that nothing got through."""

import re

from docs.generate import TRIED, TRIED_END, with_red_team
from tests.house import ROOT
from tests.redteam.tally import LINES

PAGE = (ROOT / "docs" / "trust.md").read_text(encoding="utf-8")
RECORD = '{"%s": {"a": [3, 0], "b": [1000, 0]}}'


def rows(page: str) -> dict[str, tuple[int, int]]:
    table = page.partition(TRIED)[2].partition(TRIED_END)[0]
    found = re.findall(r"^\| (.+) \| \**([\d,]+)\** \| \**(\d+)\** \|$", table, re.MULTILINE)
    return {name.strip("*"): (int(tries.replace(",", "")), int(ok)) for name, tries, ok in found}


def test_every_line_was_tried_and_none_got_through() -> None:
    printed = rows(PAGE)
    tries, through = printed.pop("All")
    assert list(printed) == list(LINES.values()), "run `make test`, then `make docs`"
    assert all(count > 0 for count, _ in printed.values())
    assert tries == sum(count for count, _ in printed.values())
    assert through == 0


def test_a_run_of_some_tests_leaves_the_table_and_one_of_all_writes_it() -> None:
    some = RECORD % "ledger"
    assert with_red_team(PAGE, some) == PAGE
    parts = (RECORD % line for line in LINES)
    every = "{" + ", ".join(part[1:-1] for part in parts) + "}"
    written = with_red_team(PAGE, every)
    assert rows(written)["All"] == (1003 * len(LINES), 0)
    assert with_red_team(written, every) == written
    assert written.partition(TRIED_END)[2] == PAGE.partition(TRIED_END)[2]
