"""Documents with frontmatter: what is read of them, what is refused, what is news."""

import msgspec
import pytest

from gnomon.agent.artifacts import NAME, also_required, is_news, read_artifact, slug
from gnomon.agent.frontmatter import FrontmatterError, take_apart
from gnomon.resident.executive import KINDS

GOOD = """---
kind: plan-note
title: "Release"
summary: |
  Two
  lines.
points: ["a", 'b']
risks: []
---

# Body
"""


def refused(text: str, kind: str | None = None) -> str:
    with pytest.raises(FrontmatterError) as error:
        read_artifact(text, kind)
    return str(error.value.facts["reason"])


def test_a_document_is_read_by_its_kind() -> None:
    made = read_artifact(GOOD, "plan-note")
    assert (made.kind, made.title, made.summary) == ("plan-note", "Release", "Two lines.")
    assert made.points == ("a", "b")
    assert made.text == GOOD


def test_the_fence_that_a_model_puts_around_it_is_taken_off() -> None:
    assert read_artifact(f"```markdown\n{GOOD}```").text == GOOD


@pytest.mark.parametrize("kind", sorted(set(KINDS.values())))
def test_every_kind_of_work_has_a_schema_that_asks_for_more(kind: str) -> None:
    (extra,) = also_required(kind)
    head = {"kind": kind, "title": "t", "summary": "s", "points": [], extra: []}
    yaml = "\n".join(f"{name}: {msgspec.json.encode(v).decode()}" for name, v in head.items())
    assert read_artifact(f"---\n{yaml}\n---\nText.", kind).points == ()
    assert extra in refused(f"---\n{yaml.rpartition(chr(10))[0]}\n---\nText.", kind)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "first line"),
        ("# Heading", "first line"),
        ("---\nkind: draft", "no second"),
        ("---\n- a\n---\nx", "names with values"),
        ("---\n---\nx", "names with values"),
        ("---\na: &x 1\nb: *x\n---\nx", "aliases"),
        ("---\na: !!python/name:os.system x\n---\nx", "tag"),
        ("---\na: !mine x\n---\nx", "tag"),
        ("---\na: !!binary aGk=\n---\nx", "tag"),
        ("---\na: 1\na: 2\n---\nx", "stands twice"),
        ("---\n<<: {a: 1}\n---\nx", "plain text"),
        ("---\n? [a]\n: 1\n---\nx", "plain text"),
        ("---\na: " + "[" * 20 + "]" * 20 + "\n---\nx", "deeper"),
        ("---\na: [" + "1," * 500 + "]\n---\nx", "more than 400"),
        ("---\na: " + "x" * 20_000 + "\n---\nx", "longer than"),
        ("---\na: {\n---\nx", "while parsing"),
        ("---\na: [" + "[" * 5_000 + "\n---\nx", ""),
        ("---\na: \x00\n---\nx", ""),
    ],
)
def test_what_is_no_plain_frontmatter_is_refused(text: str, why: str) -> None:
    assert why in refused(text)


def test_values_are_plain_and_dates_stay_text() -> None:
    head = take_apart(
        "---\na: 1\nb: -2.5\nc: yes\nd: null\ne: 2026-03-02\nf: 0x1F\ng: .inf\nh: 1e3\ni:\n---\n"
    ).head
    assert head == {
        "a": 1, "b": -2.5, "c": True, "d": None, "e": "2026-03-02", "f": "0x1F", "g": ".inf",
        "h": "1e3", "i": None,
    }  # fmt: skip


def test_a_document_must_fit_and_have_a_body() -> None:
    assert refused(GOOD, "draft") == "kind must be draft"
    assert "body" not in refused(GOOD.replace("# Body", ""))
    assert refused(GOOD.replace("# Body", "")) == "nothing stands below the frontmatter"
    assert "unexpected" in refused(GOOD.replace("risks: []", "risks: []\nscore: 1"))
    assert refused(GOOD.replace('"Release"', '""')).startswith("title: ")
    assert "mine" in refused(GOOD.replace("plan-note", "mine"))


def test_news_is_a_point_that_was_not_there() -> None:
    assert is_news(["a"], None)
    assert not is_news([], None)
    assert not is_news(["A  point!"], ["a point"])
    assert is_news(["a", "b"], ["a"])
    assert not is_news(["b"], ["a", "b"])


@pytest.mark.parametrize(
    "title",
    ["Release", "\u53d1\u5e03\u8bf4\u660e", "\u00dcber uns", "..", "a/b", "x" * 200, "Fix: 'it'"],
)
def test_every_title_has_a_name_that_stays_inside_its_folder(title: str) -> None:
    assert NAME.fullmatch(f"{slug('draft', title)}@v1")


def test_different_titles_have_different_names() -> None:
    titles = ["Release", "\u53d1\u5e03", "\u8bf4\u660e", "\u00fcber", "uber", "x" * 100, "x" * 101]
    assert len({slug("draft", title) for title in titles}) == len(titles)
    assert (
        slug("draft", "Release notes") == slug("draft", "release  NOTES") == "draft-release-notes"
    )
