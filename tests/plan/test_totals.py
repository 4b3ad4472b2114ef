"""What a load test sends if nothing is refused: units, operations, and the partition where they meet."""

import pytest

from keyheat.plan import totals as module
from keyheat.plan.totals import LoadTotals, ResourceSide, SideTotals, total_load
from keyheat.words import Direction
from tests.make import SCENARIOS, a_shipped

W, R = Direction.WRITE, Direction.READ


def sent(name: str, *, scale: float = 1.0) -> LoadTotals:
    scenario = a_shipped(name)
    found = total_load(scenario, folder=SCENARIOS, scale=scale)
    assert found is not None
    return found


def side(found: LoadTotals, direction: Direction, *, index: str | None = None, table: str = "") -> SideTotals:
    (asked,) = [
        one
        for key, one in found.sides.items()
        if (key.index, key.direction) == (index, direction) and key.table.endswith(table)
    ]
    return asked


@pytest.mark.parametrize(
    ("name", "index", "key_per_s", "over"),
    [
        ("hotkey", None, 1_800, True),
        ("sharded", None, 88, False),  # a twentieth of 90 % of the writes
        ("aggregate-transaction", None, 1_400, True),  # the item that each one changes, at twice its units
        ("country-index", None, 0, False),
        ("country-index", "by-country", 2_352, True),  # it has its own partitions and its own hottest key
    ],
)
def test_the_hottest_key_of_writes(name: str, index: str | None, key_per_s: float, over: bool) -> None:
    hottest = side(sent(name), W, index=index).hottest
    assert (hottest.key_per_s, hottest.over) == (pytest.approx(key_per_s, abs=2), over)


def test_eventually_consistent_reads_have_a_higher_ceiling() -> None:
    reads = side(sent("country-index"), R, index="by-country").hottest
    assert reads.ceiling_per_s == pytest.approx(4_500)


def test_partitions_are_those_that_a_table_has_by_then() -> None:
    """Pre-warmed, an on-demand table has eight of them when the load grows."""
    warm, cold = sent("pre-warmed", scale=0.25), sent("table-per-period-on-demand", scale=0.25)
    hottest = side(warm, W).hottest
    assert (hottest.partitions, hottest.at_s, hottest.over) == (8, 60, False)
    hottest = side(cold, W, table="12").hottest
    assert (hottest.partitions, hottest.over) == (4, True)


def test_requests_of_several_items_are_told_apart_from_their_items() -> None:
    by_name = {one.name: one for one in sent("operations").operations}
    batch, transaction = by_name["BatchWriteItem"], by_name["TransactWriteItems"]
    assert batch.items == pytest.approx(25 * batch.requests)
    assert transaction.items == pytest.approx(4 * transaction.requests)
    assert transaction.units / transaction.items > batch.units / batch.items * 1.9
    (both,) = sent("aggregate-transaction").operations
    assert (both.requests, both.items) == (pytest.approx(50_000), pytest.approx(100_000))


def test_the_judged_table_comes_first_and_its_writes_before_its_reads() -> None:
    keys = list(sent("country-index").sides)
    table = "keyheat-country-index"
    assert keys == [
        ResourceSide(table, None, W),
        ResourceSide(table, "by-country", W),
        ResourceSide(table, "by-country", R),
    ]
    assert [key.unit for key in keys] == ["WCU", "WCU", "RCU"]


def test_a_load_of_days_goes_on_as_its_first_hour_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LONGEST_S", 49)
    monkeypatch.setattr(module, "FIRST_S", 20)
    scenario = a_shipped("hotkey")  # 50 s
    found = total_load(scenario)
    (asked,) = found.sides.values()
    assert (found.duration_s, len(asked.per_s), asked.total()) == (50.0, 50, pytest.approx(100_000))
    assert sum(one.requests for one in found.operations) == pytest.approx(12_500)
    changing = a_shipped("auto-scaling-late")
    assert changing.load.shape is not None
    assert total_load(changing) is None
