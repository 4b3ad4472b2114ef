"""What a load test sends if nothing is refused: units, operations, and the partition where they meet."""

import pytest

from keyheat.plan import totals as module
from keyheat.plan.totals import LoadTotals, ResourceSide, SideTotals, total_load
from keyheat.simulator.outcome import outcome_of
from keyheat.simulator.simulate import simulate
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


def test_a_hot_key_is_found_on_its_partition() -> None:
    hottest = side(sent("hotkey"), W).hottest
    assert hottest is not None
    assert (hottest.partitions, hottest.ceiling_per_s, hottest.over) == (5, 1_000, True)
    assert hottest.key_per_s == pytest.approx(1_800)
    assert 1_800 < hottest.asked_per_s < 2_000  # the key, and a part of the other ones
    assert hottest.share == pytest.approx(hottest.asked_per_s / 1_000)


def test_shards_are_keys_of_their_own() -> None:
    hottest = side(sent("sharded"), W).hottest
    assert hottest is not None
    assert not hottest.over
    assert hottest.key_per_s == pytest.approx(88, abs=2)  # a twentieth of 90 % of the writes


def test_the_item_that_a_transaction_changes_each_time_is_a_hot_key_at_twice_its_units() -> None:
    hottest = side(sent("aggregate-transaction"), W).hottest
    assert hottest is not None
    assert hottest.key_per_s == pytest.approx(1_400)


def test_an_index_has_its_own_partitions_and_its_own_hottest_key() -> None:
    found = sent("country-index")
    table, index = side(found, W).hottest, side(found, W, index="by-country").hottest
    assert table is not None
    assert index is not None
    assert (table.over, index.over) == (False, True)
    assert (table.key_per_s, index.key_per_s) == (0, pytest.approx(2_352))
    reads = side(found, R, index="by-country").hottest
    assert reads is not None
    assert reads.ceiling_per_s == pytest.approx(4_500)  # eventually consistent


def test_partitions_are_those_that_a_table_has_by_then() -> None:
    """Pre-warmed, an on-demand table has eight of them when the load grows."""
    warm, cold = sent("pre-warmed", scale=0.25), sent("table-per-period-on-demand", scale=0.25)
    hottest = side(warm, W).hottest
    assert hottest is not None
    assert (hottest.partitions, hottest.at_s, hottest.over) == (8, 60, False)
    hottest = side(cold, W, table="12").hottest
    assert hottest is not None
    assert (hottest.partitions, hottest.over) == (4, True)


def test_requests_of_several_items_are_told_apart_from_their_items() -> None:
    by_name = {one.name: one for one in sent("operations").operations}
    batch, transaction = by_name["BatchWriteItem"], by_name["TransactWriteItems"]
    assert batch.items == pytest.approx(25 * batch.requests)
    assert transaction.items == pytest.approx(4 * transaction.requests)
    assert transaction.units / transaction.items > batch.units / batch.items * 1.9
    (both,) = sent("aggregate-transaction").operations
    assert (both.requests, both.items) == (pytest.approx(50_000), pytest.approx(100_000))


@pytest.mark.parametrize(
    "name",
    ["sharded", "operations", "leaderboard-sharded", "read-cache", "replay", "unique-key"],
)
def test_a_simulation_that_throttles_nothing_consumes_what_was_expected(name: str) -> None:
    scenario = a_shipped(name)
    outcome = outcome_of(simulate(scenario, folder=SCENARIOS))
    assert outcome.share() == 0
    for key, asked in sent(name).sides.items():
        consumed = outcome.accepted_per_s[key.index, key.direction] * outcome.seconds
        assert asked.total() == pytest.approx(consumed, rel=0.03, abs=20), key


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
    assert found is not None
    (asked,) = found.sides.values()
    assert (found.duration_s, len(asked.per_s), asked.total()) == (50.0, 50, pytest.approx(100_000))
    assert sum(one.requests for one in found.operations) == pytest.approx(12_500)
    changing = a_shipped("auto-scaling-late")
    assert changing.load.shape is not None
    assert total_load(changing) is None
