"""Documents of an agent, as a page shows them."""

from gnomon.gateway.dashboard.documents import MAX_FACT, Fact, read_document


def test_the_frontmatter_is_facts_and_the_rest_is_the_text():
    shown = read_document(
        "---\nkind: plan-note\npoints:\n- one\n- two\ndone: true\nshare: 0.5\nn: 3\n---\nThe text."
    )
    assert shown.body == "The text."
    assert shown.fault is None
    assert list(shown.facts) == [
        Fact("kind", ("plan-note",)),
        Fact("points", ["one", "two"]),
        Fact("done", ("yes",)),
        Fact("share", ("0.5",)),
        Fact("n", ("3",)),
    ]


def test_what_says_nothing_is_no_fact():
    shown = read_document('---\nempty: ""\nnone: null\nlist: []\nreal: no\n---\n')
    assert [fact.name for fact in shown.facts] == ["real"]


def test_names_are_words_and_nested_values_are_told():
    shown = read_document("---\ndone_by: a\nmap:\n  x: 1\n  y: [2, 3]\n---\n")
    assert list(shown.facts) == [Fact("done by", ("a",)), Fact("map", ["x: 1", "y: 2, 3"])]


def test_a_document_that_cannot_be_taken_apart_is_shown_whole():
    shown = read_document("no frontmatter at all")
    assert (shown.body, list(shown.facts)) == ("no frontmatter at all", [])
    assert shown.fault is not None


def test_a_fact_is_bounded():
    [fact] = read_document(f"---\nlong: {'x' * 5_000}\n---\n").facts
    assert len(fact.values[0]) == MAX_FACT
