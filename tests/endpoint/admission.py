"""Admission cases as data: what tables serve, and with which reason they refuse the rest.

Every case starts on a new table that is scaled to 1/64: a partition writes 15.625 units per second and reads
46.875, and holds one and a half times as much. Few requests suffice, and the arithmetic is exact in binary.
The numbers leave no room for rounding.
"""

from dataclasses import dataclass
from typing import Any

from keyheat.model.resources import IndexCapacity, TableCapacity
from keyheat.words import Capacity

SCALE = 1 / 64
INDEX = "by_tag"
ROOMY = Capacity(400_000, 400_000)  # so many partitions that no key shares one with many others


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


def play(case: Case, target: Any) -> None:
    """Send the steps of a case to `target`, whose `write` and `read` return a throttle's reason or None."""
    for step in case.steps:
        answers = [_send(step, number, target) for number in range(step.times)]
        served = answers.count(None)
        assert served == step.served, f"{case.name}, {step}: served {served}"
        assert set(answers) <= {None, step.reason}, f"{case.name}, {step}: {set(answers)}"


def _send(step: Step, number: int, target: Any) -> str | None:
    key = step.key.format(n=number)
    if step.verb == "write":
        return target.write(key, step.units, step.at_s, step.tag and step.tag.format(n=number))
    return target.read(key, step.units, step.at_s, eventual=step.units < 1, index=step.verb == "read_index")


def index_of(capacity: Capacity | None = None, **more: Any) -> dict[str, Any]:
    """An index of a table: provisioned, where it has a capacity."""
    return {"indexes": (IndexCapacity(name=INDEX, provisioned=capacity, **more),)}


def provisioned(read: float, write: float, **more: Any) -> TableCapacity:
    return TableCapacity(provisioned=Capacity(read, write), **more)


def on_demand(**more: Any) -> TableCapacity:
    return TableCapacity(billing_mode="PAY_PER_REQUEST", **more)


def writes(times: int, served: int, reason: str | None = None, **more: Any) -> Step:
    """Writes to the table, of the key `hot` where no other is named; `reason` without its end."""
    return Step(times=times, served=served, reason=reason and f"{reason}Exceeded", **more)


def spread(times: int, served: int, reason: str | None = None, key: str = "k", **more: Any) -> Step:
    """Writes, each of a key of its own."""
    return writes(times, served, reason, key=key + "-{n}", **more)


BIG = Capacity(40_000, 40_000)
TABLE_WRITE_KEYS, TABLE_READ_KEYS = "TableWriteKeyRangeThroughput", "TableReadKeyRangeThroughput"
INDEX_WRITE_KEYS, INDEX_READ_KEYS = "IndexWriteKeyRangeThroughput", "IndexReadKeyRangeThroughput"
TABLE_WRITES, INDEX_WRITES = "TableWriteProvisionedThroughput", "IndexWriteProvisionedThroughput"
READ, EVENTUAL = {"verb": "read"}, {"verb": "read", "units": 0.5}
QUERY = {"verb": "read_index", "units": 0.5}

