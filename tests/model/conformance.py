"""Admission cases as data, so that the bare model and an endpoint over HTTP can be held to the same ones.

Every case starts on a new table that is scaled to 1/64: a partition writes 15.625 units per second and reads
46.875, and holds one and a half times as much. Few requests suffice, and the arithmetic is exact in binary.
The numbers leave no room for rounding.
"""

from dataclasses import dataclass
from typing import Protocol

from keyheat.model.keyspace import position
from keyheat.model.resources import IndexCapacity, TableCapacity
from keyheat.model.table import IndexWrite, TableModel
from keyheat.words import Capacity

SCALE = 1 / 64
INDEX = "by_tag"
ROOMY = Capacity(400_000, 400_000)  # so many partitions that no key shares one with many others

INDEX_READ_ACCOUNT = "IndexReadAccountLimitExceeded"
INDEX_READ_KEY_RANGE = "IndexReadKeyRangeThroughputExceeded"
INDEX_READ_MAXIMUM = "IndexReadMaxOnDemandThroughputExceeded"
INDEX_READ_PROVISIONED = "IndexReadProvisionedThroughputExceeded"
INDEX_WRITE_ACCOUNT = "IndexWriteAccountLimitExceeded"
INDEX_WRITE_KEY_RANGE = "IndexWriteKeyRangeThroughputExceeded"
INDEX_WRITE_MAXIMUM = "IndexWriteMaxOnDemandThroughputExceeded"
INDEX_WRITE_PROVISIONED = "IndexWriteProvisionedThroughputExceeded"
TABLE_READ_ACCOUNT = "TableReadAccountLimitExceeded"
TABLE_READ_KEY_RANGE = "TableReadKeyRangeThroughputExceeded"
TABLE_READ_MAXIMUM = "TableReadMaxOnDemandThroughputExceeded"
TABLE_READ_PROVISIONED = "TableReadProvisionedThroughputExceeded"
TABLE_WRITE_ACCOUNT = "TableWriteAccountLimitExceeded"
TABLE_WRITE_KEY_RANGE = "TableWriteKeyRangeThroughputExceeded"
TABLE_WRITE_MAXIMUM = "TableWriteMaxOnDemandThroughputExceeded"
TABLE_WRITE_PROVISIONED = "TableWriteProvisionedThroughputExceeded"


class Target(Protocol):
    """A table under test. An answer is DynamoDB's throttling reason, None where the request was served."""

    def write(self, key: str, units: float, at_s: float, tag: str | None) -> str | None:
        """Put an item of `units` KB under a partition key; `tag` is its key in the index, None: not in it."""

    def read(self, key: str, units: float, at_s: float, *, eventual: bool, index: bool) -> str | None:
        """Read one key that holds nothing: 1 unit, or 0.5 if eventual. On the index: query for one tag."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """`times` equal requests at one time, of which `served` are served and the others refused with `reason`.

    `{n}` in `key` and `tag` is the number of the request, counted from 0.
    """

    at_s: float = 0.0
    verb: str = "write"
    key: str = "hot"
    units: float = 1.0
    tag: str | None = None
    times: int = 1
    served: int
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One rule of admission: a table and what it does."""

    name: str
    capacity: TableCapacity
    steps: tuple[Step, ...]


def play(case: Case, target: Target) -> None:
    """Send the steps of a case and hold the target to what they promise."""
    for step in case.steps:
        answers = [_send(step, number, target) for number in range(step.times)]
        served = answers.count(None)
        assert served == step.served, f"{case.name}, {step}: served {served}"
        assert set(answers) <= {None, step.reason}, f"{case.name}, {step}: {set(answers)}"


def _send(step: Step, number: int, target: Target) -> str | None:
    key = step.key.format(n=number)
    if step.verb == "write":
        return target.write(key, step.units, step.at_s, step.tag and step.tag.format(n=number))
    return target.read(key, step.units, step.at_s, eventual=step.units < 1, index=step.verb == "read_index")


