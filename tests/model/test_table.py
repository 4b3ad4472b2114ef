"""A table as requests meet it: conservation of units, transactions, capacity changes."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keyheat.model.resources import Cause, IndexCapacity, Refusal, TableCapacity
from keyheat.model.splits import position
from keyheat.model.table import IndexWrite, Op, TableModel
from keyheat.words import Capacity, Direction

T0 = 1_800_000_000.0
GSI = "by_tag"

throughputs = st.builds(Capacity, st.integers(1, 3_000), st.integers(1, 3_000))
indexes = st.lists(st.builds(IndexCapacity, name=st.just(GSI), provisioned=throughputs), max_size=1)
capacities = st.one_of(
    st.builds(TableCapacity, provisioned=throughputs, indexes=indexes.map(tuple), has_lsi=st.booleans()),
    st.builds(
        TableCapacity,
        billing_mode=st.just("PAY_PER_REQUEST"),
        max_on_demand=st.one_of(st.none(), throughputs),
        indexes=st.sampled_from([(), (IndexCapacity(name=GSI),)]),
    ),
)
operations = st.builds(
    Op,
    direction=st.sampled_from(Direction),
    position=st.integers(0, 20).map(lambda n: position(f"k-{n}".encode())),
    units=st.sampled_from([0.5, 1.0, 2.0, 37.0, 400.0]),
    eventual=st.booleans(),
    index_writes=st.lists(
        st.builds(
            IndexWrite,
            index=st.just(GSI),
            position=st.integers(0, 3).map(lambda n: position(f"t-{n}".encode())),
            units=st.sampled_from([1.0, 400.0]),
        ),
        max_size=2,
    ).map(tuple),
)
histories = st.lists(st.tuples(st.floats(0, 40), operations), max_size=80)


def admit(model: TableModel, op: Op, now_s: float) -> Refusal | None:
    if op.direction is Direction.READ:
        return model.admit_read(op.position, op.units, now_s, eventual=op.eventual)
    return model.admit_write(op.position, op.units, now_s, op.index_writes)


def consumed_in_minutes(model: TableModel, end_s: float) -> Counter[tuple[str | None, str]]:
    consumed: Counter[tuple[str | None, str]] = Counter()
    for series in model.minutes.series("t", T0, end_s + 60):
        if series.metric.startswith("Consumed"):
            index = dict(series.dimensions).get("GlobalSecondaryIndexName")
            direction = "read" if "Read" in series.metric else "write"
            consumed[index, direction] += sum(p.sum for p in series.points.values())  # type: ignore[assignment]
    return +consumed


def state(model: TableModel) -> list[Any]:
    resources = [model._table, *model._indexes.values()]
    return [(p.read.tokens, p.write.tokens) for r in resources for p in r.partitions._partitions] + [
        gate.bucket.tokens for r in resources for lane in (r.read, r.write) for gate in lane.gates
    ]


@pytest.mark.slow
@settings(max_examples=50)
@given(capacity=capacities, history=histories, scale=st.sampled_from([0.01, 1.0]))
def test_units_are_conserved(capacity: TableCapacity, history: list[tuple[float, Op]], scale: float) -> None:
    model = TableModel(capacity, now_s=T0, scale=scale)
    admitted: Counter[tuple[str | None, str]] = Counter()
    refused: Counter[Cause] = Counter()
    now_s = T0
    for gap_s, op in history:
        now_s += gap_s
        refusal = admit(model, op, now_s)
        if refusal is not None:
            refused[refusal.cause] += 1
            continue
        admitted[None, op.direction.value] += op.units  # type: ignore[assignment]
        if op.direction is Direction.WRITE and capacity.indexes:
            admitted[GSI, "write"] += sum(w.units for w in op.index_writes)  # type: ignore[assignment]
    rows = model.decisions()
    decided: Counter[tuple[str | None, str]] = Counter()
    for row in rows:
        decided[row["index"], row["direction"]] += row["consumed"]
    assert +admitted == +decided == consumed_in_minutes(model, now_s)
    by_cause: Counter[str] = Counter()
    for row in rows:
        by_cause.update(row["refused"])
    assert by_cause == Counter({cause.value: n for cause, n in refused.items()})
    series = [one for one in model.minutes.series("t", T0, now_s + 60) if "ThrottleEvents" in one.metric]
    assert sum(point.sum for one in series for point in one.points.values()) == 2 * refused.total()


@pytest.mark.slow
@settings(max_examples=50)
@given(
    capacity=capacities,
    history=histories,
    together=st.lists(operations, min_size=1, max_size=25),
    scale=st.sampled_from([0.01, 1.0]),
)
def test_a_refused_transaction_spends_nothing(
    capacity: TableCapacity, history: list[tuple[float, Op]], together: list[Op], scale: float
) -> None:
    model = TableModel(capacity, now_s=T0, scale=scale)
    now_s = T0
    for gap_s, op in history:
        now_s += gap_s
        admit(model, op, now_s)
    before, consumed = state(model), consumed_in_minutes(model, now_s)
    answers = model.admit_together(together, now_s)
    assert len(answers) == len(together)
    spent = consumed_in_minutes(model, now_s)
    if any(answers):
        assert state(model) == before
        assert spent == consumed
    else:
        units = sum(op.units for op in together)
        if capacity.indexes:
            units += sum(
                w.units for op in together if op.direction is Direction.WRITE for w in op.index_writes
            )
        assert spent.total() == pytest.approx(consumed.total() + units)


def test_partitions_outlive_a_decrease_and_a_change_of_mode() -> None:
    model = TableModel(TableCapacity(provisioned=Capacity(100, 10_000)), now_s=T0)
    assert model.partition_count() == 11
    assert model.warm_throughput() == (100, 10_000)
    model.change_capacity(TableCapacity(provisioned=Capacity(10, 10)), T0 + 60)
    assert model.partition_count() == 11
    model.change_capacity(TableCapacity(billing_mode="PAY_PER_REQUEST"), T0 + 120)
    assert model.partition_count() == 11
    model.change_capacity(TableCapacity(provisioned=Capacity(2, 2)), T0 + 180)
    assert model.warm_throughput() == (12_000, 10_000)


def test_indexes_come_and_go() -> None:
    index = IndexCapacity(name=GSI, provisioned=Capacity(10, 10))
    plain = TableCapacity(provisioned=Capacity(10, 100))
    indexed = TableCapacity(provisioned=Capacity(10, 100), indexes=(index,))
    model = TableModel(plain, now_s=T0)
    model.change_capacity(indexed, T0 + 60)
    write = IndexWrite(GSI, position(b"t"), 2.0)
    assert model.admit_write(position(b"k"), 1.0, T0 + 61, (write,)) is None
    assert model.partition_count(GSI) == 1
    model.change_capacity(plain, T0 + 120)
    model.change_capacity(indexed, T0 + 240)
    assert model.admit_write(position(b"k"), 1.0, T0 + 241, (write,)) is None
    (series,) = [
        s
        for s in model.minutes.series("t", T0, T0 + 300)
        if s.metric == "ConsumedWriteCapacityUnits" and len(s.dimensions) == 2
    ]
    assert sum(point.sum for point in series.points.values()) == 4.0


def test_a_new_account_quota_applies_from_now_on() -> None:
    capacity = TableCapacity(billing_mode="PAY_PER_REQUEST", account=Capacity(10, 10))
    model = TableModel(capacity, now_s=T0)
    assert [model.admit_write(position(b"k"), 1.0, T0) is None for _ in range(11)].count(True) == 10
    more = TableCapacity(billing_mode="PAY_PER_REQUEST", account=Capacity(20, 20))
    model.change_capacity(more, T0 + 1)
    assert [model.admit_write(position(b"k"), 1.0, T0 + 5) is None for _ in range(30)].count(True) == 20