CASES = (
    Case(name="one key writes at its partition's ceiling while the table has room",
     capacity=provisioned(3_000, 4_000),
     steps=(writes(30, 23, TABLE_WRITE_KEYS), writes(12, 8, TABLE_WRITE_KEYS, at_s=0.5),
     writes(30, 23, TABLE_WRITE_KEYS, at_s=60.0))),
    Case(name="a hot write key leaves the reads of that key alone", capacity=provisioned(3_000, 4_000),
     steps=(writes(30, 23, TABLE_WRITE_KEYS), writes(40, 40, **READ))),
    Case(name="strongly consistent reads of one key stop at 3,000 units per second",
     capacity=provisioned(12_000, 100), steps=(writes(80, 70, TABLE_READ_KEYS, **READ),)),
    Case(name="eventually consistent reads of one key reach 4,500 units per second, 9,000 reads",
     capacity=provisioned(12_000, 100), steps=(writes(230, 210, TABLE_READ_KEYS, **EVENTUAL),)),
    Case(name="a table spends its burst, then writes at its provisioned rate",
     capacity=provisioned(5, 32, warm=ROOMY),
     steps=(spread(160, 150, TABLE_WRITES), spread(40, 32, TABLE_WRITES, at_s=64.0))),
    Case(name="idle time is saved for 300 seconds and no longer", capacity=provisioned(5, 32, warm=ROOMY),
     steps=(spread(160, 150, TABLE_WRITES), spread(160, 150, TABLE_WRITES, at_s=9_000.0))),
    Case(name="an item larger than the whole bucket is written when the bucket is full, and then it owes",
     capacity=provisioned(5, 32),
     steps=(writes(1, 1, units=400), writes(1, 0, TABLE_WRITES, at_s=1.0),
     writes(1, 1, units=400, at_s=9_000.0))),
    Case(name="reads stop at the table's provisioned rate once the burst is spent",
     capacity=provisioned(32, 5, warm=ROOMY),
     steps=(spread(160, 150, "TableReadProvisionedThroughput", **READ),)),
    Case(name="an on-demand table stops at the maximum set for it",
     capacity=on_demand(max_on_demand=Capacity(160, 544)),
     steps=(writes(12, 8, "TableWriteMaxOnDemandThroughput"),
     writes(12, 2, "TableReadMaxOnDemandThroughput", **READ))),
    Case(name="a warm on-demand table stops at the account's quota for one table",
     capacity=on_demand(warm=ROOMY),
     steps=(spread(640, 625, "TableWriteAccountLimit"), spread(640, 625, "TableReadAccountLimit", **READ))),
    Case(name="index writes count towards the table's quota too",
     capacity=on_demand(warm=ROOMY, **index_of(warm=ROOMY)),
     steps=(spread(320, 312, "IndexWriteAccountLimit", tag="t-{n}"),)),
    Case(name="a small index takes its buffer full of writes and then holds back the whole table",
     capacity=provisioned(5, 40_000, warm=ROOMY, **index_of(Capacity(5, 1), warm=ROOMY)),
     steps=(spread(320, 304, INDEX_WRITES, tag="t-{n}"), spread(5, 0, INDEX_WRITES, key="x", at_s=1.0),
     spread(5, 1, INDEX_WRITES, key="y", tag="t-{n}", at_s=65.0))),
    Case(name="one hot index key holds back the whole table once its partition's buffer is full",
     capacity=provisioned(5, 40_000, warm=ROOMY, **index_of(BIG)),
     steps=(spread(310, 287, INDEX_WRITE_KEYS, tag="hot"), spread(5, 0, INDEX_WRITE_KEYS, key="x"),
     spread(5, 5, key="y", at_s=1.0))),
    Case(name="an index's own on-demand maximum holds back the table",
     capacity=on_demand(warm=ROOMY, **index_of(warm=ROOMY, max_on_demand=Capacity(160, 80))),
     steps=(spread(300, 265, "IndexWriteMaxOnDemandThroughput", tag="t-{n}"),
     writes(12, 5, "IndexReadMaxOnDemandThroughput", **QUERY))),
    Case(name="reads of one index key stop at the index partition, whatever the table may read",
     capacity=provisioned(40, 5, **index_of(Capacity(12_000, 5))),
     steps=(writes(230, 210, INDEX_READ_KEYS, **QUERY), writes(20, 20, **READ))),
    Case(name="an index reads at its own provisioned rate, and its throttles leave the table's writes alone",
     capacity=provisioned(5, 4_000, **index_of(Capacity(32, 4_000), warm=ROOMY)),
     steps=(spread(310, 300, "IndexReadProvisionedThroughput", **QUERY), writes(15, 15, tag="t"))),
    Case(name="one key of an on-demand index stops at its partition, and its writes hold back the table",
     capacity=on_demand(warm=ROOMY, **index_of(warm=BIG)),
     steps=(writes(230, 210, INDEX_READ_KEYS, **QUERY), spread(310, 287, INDEX_WRITE_KEYS, tag="hot"))),
    Case(name="reads of an index count towards the table's quota",
     capacity=on_demand(warm=ROOMY, **index_of(warm=ROOMY)),
     steps=(spread(1_260, 1_250, "IndexReadAccountLimit", **QUERY),)),
)  # fmt: skip
