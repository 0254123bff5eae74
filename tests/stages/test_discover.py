"""Histories are found where agents keep them, and counted without opening a file."""

import os
from pathlib import Path

import pytest

from gnomon.observe.discover import find_history, history_folder
from gnomon.observe.prices import packaged_prices


def touch(path: Path, *, days_ago: int = 0) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    then = 1_760_000_000 - days_ago * 86_400
    os.utime(path, (then, then))


def test_sessions_and_days_are_counted_by_name(tmp_path: Path) -> None:
    projects = tmp_path / ".claude" / "projects"
    touch(projects / "-home-me-a" / "one.jsonl")
    touch(projects / "-home-me-b" / "two.jsonl", days_ago=30)
    touch(projects / "-home-me-b" / "agent-x.jsonl")
    touch(projects / "-home-me-b" / "two" / "subagents" / "agent-y.jsonl")
    touch(projects / "notes.txt")
    touch(tmp_path / ".claude" / "settings.json")
    sessions = tmp_path / ".codex" / "sessions" / "2026"
    touch(sessions / "01" / "30" / "rollout-2026-01-30T10-00-00-x.jsonl")
    touch(sessions / "02" / "02" / "rollout-2026-02-02T10-00-00-x.jsonl")
    touch(sessions / "02" / "02" / "rollout-2026-99-99T10-00-00-x.jsonl")
    touch(sessions / "02" / "02" / "rollout-odd.jsonl")
    touch(sessions / "02" / "02" / "other.jsonl")
    claude, codex = find_history({}, tmp_path)
    assert (claude.source, claude.sessions, claude.days) == ("claude-code", 2, 31)
    assert (codex.source, codex.sessions, codex.days) == ("codex", 4, 4)


def test_what_was_read_before_is_not_counted_as_unread(tmp_path: Path) -> None:
    projects = tmp_path / ".claude" / "projects" / "-a"
    touch(projects / "one.jsonl")
    touch(projects / "two.jsonl")
    rollout = tmp_path / ".codex" / "sessions" / "2026" / "rollout-odd.jsonl"
    touch(rollout)
    known = {str(projects / "one.jsonl"), str(rollout)}
    claude, codex = find_history({}, tmp_path, known)
    assert (claude.sessions, claude.unread) == (2, 1)
    assert (codex.sessions, codex.unread) == (1, 0)


def test_the_environment_names_other_places(tmp_path: Path) -> None:
    touch(tmp_path / "c" / "projects" / "-x" / "one.jsonl")
    touch(tmp_path / "x" / "sessions" / "2025" / "rollout-odd.jsonl")
    environ = {"CLAUDE_CONFIG_DIR": str(tmp_path / "c"), "CODEX_HOME": str(tmp_path / "x")}
    found = find_history(environ, tmp_path / "nobody")
    assert [(each.source, each.sessions) for each in found] == [("claude-code", 1), ("codex", 1)]
    assert found[1].days is None
    assert history_folder("other", environ, tmp_path) is None


def test_nothing_is_found_where_nothing_is(tmp_path: Path) -> None:
    (tmp_path / ".claude" / "projects" / "-empty").mkdir(parents=True)
    (tmp_path / ".codex" / "sessions").mkdir(parents=True)
    assert find_history({}, tmp_path) == ()
    assert find_history({}, tmp_path / "nobody") == ()


def test_a_folder_that_cannot_be_listed_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    touch(tmp_path / ".claude" / "projects" / "-a" / "one.jsonl")
    real = os.scandir

    def refuse(target: os.PathLike[str]):
        if str(target).endswith("-a"):
            raise PermissionError(13, "Permission denied")
        return real(target)

    monkeypatch.setattr(os, "scandir", refuse)
    assert find_history({}, tmp_path) == ()


def test_no_session_file_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    touch(tmp_path / ".claude" / "projects" / "-a" / "one.jsonl")

    def refuse(*_: object, **__: object):
        raise AssertionError

    monkeypatch.setattr("builtins.open", refuse)
    monkeypatch.setattr(os, "open", refuse)
    assert len(find_history({}, tmp_path)) == 1


def test_the_packaged_prices_are_a_dated_list() -> None:
    prices = packaged_prices()
    assert prices.as_of
    assert "bill" in prices.note
    assert prices.price("claude-opus-4-5-20251101") is not None
    assert all(price.output >= price.input > 0 for price in prices.models.values())
