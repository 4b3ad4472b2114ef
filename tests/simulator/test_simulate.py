"""A whole run on the virtual clock: the loop, the client's record, conflicts, writes from other Regions."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from keyheat.analysis.diagnosis import diagnosed
from keyheat.evidence.simulated import evidence_of
from keyheat.model.behaviour import TRANSACTION_S
from keyheat.runs.formats import Series
from keyheat.runs.metrics import REPLICATED, REPLICATION_LATENCY, consumed
from keyheat.scenario.keys import HotKeys, Uniform, digest_of
from keyheat.scenario.scenario import Scenario
from keyheat.simulator.capacity import capacity_of
from keyheat.simulator.flow import WINDOW_KEPT, WINDOW_S, WINDOWS_KEPT, Flow, FlowAnswer, IndexFlow, Traffic
from keyheat.simulator.folder import manifest_of, seconds_table
from keyheat.simulator.jobs import new_folder
from keyheat.simulator.masses import even_masses, masses_of
from keyheat.simulator.search import outcome_of
from keyheat.simulator.simulate import SIMULATED_START_S, Simulation, simulate
from keyheat.words import Capacity
from tests.make import ON_DEMAND, a_scenario, a_shipped
from tests.simulator.sent import READ, WRITE

HOT = masses_of(HotKeys(0.8, 100))
INDEX = {"name": "tag", "partition_key": "tag", "provisioned": {"read": 10, "write": 200}}


class Script(Traffic):
    """Traffic that sends the same flows every second, and keeps what became of them."""

    def __init__(self, *flows: Flow) -> None:
        self.flows = flows
        self.answers: list[Sequence[FlowAnswer]] = []

    def second(self, at_s: float) -> Sequence[Flow]:
        assert at_s == len(self.answers)
        return self.flows

    def answered(self, at_s: float, answers: Sequence[FlowAnswer]) -> None:
        self.answers.append(answers)


def scenario(seconds: float = 20, **table: Any) -> Scenario:
    own = {"name": "orders", "provisioned": {"read": 1_000, "write": 4_000}, **table}
    beside = {"name": "beside", "billing_mode": "PAY_PER_REQUEST"}
    return a_scenario(seed=3, table=own, companions=[beside], load={"duration_s": seconds})


def put(requests: float = 2_000, **more: Any) -> Flow:
    return Flow(**{"operation": "PutItem", "direction": WRITE, "requests": requests, "keys": HOT} | more)


def rows(run: Simulation) -> list[dict[str, Any]]:
    return seconds_table(run).to_pylist()


def test_counts_alone_give_the_outcome_of_the_whole_record() -> None:
    flows = put(poisson=True), put(300, ours=False), put(50, table="beside", index_writes=())
    scripts = Script(*flows), Script(*flows)
    whole, counted = (
        simulate(scenario(30), traffic=script, counts_only=only)
        for script, only in zip(scripts, (False, True), strict=True)
    )
    named, nameless = ([one.uses for second in script.answers for one in second] for script in scripts)
    assert all(named)
    assert not any(nameless)
    assert outcome_of(whole) == outcome_of(counted)
    rows_of_requests = [row for row in rows(whole) if row["operation"]]
    for name in ("attempts", "throttled"):
        assert sum(row[name] for row in rows_of_requests) == getattr(counted.client, name)[WRITE] > 0
    assert (len(counted.client.seconds), len(counted.client.throttles)) == (0, 0)


def test_a_run_ends_where_no_more_is_wanted() -> None:
    script = Script(put())
    run = simulate(scenario(60), traffic=script, until=lambda client: client.attempts[WRITE] > 5_000)
    assert (len(script.answers), run.ended_s) == (3, SIMULATED_START_S + 3)


def test_the_traffic_is_told_what_the_table_and_the_client_saw() -> None:
    script = Script(put())
    told: list[float] = []
    run = simulate(scenario(), traffic=script, progress=told.append)
    assert (run.started_s, run.ended_s) == (SIMULATED_START_S, SIMULATED_START_S + 20)
    assert told == pytest.approx([(n + 1) / 20 for n in range(20)])
    answers = [answer for (answer,) in script.answers]
    assert [row["attempts"] for row in rows(run)] == [2_000] * 20
    assert [row["accepted"] for row in rows(run)] == [answer.accepted for answer in answers]
    assert [row["consumed"] for row in run.model.decisions()] == [answer.units for answer in answers]
    assert sum(row[7] for row in run.client.throttles) == sum(row["throttled"] for row in rows(run)) > 0


def test_throttles_are_counted_by_the_keys_that_are_hot() -> None:
    run = simulate(scenario(), traffic=Script(put()))
    throttles = run.client.throttles
    assert {row[3] for row in throttles} == {"TableWriteKeyRangeThroughputExceeded"}
    of_hot = sum(row[7] for row in throttles if row[5] == digest_of("hot"))
    assert of_hot > 0.9 * sum(row[7] for row in throttles)
    heat = run.client.keys[None, WRITE]
    asked, throttled, consumed = heat.run["hot"]
    assert asked == pytest.approx(0.8 * 2_000 * 20)
    assert consumed == pytest.approx(asked - throttled)
    assert throttled == pytest.approx(of_hot, rel=0.02)
    assert sorted(heat.windows) == [SIMULATED_START_S + 5 * n for n in range(4)]


@pytest.mark.slow
def test_index_rows_are_those_of_a_load_generator() -> None:
    flow = put(300, index_writes=(IndexFlow(index="tag", units=2.0, keys=even_masses()),))
    read = Flow(
        operation="Query", direction=READ, requests=3, units=0.5, eventual=True, keys=HOT, index="tag"
    )
    run = simulate(scenario(240, indexes=[INDEX]), traffic=Script(flow, read))
    seen = rows(run)
    last = {
        (row["index"], row["direction"], row["operation"]): row
        for row in seen
        if row["second"] == seen[-1]["second"]
    }
    assert last.keys() == {
        (None, "write", "PutItem"), (None, "read", "Query"), ("tag", "write", None), ("tag", "read", None),
    }  # fmt: skip
    put_row, entries = last[None, "write", "PutItem"], last["tag", "write", None]
    assert put_row["attempts"] == entries["attempts"] == 300
    assert put_row["throttled"] == entries["throttled"] > 0
    assert entries["consumed_units"] == 2 * put_row["consumed_units"]
    assert (last[None, "read", "Query"]["consumed_units"], last["tag", "read", None]["consumed_units"]) == (
        0,
        1.5,
    )


def test_what_is_not_ours_is_not_in_the_clients_record() -> None:
    theirs = put(1_000, ours=False)
    beside = put(50, keys=even_masses(), table="beside")
    run = simulate(scenario(5), traffic=Script(put(10), theirs, beside))
    assert sum(row["attempts"] for row in rows(run)) == 50
    assert run.models["orders"].decisions()[0]["accepted"] > 500
    assert run.models["beside"].decisions()[0]["accepted"] == 50
    assert run.client.beside == {("beside", "accepted"): 250.0, ("beside", "write_units"): 250.0}


@pytest.mark.parametrize("poisson", [True, False])
def test_only_arrivals_at_random_vary_from_second_to_second(poisson: bool) -> None:
    seen = rows(simulate(scenario(10), traffic=Script(put(100, poisson=poisson))))
    assert (len({row["attempts"] for row in seen}) > 3) is poisson


def test_items_of_a_batch_have_no_reason() -> None:
    run = simulate(scenario(10), traffic=Script(put(100, items=25, operation="BatchWriteItem")))
    assert {row["attempts"] for row in rows(run)} == {2_500}
    assert {row[3] for row in run.client.throttles} == {None}


def test_the_record_stays_small() -> None:
    script = Script(put(keys=masses_of(Uniform(WINDOW_KEPT + 40))))
    simulation = simulate(scenario(1), traffic=script)
    assert simulation.client.window_s == WINDOW_S
    history = simulation.client.keys[None, WRITE]
    ((answer,),) = script.answers
    assert len(answer.uses.names) > WINDOW_KEPT
    for second in range(0, 10 * WINDOW_S, WINDOW_S):
        history.add(int(SIMULATED_START_S) + 100 + second, answer)
    assert {len(named) for named in list(history.windows.values())[:-1]} == {WINDOW_KEPT}
    two_hours = scenario(2 * WINDOWS_KEPT * WINDOW_S)
    begun = simulate(two_hours, traffic=Script(put()), until=lambda client: client.loaded_s > 0)
    assert begun.client.window_s == 2 * WINDOW_S


def test_a_local_index_has_no_capacity_of_its_own_and_holds_back_splits() -> None:
    local = {"name": "near", "partition_key": "pk", "sort_key": "at", "local": True}
    found = capacity_of(scenario(1, sort_key="sk", indexes=[INDEX, local]).table)
    assert found.has_lsi
    assert [(index.name, index.provisioned) for index in found.indexes] == [("tag", Capacity(10, 200))]


def test_folders_that_are_named_in_one_second_are_different_ones(tmp_path: Path) -> None:
    named = [new_folder(tmp_path, "hotkey").folder for _ in range(3)]
    assert len(set(named)) == 3
    assert all(one.name.startswith("hotkey-2") and one.is_dir() for one in named)


@pytest.mark.slow
def test_a_hot_total_is_contention_and_no_throttle() -> None:
    done = simulate(
        a_shipped("aggregate-transaction", f"local.transaction_s={TRANSACTION_S}", "load.duration_s=20")
    )
    evidence = evidence_of(done)
    others, hot = 300, 700
    counted = done.counted
    per_s = (counted["transactions.requests"] - counted["transactions.conflicts"]) / 20
    assert per_s == pytest.approx(others + hot / (1 + hot * TRANSACTION_S), rel=0.05)
    conflicts = done.counted["transactions.conflicts"]
    assert conflicts == evidence.total("TransactionConflict") == done.client.conflicts
    assert manifest_of(done)["totals"]["errors_by_kind"] == {"TransactionConflict": conflicts}
    assert sum(done.client.throttled.values()) == 0
    diagnosis = diagnosed(evidence)
    assert (diagnosis.verdict.constraint, diagnosis.labels) == ("none", ())
    (found,) = diagnosis.findings
    assert found.label == "contention"


def test_what_came_from_other_regions_is_said_of_a_real_table() -> None:
    table = {"name": "carts", **ON_DEMAND, "regions": ["eu-west-1", "us-east-1", "ap-southeast-2"]}
    evidence = evidence_of(simulate(a_scenario(table=table, load={"duration_s": 60, "requests_per_s": 400})))
    at = evidence.window.start
    metric = consumed(WRITE)
    total = evidence.total(metric)
    assert total
    kept = [one for one in evidence.series if one.dimension is None]
    copied = Series(
        metric=metric, statistic="Sum", period_s=60, dimension=REPLICATED, points=((at, total / 4),)
    )
    late = Series(
        metric=REPLICATION_LATENCY, statistic="Average", period_s=300,
        dimension="ReceivingRegion=us-east-1", points=((at, 2_500.0),),
    )  # fmt: skip
    found = diagnosed(evidence.model_copy(update={"series": (*kept, copied, late), "source": "aws"}))
    said = " ".join(found.verdict.because)
    assert "25 % of its write units were replicated from other Regions." in said.replace(
        "\N{NO-BREAK SPACE}", " "
    )
    assert "Copies to us-east-1 took 2,500 ms" in said.replace("\N{NO-BREAK SPACE}", " ")
