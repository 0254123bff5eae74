"""Shared by all tests: a home, and an honest account of what did not run."""

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

from gnomon.home import Home
from tests.capabilities import CAPABILITIES, has

REQUIRE_ALL = os.environ.get("GNOMON_TESTS_REQUIRE_ALL") == "1"
LACKS = "this machine lacks: "
COUNTED = [Path(__file__).parent / name for name in ("unit", "stages", "properties", "contract")]
"""What coverage is measured by (page 9)."""
IMPLIED = {"root": "root", "browser": "chromium"}
"""Markers that name a capability by themselves."""

hypothesis.settings.register_profile("gnomon", deadline=None, print_blob=True)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True, database=None)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "gnomon")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """An empty home that does not exist yet."""
    return Home(tmp_path / "home")


@pytest.fixture(autouse=True, scope="session")
def _no_operator_settings() -> Iterator[None]:
    """The settings and keys of whoever runs the tests must not reach them."""
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith("GNOMON_") and not name.startswith("GNOMON_TESTS_"):
                patch.delenv(name)
        yield


def needed(item: pytest.Item) -> list[str]:
    """What a test asks of the machine, by its markers."""
    names = [name for mark in item.iter_markers("needs") for name in mark.args]
    return names + [name for marker, name in IMPLIED.items() if item.get_closest_marker(marker)]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if any(item.path.is_relative_to(folder) for folder in COUNTED):
            item.add_marker("counted")
    if "soak" in config.option.markexpr:
        return
    soak = [item for item in items if item.get_closest_marker("soak")]
    if soak:
        config.hook.pytest_deselected(items=soak)
        items[:] = [item for item in items if item not in soak]


def pytest_runtest_setup(item: pytest.Item) -> None:
    missing = sorted(name for name in needed(item) if not has(name))
    if missing and REQUIRE_ALL:
        pytest.fail(LACKS + ", ".join(missing), pytrace=False)
    if missing:
        pytest.skip(LACKS + ", ".join(missing))


def _not_run(skipped: list[pytest.TestReport]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for report in skipped:
        reason = str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)
        reason = reason.removeprefix("Skipped: ")
        counts[reason.removeprefix(LACKS) if reason.startswith(LACKS) else reason] += 1
    return counts


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if REQUIRE_ALL and reporter is not None and reporter.stats.get("skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    counts = _not_run(terminalreporter.stats.get("skipped", []))
    if not counts:
        return
    terminalreporter.section("not run on this machine")
    for reason, count in counts.most_common():
        how = [CAPABILITIES[name].how for name in reason.split(", ") if name in CAPABILITIES]
        terminalreporter.line(f"{count} tests: {reason}" + (f" ({'; '.join(how)})" if how else ""))
    if REQUIRE_ALL:
        terminalreporter.line("GNOMON_TESTS_REQUIRE_ALL=1: absence is a failure.", red=True)
