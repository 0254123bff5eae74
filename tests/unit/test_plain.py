"""Records as plain values: what goes over the pipe comes back the same, or is refused by name."""

import pytest

from gnomon.agent.outcome import Outcome
from gnomon.domain.errors import RecordError
from gnomon.domain.json_value import Json
from gnomon.domain.plain import fields, read


def test_a_record_comes_back_as_it_went() -> None:
    outcome = Outcome(text="done", error=None)
    assert read(fields(outcome), Outcome) == outcome


@pytest.mark.parametrize("value", [None, [], "text", {"text": 1}, {}])
def test_what_is_no_such_record_is_refused_by_name(value: Json) -> None:
    with pytest.raises(RecordError, match="This is no Outcome") as refused:
        read(value, Outcome)
    assert refused.value.facts["kind"] == "Outcome"
