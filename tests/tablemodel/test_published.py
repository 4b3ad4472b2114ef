"""What others measured on real tables, as far as the model is meant to repeat it.

Each row names its source. The numbers are theirs, the tolerance says how closely the model is held to them.
"""

from random import Random

import pytest

from tablemodel.keyspace import position
from tablemodel.partitions import provisioned_partitions
from tablemodel.resources import IndexCapacity, TableCapacity, Throughput
from tablemodel.table import IndexWrite, TableModel

T0 = 1_800_000_000.0
ON_DEMAND = TableCapacity(billing_mode="PAY_PER_REQUEST")


def table(write: float, read: float = 5.0) -> TableModel:
    return TableModel(TableCapacity(provisioned=Throughput(read, write)), now_s=T0)


def test_a_saved_reserve_of_45000_units_lasts_15_minutes_at_200_reads_per_second() -> None:
    """https://repost.aws/knowledge-center/dynamodb-spiky-workloads-short-intervals"""
    model = table(5, read=150)
    keys = [position(f"k-{n}".encode()) for n in range(50)]
    first_throttle_s = next(
        second
        for second in range(2_000)
        for n in range(50)
        if model.admit_read(keys[n], 4.0, T0 + second) is not None
    )
    assert first_throttle_s == pytest.approx(900, abs=3)


def test_five_seconds_of_546_writes_on_100_units_fit_the_burst() -> None:
    """https://github.com/mapbox/cardboard/issues/184"""
    model = table(100)
    assert all(model.admit_write(position(b"one"), 1.0, T0 + n / 546) is None for n in range(2_730))


def test_a_400_kb_item_fits_a_new_table_of_5_units() -> None:
    """https://github.com/paritysuite/dynamodb-conformance/pull/43"""
    model = table(5)
    assert model.admit_write(position(b"one"), 400.0, T0) is None
    refusals = [model.admit_write(position(b"one"), 400.0, T0 + 1 + n) for n in range(6)]
    assert {r.reason for r in refusals if r} == {"TableWriteProvisionedThroughputExceeded"}


def test_a_new_table_of_1_unit_serves_large_items_and_then_blames_the_table() -> None:
    """https://github.com/radkawar/stackd, testdata/aws/dynamodb/fresh_provisioned_throttling.json"""
    model = table(1)
    one = position(b"one")
    answers = [model.admit_write(one, 350.0, T0), model.admit_write(one, 351.0, T0 + 1.73)]
    answers += [model.admit_write(one, 351.0, T0 + 2.33) for _ in range(12)]
    served = 350 + 351 * (answers.count(None) - 1)
    assert served == pytest.approx(1_754, rel=0.25)
    assert {answer.reason for answer in answers if answer} == {"TableWriteProvisionedThroughputExceeded"}


def test_an_index_of_1_unit_takes_19560_writes_in_a_minute_and_then_holds_back_its_table() -> None:
    """https://github.com/aws-samples/amazon-dynamodb-labs, design-patterns, ex1capacity, step 7"""
    index = IndexCapacity(name="GSI_1", provisioned=Throughput(1, 1))
    capacity = TableCapacity(provisioned=Throughput(1_000, 1_000), indexes=(index,))
    model = TableModel(capacity, now_s=T0)
    hosts = [position(f"host-{n}".encode()) for n in range(200)]
    rng = Random(1)
    answers = [
        model.admit_write(
            position(b"%d" % n), 1.0, T0 + n / 340, (IndexWrite("GSI_1", rng.choice(hosts), 1.0),)
        )
        for n in range(340 * 60)
    ]
    assert answers.count(None) == pytest.approx(19_560, rel=0.01)
    assert {answer.reason for answer in answers if answer} == {"IndexWriteProvisionedThroughputExceeded"}


def test_eventually_consistent_queries_of_one_key_reach_9000_per_second() -> None:
    """AWS database blog, "Scaling DynamoDB", part 2"""
    model = TableModel(ON_DEMAND, now_s=T0)
    served = sum(
        model.admit_read(position(b"one"), 0.5, T0 + n / 12_000, eventual=True) is None
        for n in range(12_000 * 10)
    )
    assert served / 10 == pytest.approx(9_000, rel=0.11)


def test_nine_hundred_writes_per_second_on_one_key_do_not_throttle() -> None:
    """A public test of 2020: 900 write units per second on one partition key for ten minutes."""
    model = TableModel(ON_DEMAND, now_s=T0)
    rng = Random(1)
    assert all(
        model.admit_write(position(b"one", rng.randbytes(4)), 25.0, T0 + n / 36) is None
        for n in range(36 * 600)
    )


@pytest.mark.parametrize(("asked_per_s", "clean"), [(3_000, True), (5_000, False), (9_000, False)])
def test_a_new_on_demand_table_serves_3000_writes_and_no_more_than_about_4000(
    asked_per_s: int, clean: bool
) -> None:
    """A public test of 2019: new tables, random keys, ramps within a minute. Here at a tenth of the rates."""
    model = TableModel(ON_DEMAND, now_s=T0, scale=0.1)
    rng = Random(1)
    seconds = 20
    served = sum(
        model.admit_write(position(rng.randbytes(8)), 1.0, T0 + n * 10 / asked_per_s) is None
        for n in range(asked_per_s * seconds // 10)
    )
    assert clean == (served == asked_per_s * seconds // 10)
    assert served * 10 / seconds <= 4_000 * 1.06


def test_1500_write_units_take_two_partitions() -> None:
    """https://github.com/qyjohn/DDBHotKey"""
    assert provisioned_partitions(Throughput(5, 1_500)) == 2


@pytest.mark.parametrize(
    ("capacity", "read", "write"),
    [(ON_DEMAND, 12_000, 4_000), (TableCapacity(provisioned=Throughput(1, 1)), 1, 1)],
)
def test_warm_throughput_of_new_tables(capacity: TableCapacity, read: float, write: float) -> None:
    """https://github.com/radkawar/stackd"""
    assert TableModel(capacity, now_s=T0).warm_throughput() == (read, write)


@pytest.mark.parametrize(
    ("before", "read", "write"), [((24_000, 8_000), 24_000, 8_000), ((10, 10_000), 12_000, 10_000)]
)
def test_a_table_that_turns_on_demand_keeps_its_highest_provisioned_level(
    before: tuple[float, float], read: float, write: float
) -> None:
    """https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-switching-capacity-modes.html"""
    model = TableModel(TableCapacity(provisioned=Throughput(*before)), now_s=T0)
    model.change_capacity(TableCapacity(provisioned=Throughput(10, 10)), T0 + 600)
    model.change_capacity(ON_DEMAND, T0 + 1_200)
    assert model.warm_throughput() == (read, write)
