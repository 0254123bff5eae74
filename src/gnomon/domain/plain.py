"""Records as plain JSON values: how they go over the pipe, and how what comes is checked."""

from typing import TypeVar, cast

import msgspec

from gnomon.domain.errors import RecordError
from gnomon.domain.json_value import Fields, Json

T = TypeVar("T")


def read(value: Json, type_: type[T]) -> T:
    """The record that a value is. Raises RecordError, naming what does not fit."""
    try:
        return msgspec.convert(value, type_)
    except msgspec.ValidationError as error:
        name = type_.__name__
        raise RecordError(f"This is no {name}: {error}.", kind=name, reason=str(error)) from error


def fields(record: msgspec.Struct) -> Fields:
    """As the pipe takes it."""
    return cast("Fields", msgspec.to_builtins(record))
