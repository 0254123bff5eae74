"""What the doctor says of the model, which a turn would need."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from gnomon.daemon.health.doctor import diagnose
from gnomon.domain.views import Check
from gnomon.home import Home

LOCAL = {"GNOMON_MODEL": "qwen3:8b", "GNOMON_MODEL_URL": "http://localhost:11434/v1"}


def checked(tmp_path: Path, environ: Mapping[str, str], *, answers: bool = False) -> Check:
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
    )
    return next(check for check in found.checks if check.name == "model")


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
