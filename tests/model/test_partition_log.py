"""What partitions served and refused, step by step: nothing is lost by splits and joined steps."""

from collections import Counter
from random import Random

import pyarrow.compute as pc
import pytest

from keyheat.model import partitions
from keyheat.model.behaviour import Behaviour
from keyheat.model.resources import Cause, IndexCapacity, TableCapacity
from keyheat.model.splits import position
from keyheat.model.table import IndexWrite, TableModel
from keyheat.runs.partitions import partitions_table
from keyheat.words import Capacity

START_S = 1_800_000_000.0
CAPACITY = TableCapacity(provisioned=Capacity(9_000, 2_000))


def loaded(seconds, *, capacity=CAPACITY, behaviour=None, entries=False, units=10.0):
    """A table that was asked for more than one of its partitions admits, and what it said by second."""
    model = TableModel(capacity, now_s=START_S, **({"behaviour": behaviour} if behaviour else {}))
    rng, counted = Random(1), Counter()
    for second in range(seconds):
        for number in range(150):
            key = position(b"hot" if rng.random() < 0.8 else f"cold-{rng.randrange(500)}".encode())
            now_s = START_S + second + number / 150
            writes = (IndexWrite("by_tag", key, units),) if entries else ()
            refusal = model.admit_write(key, 10.0, now_s, writes)
            counted["written" if refusal is None else "refused"] += 10 if refusal is None else 1
            counted["read"] += 1 if model.admit_read(key, 1.0, now_s) is None else 0
    return model, counted


def table_of(model, seconds, **more):
    return partitions_table(model.partition_record(), START_S, START_S + seconds, **more)


def total(table, column):
    return pc.sum(table[column]).as_py()


def test_a_split_gives_two_new_numbers_and_loses_nothing():
    keys = TableCapacity(provisioned=Capacity(3_000, 4_000), warm=Capacity(1, 1))
    model, counted = loaded(60, capacity=keys, behaviour=Behaviour(split_heat_s=(2.0, 3.0)))
    model.change_capacity(TableCapacity(provisioned=Capacity(3_000, 20_000)), START_S + 60)
    rows = table_of(model, 61).to_pylist()
    parents = {row["partition"]: row["parent"] for row in rows if row["parent"] is not None}
    assert parents
    assert all(Counter(parents.values())[parent] == 2 for parent in parents.values())
    begins = {row["partition"]: row["from_share"] for row in rows}
    assert all(begins[child] >= begins[parent] for child, parent in parents.items())
    assert sum(row["write_units"] for row in rows) == counted["written"]


def test_refusals_of_an_index_that_holds_back_are_its_partitions():
    index = IndexCapacity(name="by_tag", provisioned=Capacity(10, 2_000))
    capacity = TableCapacity(provisioned=Capacity(9_000, 9_000), indexes=(index,))
    model, _ = loaded(20, capacity=capacity, entries=True, units=50.0)
    refused = sum(
        row["refused"].get(Cause.KEY_RANGE.value, 0)
        for row in model.decisions()
        if (row["index"], row["direction"]) == ("by_tag", "write")
    )
    table = table_of(model, 30)
    of_index = table.filter(pc.equal(pc.fill_null(table["index"], ""), "by_tag"))
    assert refused > 100
    assert total(of_index, "throttled_writes") == refused


@pytest.mark.skipif(not partitions.__file__.endswith(".py"), reason="compiled: its constants are fixed")
def test_a_long_record_joins_steps_and_keeps_every_unit(monkeypatch):
    monkeypatch.setattr(partitions, "MOST_CELLS", 40)
    model, counted = loaded(40)
    said = model.partition_record()
    assert said[0]["step_s"] >= 4
    assert len(said[0]["rows"]) <= 50
    table = table_of(model, 40)
    assert set(table["seconds"].to_pylist()) == {said[0]["step_s"]}
    assert total(table, "write_units") == counted["written"]
