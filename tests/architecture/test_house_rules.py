"""The rules of the house (page 9) that a machine can hold."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house import PACKAGE, ROOT, committed, file_of, modules
from tests.run import UNCOUNTED

MAX_LINES = 400
MAX_STATEMENTS = 40
EMPTY_NAMES = re.compile(r"(^|_)(utils?|helpers?|managers?|handlers?|misc|common|stuff)(_|$)")
MARKS = re.compile(r"\b(TO" + "DO|FIX" + "ME|X" + "XX|HA" + r"CK)\b")
TEXTS = {".py", ".md", ".toml", ".txt", ".yaml", ".yml", ".json", ".html", ".css", ".js", ".sh", ""}


def python_files() -> list[Path]:
    return [path for path in committed() if path.suffix == ".py"]


def texts() -> Iterator[tuple[Path, str]]:
    for path in committed():
        if path.suffix in TEXTS:
            yield path.relative_to(ROOT), path.read_text(encoding="utf-8")


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def statements(function: ast.AST) -> int:
    return sum(isinstance(node, ast.stmt) for node in ast.walk(function)) - 1


def test_no_file_is_longer_than_400_lines() -> None:
    long = {
        str(path.relative_to(ROOT)): count
        for path in python_files()
        if path.is_relative_to(PACKAGE)
        and (count := len(path.read_text().splitlines())) > MAX_LINES
    }
    assert long == {}


def test_no_function_has_more_than_40_statements() -> None:
    long = [
        f"{path.relative_to(ROOT)}:{function.lineno} {function.name} {count}"
        for path in python_files()
        if path.is_relative_to(PACKAGE)
        for function in functions(ast.parse(path.read_text()))
        if (count := statements(function)) > MAX_STATEMENTS
    ]
    assert long == []


def test_package_files_are_empty_but_the_roots_version() -> None:
    filled = [
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("__init__.py")
        if path.read_text().strip() and path.parent != PACKAGE
    ]
    assert filled == []
    assert "__version__" in (PACKAGE / "__init__.py").read_text()


def test_no_module_or_class_has_a_name_that_says_nothing() -> None:
    assert [module for module in modules() if EMPTY_NAMES.search(module.split(".")[-1])] == []
    classes = [
        f"{module}.{node.name}"
        for module in modules()
        for node in ast.walk(ast.parse(file_of(module).read_text()))
        if isinstance(node, ast.ClassDef) and re.search(r"(Utils?|Helper|Manager)$", node.name)
    ]
    assert classes == []


def test_nothing_is_left_for_later_in_a_comment() -> None:
    found = [
        f"{path}:{number}"
        for path, text in texts()
        for number, line in enumerate(text.splitlines(), start=1)
        if MARKS.search(line)
    ]
    assert found == []


def test_no_error_is_swallowed_and_no_line_is_hidden_from_coverage() -> None:
    swallowed = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in python_files()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ExceptHandler) and _is_broad(node) and _does_nothing(node)
    ]
    assert swallowed == []
    hidden = "pragma: no " + "cover"
    assert [str(path) for path, text in texts() if hidden in text] == []


def _is_broad(node: ast.ExceptHandler) -> bool:
    return node.type is None or (
        isinstance(node.type, ast.Name) and node.type.id in {"Exception", "BaseException"}
    )


def _does_nothing(node: ast.ExceptHandler) -> bool:
    return all(
        isinstance(each, ast.Pass)
        or (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant))
        for each in node.body
    )


def test_every_exception_from_a_rule_names_the_rule() -> None:
    bare = [
        f"{path}:{number}"
        for path, text in texts()
        if path.suffix == ".py" and path.name != "test_house_rules.py"
        for number, line in enumerate(text.splitlines(), start=1)
        if re.search(r"#\s*(noqa|type:\s*ignore|pyright:\s*ignore)(?![:\[])", line)
    ]
    assert bare == []


@pytest.mark.parametrize(
    ("what", "pattern"),
    [
        (
            "a package index",
            r"py[p]i\.(org|python)|python[h]osted|/simpl[e]/|(index-url|find-links) =",
        ),
        (
            "a path of the machine it was made on",
            r"/wor[k]/\w|/roo[t]/\.|/op[t]/(py[p]i|wheels)",
        ),
        ("a key", r"sk-[A-Za-z0-9]{20,}|-----BEGIN [A-Z ]*PRIVATE KEY"),
    ],
)
def test_no_committed_file_names(what: str, pattern: str) -> None:
    found = [
        f"{path}:{number}"
        for path, text in texts()
        if path.name != "test_house_rules.py"
        for number, line in enumerate(text.splitlines(), start=1)
        if re.search(pattern, line)
    ]
    assert found == [], what


def test_requirements_are_pinned_and_hashed() -> None:
    for path in (ROOT / "requirements").glob("*.txt"):
        joined = path.read_text().replace("\\\n", " ")
        for line in joined.splitlines():
            assert re.match(r"[a-z0-9._-]+==\S+", line), f"{path.name}: {line[:60]}"
            assert "--hash=sha256:" in line, f"{path.name}: {line[:60]}"


def test_tests_are_named_as_sentences() -> None:
    short = [
        f"{path.relative_to(ROOT)}:{function.lineno} {function.name}"
        for path in python_files()
        if path.name.startswith("test_")
        for function in functions(ast.parse(path.read_text()))
        if function.name.startswith("test_") and function.name.count("_") < 2
    ]
    assert short == []


def test_each_part_of_make_test_leaves_out_only_folders_without_its_tests() -> None:
    """`tests/run.py` does not collect what it would deselect."""
    elsewhere = {"unit": "system|sweep|alone|browser", "stages": "alone|browser"}
    elsewhere |= dict.fromkeys(("properties", "contract"), elsewhere["unit"])
    for folder, marks in elsewhere.items():
        for path in (ROOT / "tests" / folder).rglob("*.py"):
            assert not re.search(rf"mark\.({marks})\b", path.read_text()), path
    known = {*elsewhere, *UNCOUNTED}
    assert {path.parent.name for path in (ROOT / "tests").glob("*/test_*.py")} == known
