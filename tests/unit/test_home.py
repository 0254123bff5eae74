"""The paths of a home."""

from pathlib import Path

import pytest

from gnomon.domain.errors import UsageError
from gnomon.home import Home, default_home, home_option


@pytest.mark.parametrize("name", ["../x", "", ".", "a/b", "-a", "a b", "a\n", "a" * 65])
def test_no_name_of_an_agent_leads_out_of_its_folder(name: str) -> None:
    with pytest.raises(UsageError, match="no name for an agent"):
        Home(Path("/home/ada/gnomon")).agent_named(name)


def test_an_agent_lives_below_the_home() -> None:
    assert Home(Path("/h")).agent_named("main-2_b").root == Path("/h/agents/main-2_b")


def test_a_verb_names_a_home_that_it_does_not_mean_by_itself() -> None:
    own = default_home({})
    assert home_option(own, {}) == ""
    assert home_option(Path("/h/my gnomon"), {}) == " --home '/h/my gnomon'"
    assert home_option(Path("/h"), {"GNOMON_HOME": "/h"}) == ""
    assert home_option(own, {"GNOMON_HOME": "/h"}) == f" --home {own}"
