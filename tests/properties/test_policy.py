"""The one policy: total, and never wider at a lower autonomy."""

from typing import cast

from hypothesis import given
from hypothesis import strategies as st

from gnomon.domain.policy import AUTONOMIES, ROLES, WORKSPACE_TOOLS, Autonomy, Role, lower, policy

WIDTH = {"deny": 0, "hold": 1, "allow": 2}
KNOWN = st.sampled_from([f"tool:{name}" for name in (*WORKSPACE_TOOLS, "recall")])
ACTIONS = KNOWN | st.text(max_size=20) | st.text(max_size=10).map(lambda name: f"tool:{name}")


@given(st.sampled_from(ROLES), ACTIONS, st.sampled_from(AUTONOMIES))
def test_policy_is_total(role: Role, action: str, autonomy: Autonomy):
    assert policy(role, action, autonomy) in WIDTH


@given(st.sampled_from(ROLES), ACTIONS)
def test_policy_is_never_wider_at_a_lower_autonomy(role: Role, action: str):
    widths = [WIDTH[policy(role, action, autonomy)] for autonomy in AUTONOMIES]
    assert widths == sorted(widths)


@given(st.text(max_size=20), ACTIONS, st.text(max_size=20))
def test_what_policy_does_not_know_is_denied(role: str, action: str, autonomy: str):
    known = role in ROLES and autonomy in AUTONOMIES
    decision = policy(cast(Role, role), action, cast(Autonomy, autonomy))
    assert known or decision == "deny"


@given(st.sampled_from(ROLES), st.text(max_size=20), st.sampled_from(AUTONOMIES))
def test_an_action_of_no_known_kind_is_denied(role: Role, action: str, autonomy: Autonomy):
    assert action.startswith("tool:") or policy(role, action, autonomy) == "deny"


def test_the_workspace_tools_are_allowed_to_the_resident_at_every_autonomy():
    for autonomy in AUTONOMIES:
        for name in (*WORKSPACE_TOOLS, "recall"):
            assert policy("resident", f"tool:{name}", autonomy) == "allow"


@given(st.sampled_from(AUTONOMIES), st.sampled_from(AUTONOMIES))
def test_the_lower_of_two_allows_no_more_than_either(one: Autonomy, other: Autonomy):
    found = lower(one, other)
    assert found in {one, other}
    assert AUTONOMIES.index(found) == min(AUTONOMIES.index(one), AUTONOMIES.index(other))


def test_nobody_but_the_resident_may_use_a_tool():
    for role in ROLES:
        for name in WORKSPACE_TOOLS:
            allowed = policy(role, f"tool:{name}", "full") == "allow"
            assert allowed == (role == "resident")
