"""What an outcome looks like: status, words, lines."""

import msgspec
import pytest

from gnomon.domain import errors
from gnomon.gateway import answer


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (errors.UsageError("x"), 400),
        (errors.ConfigError("x"), 400),
        (answer.UnauthorisedError("x"), 401),
        (errors.TrustError("x"), 403),
        (answer.ForbiddenError("x"), 403),
        (errors.ToolNotFoundError("x"), 404),
        (answer.NotFoundError("x"), 404),
        (answer.MethodError("x"), 405),
        (errors.HomeLockedError("x"), 409),
        (errors.PausedError("x"), 409),
        (errors.NeedsOperatorError("x"), 409),
        (answer.TooLargeError("x"), 413),
        (answer.MediaTypeError("x"), 415),
        (errors.BudgetError("x"), 429),
        (answer.TooManyTriesError("x"), 429),
        (errors.LedgerCorruptError("x"), 500),
        (ValueError("x"), 500),
        (errors.ModelAuthError("x"), 502),
        (errors.NoModelError("x"), 503),
        (errors.BreakerOpenError("x"), 503),
        (errors.LedgerClosedError("x"), 503),
        (answer.BusyError("x"), 503),
        (errors.ModelTimeoutError("x"), 504),
    ],
)
def test_the_nearest_class_decides_the_status(error: Exception, status: int):
    assert answer.status_of(error) == status


def test_a_failure_says_what_happened_and_what_to_do():
    error = errors.PausedError("It is paused.", next_step="Run `gnomon resume`.", until="noon")
    assert msgspec.json.decode(answer.failure(error)) == {
        "err": {
            "code": "paused",
            "message": "It is paused.",
            "next_step": "Run `gnomon resume`.",
            "facts": {"until": "noon"},
        }
    }


def test_an_error_that_nobody_foresaw_gives_nothing_away():
    said = answer.failure(ValueError("/home/ada/secret")).decode()
    assert "secret" not in said
    assert '"code":"internal"' in said


def test_a_stream_is_lines_that_end_in_ok_or_err():
    assert answer.part_line({"text": "a\nb"}) == b'{"part":{"text":"a\\nb"}}\n'
    assert answer.ok_line([1]) == b'{"ok":[1]}\n'
    assert answer.failure_line(errors.UsageError("x")).startswith(b'{"err":{"code":"usage"')
    assert answer.success(None) == b"null"
