"""The base of every ledger record.

A *body* is what an author says; the gateway adds the envelope (`seq`, `at`, `kind`,
`schema`, `prev`) when it writes. The tag is `kind`. Fields are flat.
"""

from typing import ClassVar

import msgspec


class Body(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", forbid_unknown_fields=True):
    """What an author writes. `SCHEMA` counts up when a record's fields change."""

    SCHEMA: ClassVar[int] = 1

    @classmethod
    def kind(cls) -> str:
        tag = cls.__struct_config__.tag
        assert isinstance(tag, str)
        return tag
