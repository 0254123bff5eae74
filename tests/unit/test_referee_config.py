"""fitness-config.json: the locked values, and no other words."""

import hashlib
import json
import math

import pytest

from gnomon.domain.errors import ConfigError
from gnomon.referee.config import FitnessConfig, Weights, default_text, parse


def test_the_default_file_says_the_locked_values() -> None:
    said = json.loads(default_text())
    assert said["window_seconds"] == 3600
    assert said["min_reflections_for_valid_window"] == 5
    assert said["weights"] == {"repeat": 0.5, "cooldown": 0.3, "concern": 0.2}
    assert (said["M_min"], said["horizon_seconds"]) == (3, 86_400)
    assert (said["k_windows"], said["delta"], said["epsilon"]) == (10, 0.05, 0.02)
    assert (said["deadline_days"], said["rule"], said["dev_mode"]) == (7, "seed", False)
    assert (said["length_floor_tokens"], said["growth_max"]) == (500, 0.15)
    assert (said["refiner_every_ticks"], said["refiner_every_hours"]) == (100, 4)
    assert said["unavailable_gap_seconds"] == 300
    assert said["concern_similarity"] == {"shared_words": 3, "shared_part": 0.45}
    assert said["repeat_similarity"] == {"shared_words": 3, "shared_part": 0.45}
    assert "refiner_model" in said
    assert parse(default_text()).config == FitnessConfig()


def test_component_weights_sum_to_one() -> None:
    assert Weights().total == 1


def test_what_is_left_out_has_its_locked_value_and_the_hash_is_of_the_bytes() -> None:
    loaded = parse('{"window_seconds": 60}')
    assert loaded.config == FitnessConfig(window_seconds=60)
    assert loaded.sha256 == hashlib.sha256(b'{"window_seconds": 60}').hexdigest()
    assert loaded.config.window_ms == 60_000
    assert FitnessConfig().wall_ms == 72 * 3_600_000


@pytest.mark.parametrize(
    ("text", "key", "said"),
    [
        ('{"window_second": 60}', "window_second", "'window_seconds' is one"),
        ('{"quux": 1}', "quux", "no key"),
        ('{"weights": {"repeet": 0.5}}', "weights.repeet", "'repeat' is one"),
        ('{"weights": {"repeat": 0.6}}', "weights", "sum to 1.1"),
        ('{"weights": {"repeat": 1.2, "concern": -0.5}}', "weights.repeat", "<= 1"),
        ('{"weights": {"repeat": 0.5, "repeat": 0.5}}', "repeat", "twice"),
        ('{"weights": 3}', "weights", "object"),
        ('{"M_min": 0}', "M_min", ">= 1"),
        ('{"M_min": "3"}', "M_min", "int"),
        ('{"delta": 1.5}', "delta", "<= 1"),
        ('{"delta": NaN}', "delta", "float"),
        ('{"refiner_every_hours": Infinity}', "refiner_every_hours", "float"),
        ('{"horizon_seconds": 0}', "horizon_seconds", ">= 1"),
        ('{"window_seconds": 3601}', "window_seconds", "day"),
        ('{"rule": ""}', "rule", "length"),
        ('{"delta": 0.1, "delta": 0.2}', "delta", "twice"),
    ],
)
def test_a_wrong_key_is_an_error_that_names_it(text: str, key: str, said: str) -> None:
    with pytest.raises(ConfigError, match=r"^fitness-config\.json ") as caught:
        parse(text)
    assert caught.value.facts["key"] == key
    assert said in str(caught.value)


@pytest.mark.parametrize("text", ["", "[]", "{", "null", "[" * 100_000, "1" * 5_000])
def test_what_is_no_json_object_is_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        parse(text)


def test_weights_that_sum_to_one_but_for_rounding_are_taken() -> None:
    loaded = parse('{"weights": {"repeat": 0.1, "cooldown": 0.2, "concern": 0.7}}')
    assert math.isclose(loaded.config.weights.total, 1)
