"""The model broker's counters as they were left, or counted anew where their file is damaged."""

from gnomon.brokers.model_budget import Limits, Now, recounted
from gnomon.brokers.model_gate import BrokerState
from gnomon.daemon.store.memo import Memo
from gnomon.daemon.store.stores import Stores
from gnomon.domain.instants import DAY, Millis
from gnomon.domain.records import Spend

FILE = "model-broker.json"
THEN = (
    "What was spent today is counted from the spend ledger; the background's share of this hour "
    "counts as used."
)


def broker_state(memo: Memo, stores: Stores, limits: Limits) -> BrokerState | None:
    """Null at a first start. Raises StateError for a damaged file that cannot be moved away."""
    there = memo.has(FILE)
    state = memo.load_or_set_aside(FILE, BrokerState, THEN)
    if state is not None or not there:
        return state
    now = Now(stores.clock.wall(), stores.clock.boottime())
    midnight = Millis(now.wall // DAY * DAY)
    lines = stores.files["spend-ledger"].read_range(midnight)
    spent = (line.body for line in lines if isinstance(line.body, Spend))
    counted = BrokerState(
        saved_wall=now.wall, saved_boot=now.boot, budget=recounted(spent, limits, now)
    )
    memo.save(FILE, counted)
    return counted
