"""The trust table as people read it: what `trust.table` answers. Pure."""

from collections.abc import Mapping, Sequence

from gnomon.domain.views import JailLevel, TrustRow
from gnomon.trust.roles import TABLE, RoleTrust


def trust_rows(levels: Mapping[str, JailLevel]) -> Sequence[TrustRow]:
    """Every role; `levels` are those of the roles that ran since the start."""
    return [_row(each, levels.get(each.role)) for each in TABLE]


def _row(trust: RoleTrust, level: JailLevel | None) -> TrustRow:
    return TrustRow(
        role=trust.role,
        life=trust.life,
        may_read=trust.may_read,
        may_write=trust.may_write,
        authors=tuple(author.ledger for author in trust.authors),
        network=trust.network,
        may_exec=trust.may_exec,
        model=trust.model,
        jailed=trust.starts,
        level=level,
    )
