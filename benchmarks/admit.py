"""What one admission costs: microseconds per `admit_write`, recording included, by number of partitions.

python -m benchmarks.admit
"""

import sys
from collections.abc import Callable
from math import log2
from random import Random
from statistics import median
from time import perf_counter

from benchmarks._table import Row, show
from keyheat.model.resources import IndexCapacity, TableCapacity
from keyheat.model.splits import position
from keyheat.model.table import IndexWrite, TableModel
from keyheat.words import Capacity

REQUESTS = 200_000
ROUNDS = 5
START_S = 1_800_000_000.0
REQUESTS_PER_S = 900.0
PARTITIONS = (1, 10, 100, 1_000)
POSITIONS = [position(f"key-{n}".encode()) for n in range(10_000)]

Request = Callable[[TableModel, bytes, float], object]


def write(model: TableModel, at: bytes, now_s: float) -> object:
    """One write of one unit to a table without indexes."""
    return model.admit_write(at, 1.0, now_s)


def read(model: TableModel, at: bytes, now_s: float) -> object:
    """One strongly consistent read of one unit."""
    return model.admit_read(at, 1.0, now_s)


def indexed_write(model: TableModel, at: bytes, now_s: float) -> object:
    """One write of one unit with one index entry."""
    return model.admit_write(at, 1.0, now_s, (IndexWrite("by_tag", at, 1.0),))


def microseconds(request: Request, partitions: int, *, indexed: bool = False) -> float:
    """The median over some rounds of what one request costs, in microseconds."""
    rate = partitions * 900.0
    indexes = (IndexCapacity(name="by_tag", provisioned=Capacity(1, rate)),) if indexed else ()
    capacity = TableCapacity(
        provisioned=Capacity(rate, rate), warm=Capacity(1, partitions * 1_000), indexes=indexes
    )
    rng = Random(1)
    positions = [rng.choice(POSITIONS) for _ in range(REQUESTS)]
    costs = []
    for _ in range(ROUNDS):
        model = TableModel(capacity, now_s=START_S)
        begin = perf_counter()
        for number, at in enumerate(positions):
            request(model, at, START_S + number / REQUESTS_PER_S)
        costs.append((perf_counter() - begin) / REQUESTS * 1e6)
    return median(costs)


def rows() -> list[Row]:
    """Measure at four sizes; the last row is how cost grows from 1 partition to 1,000."""
    costs = {partitions: microseconds(write, partitions) for partitions in PARTITIONS}
    found = [
        Row(what=f"admit a write, partitions: {partitions:,}", measured=cost, unit="us",
            at_most=3 if partitions == 100 else None)
        for partitions, cost in costs.items()
    ]  # fmt: skip
    growth = costs[PARTITIONS[-1]] / costs[PARTITIONS[0]]
    return [
        *found,
        Row(what="admit a read, 100 partitions", measured=microseconds(read, 100), unit="us", at_most=3),
        Row(what="a write and its index entry, 100", measured=microseconds(indexed_write, 100, indexed=True),
            unit="us"),
        Row(what="cost at 1,000 partitions over cost at 1", measured=growth, unit="times",
            at_most=log2(PARTITIONS[-1]), note="log2(1,000) = 10: no faster than a binary search"),
    ]  # fmt: skip


def main() -> int:
    """Measure and print; 0 where every bound is kept."""
    return 0 if show("The model alone: admission, with minutes and decisions recorded", rows()) else 1


if __name__ == "__main__":
    sys.exit(main())
