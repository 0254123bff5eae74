"""The dashboard's files agree with each other: words, scripts, templates, and no stranger."""

import re
from importlib.resources import files

import pytest

from gnomon.gateway.dashboard.labels import read_labels
from gnomon.gateway.dashboard.parts import PAGES, PARTS
from gnomon.gateway.dashboard.wording import UNSEEN
from gnomon.trust.roles import TABLE

SHARED = ("step-", "source-")
ROOT = files("gnomon.gateway.dashboard")
LABELS = read_labels()
BUILT = (
    "role.", "life.", "doing.", "network.", "mode.", "model-kind.", "skip.", "step.", "loose-end.",
    "source.", "js.stop-", "chat.try-", "trust.level-", "trust.means-", "trust.ok", "trust.warning",
    "trust.error", "outcome.", "inbox.kind-", "fitness.stall-", "fitness.reason-",
    "fitness.reflection_repeat_rate", "fitness.executive_cooldown_rate",
    "fitness.concern_persistence_rate", "health.", "verdict.", "change-step.",
    "approval-status.", "approval.wants-", "change.predicted-", "change.undo-means-", "change.by-",
    "learn.kept", "learn.undone", "learn.no-evidence", "learn.stopped",
)  # fmt: skip
"""Groups whose keys are put together from a fact."""


def texts(folder: str, ending: str) -> dict[str, str]:
    found = {}
    for entry in ROOT.joinpath(folder).iterdir():
        if entry.name.endswith(ending):
            found[f"{folder}/{entry.name}"] = entry.read_text()
    return found


TEMPLATES = texts("templates", ".html") | texts("templates/parts", ".html")
SCRIPTS = texts("static", ".js")
PYTHON = texts(".", ".py")


def known(key: str) -> bool:
    return key in LABELS or f"{key}.one" in LABELS


def used_keys() -> set[str]:
    used: set[str] = set()
    for text in TEMPLATES.values():
        used |= set(re.findall(r'"([a-z][a-z-]*\.[a-z0-9-]+(?:\.[a-z0-9-]+)*)"', text))
    for text in PYTHON.values():
        used |= set(re.findall(r'(?:Sentence|labels)\(\s*"([^"]+)"', text))
    for text in SCRIPTS.values():
        said = re.findall(r'\bsay\("([^"]+)"', text)
        used |= {f"js.{key}" for key in said if not key.startswith(SHARED)}
        used |= {f"js.{key}" for key in re.findall(r'\bshow\("([^"]+)"', text)}
        for key in re.findall(r'counted\("([^"]+)"', text):
            used |= {f"js.{key}", f"js.{key}-one"}
    return used


def test_every_word_that_is_used_exists():
    operations = {name for part in PARTS.values() for name in part.needs}
    asked = set(
        re.findall(r'data-do="([^"]+)"|(?:has|act)\(([^)]*)\)', " ".join(TEMPLATES.values()))
    )
    for pair in asked:
        operations |= set(re.findall(r"[a-z]+\.[a-z]+", " ".join(pair)))
    unknown = {
        key
        for key in used_keys() - operations
        if not known(key) and not key.endswith((".html", ".js", ".css", ".svg"))
    }
    assert unknown == set()


def test_every_word_that_exists_is_used():
    used = used_keys() | {"js.read-one", "js.gone", "js.signed-out"}
    unused = {
        key
        for key in LABELS
        if key not in used
        and key.removesuffix(".one").removesuffix(".other") not in used
        and not key.startswith(BUILT)
    }
    assert unused == set()


def test_no_template_shows_backticks_of_our_own():
    marked = {key.removesuffix(".one").removesuffix(".other") for key in LABELS if marks(key)}
    assert marked
    for name, text in TEMPLATES.items():
        for key in re.findall(r'{{ t\("([^"]+)"[^}|]*}}', text):
            assert key not in marked, (name, key)


def marks(key: str) -> bool:
    return "`" in LABELS.under(key.rpartition(".")[0])[key.rpartition(".")[2]]


def test_every_role_of_the_trust_table_has_its_words():
    for row in TABLE:
        assert known(f"role.{row.role}")
        assert known(f"life.{row.life}")
        assert known(f"network.{row.network}")


def test_every_part_has_its_template_and_every_page_its_parts():
    for name in PARTS:
        assert f"templates/parts/{name}.html" in TEMPLATES
    for template, parts in PAGES.values():
        assert f"templates/{template}.html" in TEMPLATES
        assert set(parts) <= set(PARTS)


@pytest.mark.parametrize("name", sorted(TEMPLATES))
def test_no_template_marks_a_text_as_safe_or_carries_script_or_style(name: str):
    text = TEMPLATES[name]
    allowed = {"templates/_part.html": 1}  # what the gateway drew and escaped itself
    assert text.count("|safe") == allowed.get(name, 0)
    assert "autoescape" not in text
    assert not re.search(r"\son[a-z]+=", text), "no inline handler"
    assert not re.search(r"\sstyle=|<style", text)
    assert not re.search(r"<script(?! type=\"(module\" src=\"/static|application/json))", text)


FORBIDDEN = (
    "innerHTML",
    "outerHTML",
    "insertAdjacentHTML",
    "document.write",
    "eval(",
    "new Function",
    "setInterval",
    "localStorage",
    "http://",
    "https://",
)


@pytest.mark.parametrize("name", sorted(SCRIPTS))
def test_no_script_makes_markup_of_text_or_reaches_elsewhere(name: str):
    text = SCRIPTS[name]
    for forbidden in FORBIDDEN:
        assert forbidden not in text
    if name != "static/parts.js":
        assert "DOMParser" not in text
        assert "trustedTypes" not in text
    assert len(text.splitlines()) < 400


def test_nothing_on_a_page_comes_from_elsewhere():
    for text in (*TEMPLATES.values(), ROOT.joinpath("static/gnomon.css").read_text()):
        assert not re.search(r"(src|href|url\()=?[\"']?(https?:)?//", text)


def test_scripts_and_gateway_hide_the_same_characters():
    [pattern] = re.findall(r"const UNSEEN = /\[(.*)\]/g;", SCRIPTS["static/prose.js"])
    for char in map(chr, range(0x3000)):
        hidden = re.search(f"[{pattern}]", char) is not None
        assert hidden == (UNSEEN.search(char) is not None), hex(ord(char))
