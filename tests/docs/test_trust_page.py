"""docs/trust.md prints the table that the gateway asks, and tells what stays open."""

from pathlib import Path

from gnomon.trust.roles import table_page
from tests.redteam.test_jail_holds import PARTIAL_SHOWS

PAGE = (Path(__file__).parents[2] / "docs" / "trust.md").read_text(encoding="utf-8")


def test_the_page_has_the_table_as_it_is() -> None:
    printed = [line for line in PAGE.splitlines() if line.startswith("| ")][1:]
    wanted = [
        f"| {f'{row.role} | {row.life} | {row.may_read} | {row.may_author} | {row.network}'} | "
        f"{f'{row.exec} | {row.model} | {row.asks}'} |"
        for row in table_page()
    ]
    assert printed[: len(wanted)] == wanted, "run the table of docs/trust.md anew"


def test_the_page_names_what_partial_leaves_open() -> None:
    told = {
        "stat": "stat",
        "access": "access",
        "change-folder": "chdir",
        "gateway-exists": "process",
    }
    assert set(told) == PARTIAL_SHOWS
    partial = PAGE.split("**At `partial`, besides**")[1]
    assert all(word in partial for word in told.values())
