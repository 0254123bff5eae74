"""The trust table as people read it."""

from gnomon.gateway.trust_rows import trust_rows
from gnomon.trust.roles import TABLE


def test_every_role_is_shown_with_its_level_where_it_ran():
    rows = {row.role: row for row in trust_rows({"resident": "full"})}
    assert list(rows) == [each.role for each in TABLE]
    assert rows["resident"].level == "full"
    assert rows["resident"].jailed
    assert "decision-ledger" in rows["resident"].authors
    assert rows["tool-host"].level is None
    assert not rows["gateway"].jailed
    assert not rows["operator"].jailed
