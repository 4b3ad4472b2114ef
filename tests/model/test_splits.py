"""Heat over minutes of virtual time, at a small scale so that few requests tell."""

from collections.abc import Callable
from random import Random

from keyheat.model.resources import TableCapacity
from keyheat.model.splits import position
from keyheat.model.table import TableModel

T0 = 1_800_000_020.0
SCALE = 0.01  # a partition writes 10 units per second
MINUTES = 60


def write(at: Callable[[bytes], bytes], *, per_s: float, seconds: float) -> tuple[TableModel, list[bool]]:
    """An on-demand table after these writes, and which were served; `at` makes a position of random bytes."""
    model, rng = TableModel(TableCapacity(billing_mode="PAY_PER_REQUEST"), now_s=T0, scale=SCALE), Random(11)
    return model, [
        model.admit_write(at(rng.randbytes(8)), 1.0, T0 + number / per_s) is None
        for number in range(int(per_s * seconds))
    ]


def under_one_key(sort_key: bytes) -> bytes:
    return position(b"one", sort_key)


def test_random_sort_keys_split_within_minutes_and_the_throttles_end() -> None:
    model, served = write(under_one_key, per_s=14, seconds=30 * MINUTES)
    assert model.partition_count() > 4
    assert not all(served[: 14 * 4 * MINUTES]), "it throttles at first"
    assert all(served[-14 * 5 * MINUTES :]), "and no longer in the end"


def test_a_partition_near_its_ceiling_splits_before_it_throttles() -> None:
    model, served = write(under_one_key, per_s=9, seconds=11 * MINUTES)
    assert all(served)
    assert model.partition_count() == 5


def test_an_on_demand_table_grows_past_its_peak_within_minutes() -> None:
    model, served = write(position, per_s=60, seconds=20 * MINUTES)
    assert sum(served[: 60 * MINUTES]) < 0.72 * 60 * MINUTES, "4,000 of 6,000 writes per second"
    assert sum(served[-60 * MINUTES :]) > 0.95 * 60 * MINUTES
    assert model.warm_throughput()[1] >= 7_000
