"""Heat and growth over minutes of virtual time, at a small scale so that few requests tell."""

from collections.abc import Callable
from random import Random

from keyheat.model.keyspace import position
from keyheat.model.resources import TableCapacity
from keyheat.model.table import TableModel
from keyheat.words import Capacity

T0 = 1_800_000_020.0
SCALE = 0.01  # a partition writes 10 units per second
ON_DEMAND = TableCapacity(billing_mode="PAY_PER_REQUEST")
MINUTES = 60

Positions = Callable[[Random, float], bytes]


def random_sort_key(rng: Random, at_s: float) -> bytes:
    return position(b"one", rng.randbytes(8))


def even_keys(rng: Random, at_s: float) -> bytes:
    return position(rng.randbytes(8))


def drive(
    model: TableModel,
    keys: Positions,
    *,
    per_s: float,
    seconds: float,
    start_s: float = 0.0,
    units: float = 1.0,
) -> list[bool]:
    rng = Random(11)
    times = [start_s + n / per_s for n in range(int(per_s * seconds))]
    return [model.admit_write(keys(rng, at_s), units, T0 + at_s) is None for at_s in times]


def test_random_sort_keys_split_within_minutes_and_the_throttles_end() -> None:
    model = TableModel(ON_DEMAND, now_s=T0, scale=SCALE)
    served = drive(model, random_sort_key, per_s=14, seconds=30 * MINUTES)
    assert model.partition_count() > 4
    assert not all(served[: 14 * 4 * MINUTES]), "it throttles at first"
    assert all(served[-14 * 5 * MINUTES :]), "and no longer in the end"


def test_a_partition_near_its_ceiling_splits_before_it_throttles() -> None:
    model = TableModel(ON_DEMAND, now_s=T0, scale=SCALE)
    assert all(drive(model, random_sort_key, per_s=9, seconds=11 * MINUTES))
    assert model.partition_count() == 5


def test_an_on_demand_table_grows_past_its_peak_within_minutes() -> None:
    model = TableModel(ON_DEMAND, now_s=T0, scale=SCALE)
    first = drive(model, even_keys, per_s=60, seconds=3 * MINUTES)
    assert sum(first) / len(first) < 0.72, "4,000 of 6,000 writes per second"
    assert model.minutes is not None
    drive(model, even_keys, per_s=60, seconds=17 * MINUTES, start_s=3 * MINUTES)
    assert model.partition_count() >= 8
    assert model.warm_throughput()[1] >= 7_000
    later = drive(model, even_keys, per_s=60, seconds=2 * MINUTES, start_s=20 * MINUTES)
    assert sum(later) / len(later) > 0.95


def test_a_partition_may_use_whatever_the_table_has_left() -> None:
    # 400 units over 4 partitions, one of them asked for 150: nothing throttles since capacity adapts at once.
    capacity = TableCapacity(provisioned=Capacity(1, 400), warm=Capacity(1, 4_000))
    model = TableModel(capacity, now_s=T0)
    keys = [bytes([64 * part]) + bytes(7) for part in range(4)]
    for second in range(400):
        for key, units in zip(keys, (50, 50, 50, 150), strict=True):
            assert all(model.admit_write(key, 10.0, T0 + second) is None for _ in range(units // 10))
