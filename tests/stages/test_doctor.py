"""What the doctor says of the model, which a turn would need."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from gnomon.daemon.health.doctor import diagnose
from gnomon.daemon.store.create import ensure_fitness_config
from gnomon.domain.errors import ConfigError
from gnomon.domain.views import Check
from gnomon.home import Home

LOCAL = {"GNOMON_MODEL": "qwen3:8b", "GNOMON_MODEL_URL": "http://localhost:11434/v1"}


def checked(
    tmp_path: Path,
    environ: Mapping[str, str],
    *,
    answers: bool = False,
    name: str = "model",
    in_force: str | None = None,
) -> Check:
    home = Home(tmp_path)
    found = diagnose(
        home,
        home.agent("main"),
        environ,
        jail_level=lambda: "full",
        verify=lambda: (True, ""),
        weights=lambda: None,
        self_tests=lambda: "",
        listens=lambda _: answers,
        fitness_in_force=in_force,
    )
    return next(check for check in found.checks if check.name == name)


def test_a_server_that_does_not_answer_is_a_warning_with_what_to_do(tmp_path: Path) -> None:
    check = checked(tmp_path, LOCAL)
    assert (check.level, check.ok) == ("warning", True)
    assert "nothing answers" in check.detail
    assert "gnomon model list" in check.fix
    assert checked(tmp_path, LOCAL, answers=True).level == "ok"


def test_a_server_elsewhere_is_not_contacted_and_that_is_said(tmp_path: Path) -> None:
    url = "https://api.example.com/v1"
    check = checked(tmp_path, {"GNOMON_MODEL": "big", "GNOMON_MODEL_URL": url})
    assert check.level == "ok"
    assert "not contacted" in check.detail


def test_an_address_alone_is_the_model_in_force(tmp_path: Path) -> None:
    url = LOCAL["GNOMON_MODEL_URL"]
    assert checked(tmp_path, {"GNOMON_MODEL_URL": url}).detail.startswith(f"default at {url}")


@pytest.mark.parametrize(
    ("name", "level", "words"),
    [("none", "ok", "your history"), ("embedded", "error", "weights"), ("x", "error", "address")],
)
def test_a_choice_without_a_server_is_judged_by_itself(
    tmp_path: Path, name: str, level: str, words: str
) -> None:
    check = checked(tmp_path, {"GNOMON_MODEL": name})
    assert check.level == level
    assert words in check.detail


def test_the_rules_of_the_measure_are_checked_also_before_a_start_needs_them(
    tmp_path: Path,
) -> None:
    agent = Home(tmp_path).agent("main")
    assert checked(tmp_path, {}, name="fitness-config").level == "ok"
    agent.kernel.mkdir(parents=True)
    agent.fitness_config.write_text('{"k_window": 4}')
    check = checked(tmp_path, {}, name="fitness-config")
    assert (check.level, check.ok) == ("error", False)
    assert check.detail.startswith(f"{agent.fitness_config} cannot be used: there is no key")
    with pytest.raises(ConfigError) as refused:
        ensure_fitness_config(agent)
    assert refused.value.message == check.detail
    assert refused.value.facts["file"] == str(agent.fitness_config)


def test_rules_that_were_edited_while_it_runs_are_said_to_wait_for_the_next_start(
    tmp_path: Path,
) -> None:
    agent = Home(tmp_path).agent("main")
    agent.kernel.mkdir(parents=True)
    in_force = ensure_fitness_config(agent).sha256
    now = checked(tmp_path, {}, name="fitness-config", in_force=in_force)
    assert (now.level, now.detail) == ("ok", str(agent.fitness_config))
    agent.fitness_config.write_text('{"k_windows": 4}')
    check = checked(tmp_path, {}, name="fitness-config", in_force=in_force)
    assert check.level == "warning"
    assert "in force at the next start" in check.detail
