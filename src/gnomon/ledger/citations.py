"""The heads that the referee's lines cite: what each window was measured from, what each verdict
rests on. `gnomon verify` finds them in the chains that they name.
"""

from collections.abc import Iterator

from gnomon.domain.errors import LedgerError
from gnomon.domain.ledgers import BODIES, LedgerName
from gnomon.domain.records import AnchoredHead, Body
from gnomon.domain.records_change import Judgment
from gnomon.domain.records_referee import Amendment, Gap, Window
from gnomon.home import Home
from gnomon.ledger.places import agents, key, ledgers_of
from gnomon.ledger.reading import LedgerReader

CITING: tuple[LedgerName, ...] = ("judgment-ledger", "fitness-ledger")
REMEMBERED = 1_024
"""Heads that are not given again: an amendment repeats its window's, some days later."""


def cited_heads(home: Home) -> Iterator[tuple[str, AnchoredHead]]:
    """Each cited head with the key of its ledger. Two for each hour that was lived, about.

    Whoever cites is read before what it cites: of a home in use, all that is cited is there.
    A ledger that cannot be read is read as far as it can be; its own walk says what is wrong.
    """
    for agent in agents(home):
        given: dict[tuple[str, tuple[int, str]], None] = {}
        paths = ledgers_of(home.agent(agent))
        for name in CITING:
            reader = LedgerReader(paths[name], name, BODIES[name])
            for cited, head in _read(reader):
                found = (key(agent, cited), (head.seq, head.sha256))
                if head.seq < 1 or found in given:
                    continue
                given[found] = None
                if len(given) > REMEMBERED:
                    del given[next(iter(given))]
                yield found[0], head


def _read(reader: LedgerReader) -> Iterator[tuple[str, AnchoredHead]]:
    try:
        for line in reader.read():
            yield from _of(line.body)
    except LedgerError:
        return


def _of(body: Body) -> Iterator[tuple[str, AnchoredHead]]:
    fitness: LedgerName = "fitness-ledger"
    match body:
        case Window() | Amendment() | Gap():
            yield from body.inputs.items()
        case Judgment():
            yield fitness, body.fitness_head
        case _:
            pass
