"""Heat over minutes of virtual time, at a small scale so that few requests tell."""

from random import Random

from keyheat.model.keyspace import position
from keyheat.model.resources import TableCapacity
from keyheat.model.table import TableModel

T0 = 1_800_000_020.0
SCALE = 0.01  # a partition writes 10 units per second
MINUTES = 60


def write_random_sort_keys(*, per_s: float, seconds: float) -> tuple[TableModel, list[bool]]:
    """An on-demand table after these writes under one partition key, and which of them it served."""
    model, rng = TableModel(TableCapacity(billing_mode="PAY_PER_REQUEST"), now_s=T0, scale=SCALE), Random(11)
    return model, [
        model.admit_write(position(b"one", rng.randbytes(8)), 1.0, T0 + number / per_s) is None
        for number in range(int(per_s * seconds))
    ]


def test_random_sort_keys_split_within_minutes_and_the_throttles_end() -> None:
    model, served = write_random_sort_keys(per_s=14, seconds=30 * MINUTES)
    assert model.partition_count() > 4
    assert not all(served[: 14 * 4 * MINUTES]), "it throttles at first"
    assert all(served[-14 * 5 * MINUTES :]), "and no longer in the end"


def test_a_partition_near_its_ceiling_splits_before_it_throttles() -> None:
    model, served = write_random_sort_keys(per_s=9, seconds=11 * MINUTES)
    assert all(served)
    assert model.partition_count() == 5
