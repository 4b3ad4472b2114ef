"""Every load test as the simulator sends it: requests, keys, cost; and `keys.shards`, honoured or refused."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from keyheat.model.resources import Cause
from keyheat.model.units import read_units
from keyheat.scenario.scenario import Scenario, ScenarioError, load_scenario
from keyheat.simulator.flow import Flow, FlowAnswer, Traffic, sent_together
from keyheat.simulator.search import outcome_of
from keyheat.simulator.simulate import simulate
from keyheat.simulator.traffic import check_shards, spreads_itself, traffic_of
from tests.make import SAMPLED, SCENARIOS, a_scenario, a_shipped

pytestmark = pytest.mark.slow

Refuse = Callable[[Flow], FlowAnswer]


def admitted(flow: Flow) -> FlowAnswer:
    count = round(flow.requests * flow.items)
    entries = {one.index: one.units * count for one in flow.index_writes}
    return FlowAnswer(
        flow=flow, attempts=count, accepted=count, units=count * flow.units, index_units=entries
    )


def refused(flow: Flow) -> FlowAnswer:
    count = round(flow.requests * flow.items)
    return FlowAnswer(
        flow=flow, attempts=count, accepted=0, units=0.0, refused={(None, Cause.KEY_RANGE): count}
    )


def sent(traffic: Traffic, seconds: int, answer: Refuse = admitted) -> list[list[Flow]]:
    """The flows of so many seconds, each answered as it is."""
    flows = []
    for at_s in range(seconds):
        flows.append(list(traffic.second(at_s)))
        traffic.answered(at_s, [answer(flow) for flow in flows[-1]])
    return flows


def of(one: Scenario, seconds: int = 5, answer: Refuse = admitted) -> list[list[Flow]]:
    return sent(traffic_of(one, one.seed, SCENARIOS), seconds, answer)


def requests(flows: list[Flow]) -> Counter[str]:
    """Requests by operation."""
    counts: Counter[str] = Counter()
    for flow in flows:
        counts[flow.operation] += flow.requests  # type: ignore[assignment]
    return counts


@pytest.mark.parametrize("path", SAMPLED, ids=lambda path: path.stem)
def test_a_load_asks_for_as_much_as_its_scenario_says(path: Path) -> None:
    """In requests: whatever a task is made of, users pace themselves by what they send."""
    one = load_scenario(path)
    if one.load.target_unit != "requests" or one.load.arrivals == "trace":
        pytest.skip("steered by units, or by the times of a trace")
    *_, last = of(one, 4)
    total = sum(flow.requests for flow in last)
    cached = one.load.requests_per_s - total if one.cache else 0.0
    together = next((flow.requests for flow in last if flow.together and flow.items == 1), 0.0)
    shape = one.load.rate_shape()
    asked = shape.total(4) - shape.total(3)
    assert total + cached - together == pytest.approx(asked, rel=0.001)


@pytest.mark.parametrize(("spawn_per_s", "expected"), [(50, [250, 250]), (10, [50, 100]), (0.5, [5, 5, 10])])
def test_users_who_are_not_there_yet_send_nothing(spawn_per_s: float, expected: list[float]) -> None:
    flows = of(a_shipped("hotkey", load={"spawn_per_s": spawn_per_s}), len(expected))
    assert [sum(flow.requests for flow in second) for second in flows] == pytest.approx(expected)


def test_the_last_second_may_be_a_shorter_one() -> None:
    *_, last = of(a_shipped("hotkey", load={"duration_s": 2.5}), 3)
    assert [flow.requests for flow in last] == [125]


def test_one_reader_of_fifty_users_sends_its_part_in_whatever_requests_it_makes() -> None:
    """`sharded`: once a fan-out to 20 shards, four times a put with the read of it: 28 requests in five."""
    *_, last = of(a_shipped("sharded"))
    by_operation = requests(last)
    assert by_operation["Query"] == pytest.approx(5 * 20 / 28)
    assert by_operation["GetItem"] == pytest.approx(5 * 4 / 28)
    assert by_operation["PutItem"] == pytest.approx(245 + 5 * 4 / 28)


def test_a_read_costs_what_has_been_written_by_then() -> None:
    """50 items of 4,000 bytes are 49 read units, half of them eventually; a new key has fewer."""
    seconds = of(a_shipped("audit-log", keys={"share": 1.0}, load={"requests_per_s": 90}), 3)
    units = [next(flow.units for flow in flows if flow.operation == "Query") for flows in seconds]
    full = read_units(200_000, consistent=False)
    assert units[0] < 0.9 * full
    assert units[1:] == pytest.approx([full, full])


def test_a_query_for_one_client_reads_only_that_part() -> None:
    flows = of(a_shipped("random-suffix"), 30)[-1]
    (query,) = [flow for flow in flows if flow.operation == "Query"]
    assert query.requests == pytest.approx(10)
    assert query.units < 4, "a client's five transactions on a shard, not all of its thousands"


def test_an_entry_that_moves_is_two_writes_and_a_new_one_is_one() -> None:
    seconds = of(a_shipped("leaderboard", keys={"keys": 100}), 3)
    (first,), (later,) = (
        [flow.index_writes[0].units for flow in flows[:1]] for flows in (seconds[0], seconds[2])
    )
    assert first == pytest.approx(2 - 100 / 1_176, abs=0.01), "each image's first view of the second"
    assert later == pytest.approx(2)


def test_writes_to_a_table_without_sort_key_replace_items() -> None:
    """The larger of two sizes is paid for, and so is taking an index entry from where it was."""
    sizes = {"kind": "choice", "sizes": [1_000, 3_000]}
    index = [{"name": "by-team", "partition_key": "team", "provisioned": {"read": 1, "write": 1}}]
    table = {"name": "table", "provisioned": {"read": 1, "write": 1}, "indexes": index}
    one = a_shipped("user-id", table=table, keys={"keys": 10}, load={"item_bytes": sizes})
    first, *_, last = (flows[0] for flows in of(one, 3))
    assert first.units < last.units == pytest.approx(0.25 * 1 + 0.75 * 3)
    assert last.index_writes[0].units == pytest.approx(2 * 2)
    assert len(last.index_writes[0].keys.points) == 1_000, "values that nobody chose are drawn from so many"


def test_a_condition_that_fails_is_paid_for() -> None:
    one = a_shipped("unique-key", keys={"keys": 1_000}, load={"requests_per_s": 1_000})
    traffic = traffic_of(one, 1)
    new, failed = sent(traffic, 3)[-1]
    assert failed.requests > 8 * new.requests > 0
    assert failed.units == new.units == 4
    assert traffic.counts["conditions.failed"] == pytest.approx(3_000 - 1_000, rel=0.1)


def test_popular_items_that_are_not_there_yet_are_put_once() -> None:
    puts = [
        next(flow for flow in flows if flow.operation == "PutItem") for flows in of(a_shipped("read-hot"), 30)
    ]
    assert sum(put.requests for put in puts) == pytest.approx(101, rel=0.03)
    hot = max(puts[0].keys.shares)
    assert hot * puts[0].requests == pytest.approx(1, rel=0.1), "however often it is asked for"


def test_what_a_read_costs_is_its_keys_own_price() -> None:
    """The hot item is there after the first read of it: reads that find nothing are of other keys."""
    (found, missing), *_ = (
        [flow for flow in flows if flow.operation == "GetItem"] for flows in of(a_shipped("read-hot"), 1)
    )
    assert (found.units, missing.units) == (16.0, 0.5)
    assert max(missing.keys.shares) * missing.requests == pytest.approx(1, rel=0.1)
    assert max(found.keys.shares) * found.requests == pytest.approx(0.9 * 400, rel=0.1)


def test_reads_are_divided_among_the_copies_of_a_table() -> None:
    *_, last = of(a_shipped("read-spread"))
    reads = {flow.index: (flow.operation, flow.requests) for flow in last if flow.eventual}
    assert {index: operation for index, (operation, _requests) in reads.items()} == {
        None: "GetItem", "copy-1": "Query", "copy-2": "Query",
    }  # fmt: skip
    counts = [count for _operation, count in reads.values()]
    assert counts == pytest.approx([sum(counts) / 3] * 3, rel=0.1)


def test_the_rollover_comes_after_half_of_the_run() -> None:
    flows = of(a_shipped("table-per-period", load={"duration_s": 5}), 5)
    to_the_last = [sum(flow.requests for flow in second if flow.table) for second in flows]
    assert to_the_last == pytest.approx([400, 400, 200, 0, 0])


def test_todays_key_is_another_tomorrow() -> None:
    flows = of(a_shipped("datekey", keys={"day_s": 2}), 5)
    assert [flow.keys.name(0) for (flow,) in flows] == ["2026-11-20"] * 2 + ["2026-11-21"] * 2 + [
        "2026-11-22"
    ]
    assert flows[0][0].keys is flows[1][0].keys, "compared by identity"


def test_an_order_and_its_total_are_one_request() -> None:
    first, second = sent(traffic_of(a_shipped("aggregate-transaction"), 1), 2, refused)
    assert sent_together(first) == sent_together(second) == [(0, 1)]
    order, total = second
    assert order.requests == total.requests == 1_000, "whatever was refused before"
    assert (order.keys.even, max(total.keys.shares)) == (1, pytest.approx(0.7))


def test_a_trace_is_sent_second_by_second_with_items_as_they_are_by_then(tmp_path: Path) -> None:
    trace = tmp_path / "trace.csv"
    trace.write_text(
        "time,operation,key,sort_key,size_bytes\n"
        "0.1,put,a,1,2000\n0.9,get,a,1,\n1.2,put,a,1,500\n1.5,query,a,,\n1.6,delete,a,1,\n5.0,get,a,1,\n"
    )
    one = a_shipped("replay", keys={"trace": "trace.csv", "speed": 2.0})
    flows = sent(traffic_of(one, 1, tmp_path), 3)
    told = [[(flow.operation, flow.units) for flow in second] for second in flows]
    assert told == [
        [("PutItem", 2), ("GetItem", 0.5), ("PutItem", 2), ("Query", 0.5), ("DeleteItem", 1)],
        [],
        [("GetItem", 0.5)],
    ]


def test_a_target_in_units_is_kept_to_by_what_comes_back() -> None:
    """Index entries are paid for by accepted writes alone; the target is met all the same."""
    target = {"requests_per_s": None, "write_units_per_s": 1_000}
    load = {"arrivals": "constant", "item_bytes": 1_000, "duration_s": 9, **target}
    one = a_shipped("country-index", load=load)
    for answer, each in ((admitted, 2), (refused, 1)):
        flows = of(one, 9, answer)[-3:]
        writes = [sum(flow.requests for flow in second if flow.operation == "PutItem") for second in flows]
        assert writes == pytest.approx([1_000 / each] * 3, rel=0.01)


def test_what_was_spent_beyond_a_target_is_sent_less_later() -> None:
    """Every item takes twice the units that it was thought to."""

    def dearer(flow: Flow) -> FlowAnswer:
        return replace(admitted(flow), units=2 * admitted(flow).units)

    load = {"arrivals": "constant", "requests_per_s": None, "write_units_per_s": 1_000, "item_bytes": 1_000}
    flows = of(a_shipped("hotkey", load=load), 8, dearer)
    assert sum(flow.requests for second in flows for flow in second) == pytest.approx(8 * 1_000 / 2)


TASKS: dict[str, Any] = {
    "table": {"name": "orders", "sort_key": "sk", "provisioned": {"read": 1_000, "write": 4_000}},
    "keys": {"kind": "hot_key", "share": 0.9},
    "load": {"duration_s": 30},
    "tasks": [{"operation": "put", "per_s": 2_000}, {"operation": "query", "per_s": 10}],
}


def test_tasks_send_to_as_many_shards_as_are_asked_for() -> None:
    one, eight = a_scenario(**TASKS), a_scenario(**TASKS | {"keys": {**TASKS["keys"], "shards": 8}})
    check_shards(eight)
    assert spreads_itself(eight)
    before, after = (outcome_of(simulate(scenario)) for scenario in (one, eight))
    assert before.share() > 0.2
    assert after.share() < before.share() / 10


def test_a_load_test_that_spreads_no_key_refuses_them(verb: Callable[..., Any]) -> None:
    hot = a_shipped("hotkey")
    check_shards(hot)
    sharded = hot.model_copy(update={"keys": hot.keys.model_copy(update={"shards": 4})})
    with pytest.raises(
        ScenarioError, match=r"spreads no key, so 4 shards change nothing .* @ \$.keys.shards"
    ):
        check_shards(sharded)
    for words in (("plan", "hotkey"), ("run", "hotkey", "--out", "nowhere")):
        said = verb(*words, "--set", "keys.shards=4")
        assert said.code == 2, said.out
        assert "spreads no key" in said.err
    assert not Path("nowhere").exists()


@pytest.mark.parametrize("path", sorted(SCENARIOS.glob("*.toml")), ids=lambda path: path.stem)
def test_every_scenario_of_ours_that_asks_for_shards_gets_them(path: Path) -> None:
    check_shards(load_scenario(path), path.parent)
