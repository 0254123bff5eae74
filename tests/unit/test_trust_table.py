"""The trust table says what page 1 of the design says, and refuses all else."""

from typing import Any

import pytest

from gnomon.domain.errors import TrustError
from gnomon.domain.ledgers import BODIES
from gnomon.domain.policy import ROLES
from gnomon.trust.roles import (
    BY_ROLE,
    TABLE,
    check_append,
    check_op,
    check_start,
    guard,
    table_page,
    trust_of,
)

SHARED = {"engagement-ledger": {"gateway", "operator"}, "approvals": {"gateway", "operator"}}
"""Ledgers where the gateway writes down what the operator decided, in the operator's name."""


def tags(union: Any) -> set[str]:
    return {kind.kind() for kind in getattr(union, "__args__", (union,))}


def test_every_role_has_one_row() -> None:
    assert [row.role for row in TABLE] == list(ROLES)


def test_every_ledger_has_one_author() -> None:
    authors: dict[str, set[str]] = {}
    for row in TABLE:
        for author in row.authors:
            authors.setdefault(author.ledger, set()).add(row.role)
    assert {name: who for name, who in authors.items() if len(who) > 1} == SHARED


def test_every_kind_of_every_ledger_that_exists_has_an_author() -> None:
    granted: dict[str, set[str]] = {}
    for row in TABLE:
        for author in row.authors:
            granted.setdefault(author.ledger, set()).update(author.kinds)
    for name, union in BODIES.items():
        assert granted[name] == tags(union), name


@pytest.mark.parametrize("role", ["gateway", "operator", "client", "intruder", ""])
def test_what_is_no_jailed_role_cannot_start(role: str) -> None:
    with pytest.raises(TrustError):
        check_start(role)


def test_a_role_that_starts_has_limits() -> None:
    for row in TABLE:
        if row.starts:
            assert check_start(row.role) == (row, row.limits)


@pytest.mark.parametrize("role", ROLES)
def test_no_role_but_the_gateway_and_the_operator_authors_engagement(role: str) -> None:
    if role in SHARED["engagement-ledger"]:
        check_append(role, "engagement-ledger", "outcome")
        return
    with pytest.raises(TrustError):
        check_append(role, "engagement-ledger", "outcome")


def test_an_append_needs_role_ledger_and_kind() -> None:
    check_append("resident", "decision-ledger", "tick")
    for role, ledger, kind in (
        ("importer", "decision-ledger", "tick"),
        ("resident", "spend-ledger", "spend"),
        ("resident", "decision-ledger", "outcome"),
        ("resident", "no-ledger", "tick"),
        ("intruder", "decision-ledger", "tick"),
    ):
        with pytest.raises(TrustError):
            check_append(role, ledger, kind)


def test_only_what_is_granted_may_be_asked() -> None:
    asks = {op for row in TABLE for op in row.asks}
    for role in (*ROLES, "intruder"):
        for op in (*asks, "no-op"):
            if role in BY_ROLE and op in trust_of(role).asks:
                check_op(role, op)
            else:
                with pytest.raises(TrustError) as caught:
                    check_op(role, op)
                assert caught.value.facts["role"] == role


def test_only_two_roles_may_run_programs() -> None:
    assert {row.role for row in TABLE if row.may_exec} == {"tool-host", "mcp-server"}


def test_only_two_jailed_roles_may_have_a_network() -> None:
    networked = {row.role for row in TABLE if row.starts and row.network != "none"}
    assert networked == {"model-host", "mcp-server"}


def test_the_page_has_a_row_for_each_role() -> None:
    page = table_page()
    assert [row.role for row in page] == list(ROLES)
    assert all(row.may_read and row.may_author and row.asks for row in page)


async def test_the_guard_looks_an_append_up_whole() -> None:
    async def answer(op: str, args: object, part: object) -> str:
        return op

    guarded = guard("resident", answer)
    asked = {"name": "decision-ledger", "kind": "tick"}
    assert await guarded("ledger.append", asked, print) == "ledger.append"
    assert await guarded("recall", {}, print) == "recall"
    for args in ({**asked, "name": "engagement-ledger"}, {**asked, "kind": "outcome"}, {}):
        with pytest.raises(TrustError):
            await guarded("ledger.append", args, print)
    with pytest.raises(TrustError):
        await guarded("import", {}, print)
