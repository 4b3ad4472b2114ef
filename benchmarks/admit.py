"""What one admission costs: microseconds per `admit_write`, recording included, by number of partitions.

python -m benchmarks.admit
"""

from collections.abc import Callable
from random import Random
from statistics import median
from time import perf_counter

from tablemodel.keyspace import position
from tablemodel.resources import IndexCapacity, TableCapacity, Throughput
from tablemodel.table import IndexWrite, TableModel

REQUESTS = 200_000
ROUNDS = 5
START_S = 1_800_000_000.0
REQUESTS_PER_S = 900.0
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
    indexes = (IndexCapacity(name="by_tag", provisioned=Throughput(1, rate)),) if indexed else ()
    capacity = TableCapacity(
        provisioned=Throughput(rate, rate), warm=Throughput(1, partitions * 1_000), indexes=indexes
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


def main() -> None:
    """Print one line per number of partitions."""
    print(f"{'partitions':>10} {'write us':>9} {'read us':>9} {'write + index us':>17}")
    for partitions in (1, 10, 100, 1_000):
        plain = f"{microseconds(write, partitions):>9.2f} {microseconds(read, partitions):>9.2f}"
        print(f"{partitions:>10} {plain} {microseconds(indexed_write, partitions, indexed=True):>17.2f}")


if __name__ == "__main__":
    main()
