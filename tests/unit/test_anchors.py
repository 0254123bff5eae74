"""When an anchor is due, what it holds, and how all of them are kept."""

from gnomon.domain.instants import HOUR, Millis
from gnomon.domain.ledgers import Head
from gnomon.domain.records import AnchoredHead
from gnomon.ledger.anchors import Anchored, changed, is_due

A, B = "a" * 64, "b" * 64


def test_only_heads_that_moved_are_anchored() -> None:
    before = {"x": AnchoredHead(seq=1, sha256=A), "y": AnchoredHead(seq=2, sha256=A)}
    heads = {
        "x": Head(seq=1, sha256=A),
        "y": Head(seq=3, sha256=B),
        "z": Head(),
        "w": Head(seq=1, sha256=A),
    }
    assert changed(before, heads) == {
        "y": AnchoredHead(seq=3, sha256=B),
        "w": AnchoredHead(seq=1, sha256=A),
    }
    assert changed(changed({}, heads), heads) == {}


def test_an_anchor_is_due_each_hour_and_after_the_clock_went_back() -> None:
    at = Millis(10 * HOUR)
    assert is_due(None, at)
    assert not is_due(at, Millis(at + HOUR - 1))
    assert is_due(at, Millis(at + HOUR))
    assert is_due(at, Millis(at - 1))


def test_every_anchored_head_is_kept_by_key() -> None:
    anchored = Anchored()
    anchored.add({"x": AnchoredHead(seq=5, sha256=B)})
    anchored.add({"x": AnchoredHead(seq=3, sha256=A), "y": AnchoredHead(seq=2**50, sha256=A)})
    assert anchored.of("x") == [(3, A), (5, B)]
    assert anchored.of("y") == [(2**50, A)]
    assert anchored.of("z") == []
    assert list(anchored.all_keys()) == ["x", "y"]
