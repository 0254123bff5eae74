"""The type of any JSON value, for the seams where no record is built yet (pipe, codec)."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias, Union

Json: TypeAlias = Union[bool, int, float, str, Sequence["Json"], Mapping[str, "Json"], None]
"""What a decoder gives. It goes no further than the codec or the pipe."""

Fields: TypeAlias = Mapping[str, Json]
"""A JSON object."""