class BareModel:
    """The model itself as a target; time starts at `start_s`."""

    def __init__(self, capacity: TableCapacity, *, start_s: float = 1_800_000_000.0, seed: int = 1) -> None:
        self.start_s = start_s
        self.model = TableModel(capacity, now_s=start_s, scale=SCALE, seed=seed)

    def write(self, key: str, units: float, at_s: float, tag: str | None) -> str | None:
        entries = (IndexWrite(INDEX, position(tag.encode(), key.encode()), units),) if tag else ()
        refusal = self.model.admit_write(position(key.encode()), units, self.start_s + at_s, entries)
        return refusal and refusal.reason

    def read(self, key: str, units: float, at_s: float, *, eventual: bool, index: bool) -> str | None:
        refusal = self.model.admit_read(
            position(key.encode()),
            units,
            self.start_s + at_s,
            index=INDEX if index else None,
            eventual=eventual,
        )
        return refusal and refusal.reason


def provisioned(
    read: float, write: float, *, warm: Capacity | None = None, index: IndexCapacity | None = None
) -> TableCapacity:
    """A provisioned table."""
    return TableCapacity(
        provisioned=Capacity(read, write), warm=warm, indexes=() if index is None else (index,)
    )


def on_demand(
    *,
    warm: Capacity | None = None,
    most: Capacity | None = None,
    index: IndexCapacity | None = None,
) -> TableCapacity:
    """An on-demand table; `most` is its own maximum."""
    return TableCapacity(
        billing_mode="PAY_PER_REQUEST",
        warm=warm,
        max_on_demand=most,
        indexes=() if index is None else (index,),
    )


BIG = Capacity(40_000, 40_000)

