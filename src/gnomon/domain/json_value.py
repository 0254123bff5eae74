"""The type of any JSON value, for the seams where no record is built yet (pipe, codec)."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, Union

if TYPE_CHECKING:
    Json: TypeAlias = Union[bool, int, float, str, Sequence["Json"], Mapping[str, "Json"], None]
    """What a decoder gives. It goes no further than the codec or the pipe."""

    Fields: TypeAlias = Mapping[str, Json]
    """A JSON object."""
else:
    # msgspec reads annotations at run time and cannot follow a type that names itself; a
    # value in such a field is any JSON value, which the decoder has seen to already.
    Json = Any
    Fields = Mapping[str, Any]
