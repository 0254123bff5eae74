"""Names of versions and snapshots, for any file, number and content."""

from hypothesis import given
from hypothesis import strategies as st

from gnomon.scaffold.hashing import (
    folder_sha256,
    last_activation,
    snapshot_count,
    snapshot_name,
    snapshots_of,
    version_name,
)

texts = st.dictionaries(st.sampled_from(["a.md", "b.md", "sub/c.md"]), st.text(max_size=20))


@given(files=texts, activation=st.integers(1, 10**7))
def test_version_names_carry_activation_and_hash_without_a_colon(
    files: dict[str, str], activation: int
) -> None:
    name = version_name(activation, files)
    number, digest = name.split("-")
    assert int(number) == activation
    assert digest == folder_sha256(files)[:12]
    assert ":" not in name


@given(
    path=st.sampled_from(["inner-loop-prompt.md", "antipattern-flags.json", "sub/x.md", "plain"]),
    activation=st.integers(0, 10**6),
    count=st.integers(1, 9999),
    content=st.binary(max_size=30),
)
def test_a_snapshot_name_tells_its_file_activation_and_count(
    path: str, activation: int, count: int, content: bytes
) -> None:
    name = snapshot_name(path, activation, count, content)
    assert "/" not in name
    assert ":" not in name
    assert snapshots_of(path, activation, [name, "stray"]) == [name]
    assert snapshots_of(path, activation + 1, [name]) == []
    assert snapshots_of("other.md", activation, [name]) == []
    assert snapshot_count(name) == count
    assert last_activation([name, "stray"]) == activation