CASES = (
    Case(
        name="one key writes at its partition's ceiling while the table has room",
        capacity=provisioned(3_000, 4_000),
        steps=(
            Step(times=30, served=23, reason=TABLE_WRITE_KEY_RANGE),
            Step(at_s=0.5, times=12, served=8, reason=TABLE_WRITE_KEY_RANGE),
            Step(at_s=60.0, times=30, served=23, reason=TABLE_WRITE_KEY_RANGE),
        ),
    ),
    Case(
        name="a hot write key leaves the reads of that key alone",
        capacity=provisioned(3_000, 4_000),
        steps=(
            Step(times=30, served=23, reason=TABLE_WRITE_KEY_RANGE),
            Step(verb="read", times=40, served=40),
        ),
    ),
    Case(
        name="strongly consistent reads of one key stop at 3,000 units per second",
        capacity=provisioned(12_000, 100),
        steps=(Step(verb="read", times=80, served=70, reason=TABLE_READ_KEY_RANGE),),
    ),
    Case(
        name="eventually consistent reads of one key reach 4,500 units per second, 9,000 reads",
        capacity=provisioned(12_000, 100),
        steps=(Step(verb="read", units=0.5, times=230, served=210, reason=TABLE_READ_KEY_RANGE),),
    ),
    Case(
        name="a table spends its burst, then writes at its provisioned rate",
        capacity=provisioned(5, 32, warm=ROOMY),
        steps=(
            Step(key="k-{n}", times=160, served=150, reason=TABLE_WRITE_PROVISIONED),
            Step(at_s=64.0, key="k-{n}", times=40, served=32, reason=TABLE_WRITE_PROVISIONED),
        ),
    ),
    Case(
        name="idle time is saved for 300 seconds and no longer",
        capacity=provisioned(5, 32, warm=ROOMY),
        steps=(
            Step(key="k-{n}", times=160, served=150, reason=TABLE_WRITE_PROVISIONED),
            Step(at_s=9_000.0, key="k-{n}", times=160, served=150, reason=TABLE_WRITE_PROVISIONED),
        ),
    ),
    Case(
        name="an item larger than the whole bucket is written when the bucket is full, and then it owes",
        capacity=provisioned(5, 32),
        steps=(
            Step(units=400, served=1),
            Step(at_s=1.0, served=0, reason=TABLE_WRITE_PROVISIONED),
            Step(at_s=9_000.0, units=400, served=1),
        ),
    ),
    Case(
        name="reads stop at the table's provisioned rate once the burst is spent",
        capacity=provisioned(32, 5, warm=ROOMY),
        steps=(Step(verb="read", key="k-{n}", times=160, served=150, reason=TABLE_READ_PROVISIONED),),
    ),
    Case(
        name="one key of a new on-demand table stops at its partition",
        capacity=on_demand(),
        steps=(
            Step(times=30, served=23, reason=TABLE_WRITE_KEY_RANGE),
            Step(verb="read", times=80, served=70, reason=TABLE_READ_KEY_RANGE),
        ),
    ),
    Case(
        name="an on-demand table stops at the maximum set for it",
        capacity=on_demand(most=Capacity(160, 544)),
        steps=(
            Step(times=12, served=8, reason=TABLE_WRITE_MAXIMUM),
            Step(verb="read", times=12, served=2, reason=TABLE_READ_MAXIMUM),
        ),
    ),
    Case(
        name="a warm on-demand table stops at the account's quota for one table",
        capacity=on_demand(warm=ROOMY),
        steps=(
            Step(key="k-{n}", times=640, served=625, reason=TABLE_WRITE_ACCOUNT),
            Step(verb="read", key="k-{n}", times=640, served=625, reason=TABLE_READ_ACCOUNT),
        ),
    ),
    Case(
        name="index writes count towards the table's quota too",
        capacity=on_demand(warm=ROOMY, index=IndexCapacity(name=INDEX, warm=ROOMY)),
        steps=(Step(key="k-{n}", tag="t-{n}", times=320, served=312, reason=INDEX_WRITE_ACCOUNT),),
    ),
    Case(
        name="a small index takes its buffer full of writes and then holds back the whole table",
        capacity=provisioned(
            5, 40_000, warm=ROOMY, index=IndexCapacity(name=INDEX, provisioned=Capacity(5, 1), warm=ROOMY)
        ),
        steps=(
            Step(key="k-{n}", tag="t-{n}", times=320, served=304, reason=INDEX_WRITE_PROVISIONED),
            Step(at_s=1.0, key="x-{n}", times=5, served=0, reason=INDEX_WRITE_PROVISIONED),
            Step(at_s=65.0, key="y-{n}", tag="t-{n}", times=5, served=1, reason=INDEX_WRITE_PROVISIONED),
        ),
    ),
    Case(
        name="one hot index key holds back the whole table once its partition's buffer is full",
        capacity=provisioned(5, 40_000, warm=ROOMY, index=IndexCapacity(name=INDEX, provisioned=BIG)),
        steps=(
            Step(key="k-{n}", tag="hot", times=310, served=287, reason=INDEX_WRITE_KEY_RANGE),
            Step(key="x-{n}", times=5, served=0, reason=INDEX_WRITE_KEY_RANGE),
            Step(at_s=1.0, key="y-{n}", times=5, served=5),
        ),
    ),
    Case(
        name="an index's own on-demand maximum holds back the table",
        capacity=on_demand(
            warm=ROOMY, index=IndexCapacity(name=INDEX, warm=ROOMY, max_on_demand=Capacity(160, 80))
        ),
        steps=(
            Step(key="k-{n}", tag="t-{n}", times=300, served=265, reason=INDEX_WRITE_MAXIMUM),
            Step(verb="read_index", units=0.5, times=12, served=5, reason=INDEX_READ_MAXIMUM),
        ),
    ),
    Case(
        name="reads of one index key stop at the index partition, whatever the table may read",
        capacity=provisioned(40, 5, index=IndexCapacity(name=INDEX, provisioned=Capacity(12_000, 5))),
        steps=(
            Step(verb="read_index", units=0.5, times=230, served=210, reason=INDEX_READ_KEY_RANGE),
            Step(verb="read", times=20, served=20),
        ),
    ),
    Case(
        name="an index reads at its own provisioned rate, and its throttles leave the table's writes alone",
        capacity=provisioned(
            5, 4_000, index=IndexCapacity(name=INDEX, provisioned=Capacity(32, 4_000), warm=ROOMY)
        ),
        steps=(
            Step(
                verb="read_index",
                key="k-{n}",
                units=0.5,
                times=310,
                served=300,
                reason=INDEX_READ_PROVISIONED,
            ),
            Step(tag="t", times=15, served=15),
        ),
    ),
    Case(
        name="reads of an index count towards the table's quota",
        capacity=on_demand(warm=ROOMY, index=IndexCapacity(name=INDEX, warm=ROOMY)),
        steps=(
            Step(
                verb="read_index",
                key="k-{n}",
                units=0.5,
                times=1_260,
                served=1_250,
                reason=INDEX_READ_ACCOUNT,
            ),
        ),
    ),
)
