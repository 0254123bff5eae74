from hypothesis import given
from hypothesis import strategies as st

from gnomon.cli.terminal_text import clean


@given(st.text())
def test_cleaning_leaves_nothing_that_a_terminal_obeys(text: str) -> None:
    assert not any((ord(c) < 32 and c not in "\n\t") or 0x7F <= ord(c) < 0xA0 for c in clean(text))


@given(
    st.text(alphabet=st.characters(exclude_characters="\r\u200c\u200d\ufe0e\ufe0f")),
    st.integers(0, 20),
)
def test_cleaning_a_stream_by_parts_is_cleaning_it_whole(text: str, cut: int) -> None:
    assert clean(text[:cut], whole=False) + clean(text[cut:], whole=False) == clean(text)
