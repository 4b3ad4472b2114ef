"""The live page's numbers: right, with a sentence first, and at a cost that does not grow with the run."""

from types import SimpleNamespace
from typing import Any

import pytest

from keyheat.load.record.record import Record
from keyheat.load.record.sketch import SETTLED_S
from keyheat.load.run.page import Live
from keyheat.load.run.view import RECENT_S, LiveView, Refuser
from keyheat.runs.manifest import GeneratorHealth
from keyheat.scenario.keys import digest_of
from tests import make
from tests.make import an_attempt

START = int(make.START.timestamp())
PARTITION = "TableWriteKeyRangeThroughputExceeded"
INDEX = "IndexWriteProvisionedThroughputExceeded"
TABLE: dict[str, Any] = {
    "name": "orders",
    "billing_mode": "PROVISIONED",
    "provisioned": {"read": 100, "write": 4_000},
    "max_on_demand": None,
    "indexes": [{"name": "by-day", "provisioned": {"read": 10, "write": 50}, "max_on_demand": None}],
}
ME = {"name": "me", "state": "running", "users": 3, "cpu_percent": 10.0}


def a_view(record: Record, **changed: Any) -> LiveView:
    run: dict[str, Any] = {
        "run_id": "r", "scenario": {"name": "s", "question": "?"}, "table": TABLE, "target": "local",
        "scale": 1.0, "users": 3,
    }  # fmt: skip
    return LiveView(record, run | changed, float(START), 600.0)


def throttle(record: Record, second: int, key: str = "hot", reason: str | None = PARTITION) -> None:
    by = "by-day" if reason == INDEX else None
    record.add(an_attempt(second, key, outcome="throttled", units=1.0, reason=reason, refused_by=by))


def closed(record: Record) -> Record:
    for heat in record.heat.values():
        list(heat.close_windows(float("inf")))
    return record


def content(record: Record, end: int, run: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    told: dict[str, Any] = {"missing": [], "state": "loading", **more}
    verdict = told.pop("verdict", None)
    return a_view(closed(record), **(run or {})).content(verdict, [ME], end=START + end, **told)


def test_it_says_first_that_one_key_throttles() -> None:
    record = Record()
    for second in range(10):
        for _ in range(20):
            throttle(record, second)
        record.add(an_attempt(second, units=700.0, by_index={"by-day": 2.0}))
    shown = content(record, 10)
    name = digest_of("hot")
    assert shown["sentence"] == {
        "text": f"Throttling: 20/s, all from the partition of key {name}.", "about": "partition",
    }  # fmt: skip
    assert shown["throttles"]["total"] == 200
    assert shown["throttles"]["rows"] == [
        {
            "constraint": "partition", "index": None, "direction": "write", "reason": PARTITION,
            "total": 200, "per_s": 20.0,
        }
    ]  # fmt: skip
    table, index = shown["capacity"]
    assert (table["index"], table["limit"], table["consumed_per_s"]) == (None, 4_000, 698.0)
    assert table["consumed"] == 6_980.0
    assert (index["index"], index["limit"], index["consumed_per_s"]) == ("by-day", 50, 2.0)
    (by_units,) = shown["keys"]["by_units"]
    assert (by_units["key"], by_units["consumed_units"], by_units["throttles"]) == (name, 6_980.0, 200)


@pytest.mark.parametrize(
    ("keys", "reasons", "text"),
    [
        (["k"] * 38 + ["l"] * 2, [PARTITION], "all by a partition limit, 95 % of them on key {}."),
        (["k"] * 40, [INDEX] * 4 + [PARTITION], "80 % by the provisioned capacity of index by-day."),
        (["k"] * 40, [None], "all by an unidentified limit of the table."),
    ],
)
def test_sentences(keys: list[str], reasons: list[str | None], text: str) -> None:
    record = Record()
    record.add(an_attempt(0, "l", units=99.0))  # what asks for most is not what is throttled most
    for number, key in enumerate(keys):
        throttle(record, 0, key, reasons[number % len(reasons)])
    assert content(record, 5)["sentence"]["text"] == f"Throttling: 8/s, {text.format(digest_of('k'))}"


def test_sentences_without_throttles() -> None:
    record = Record()
    for second in range(30):
        record.add(an_attempt(second, units=700.0))
    assert content(record, 30)["sentence"]["text"] == "No throttling: 700 of 4,000 WCU/s are used."
    over = content(record, 60, state="ended")["sentence"]["text"]
    assert over == "Ended after 60 s: nothing was throttled."
    free = {"table": {**TABLE, "provisioned": None, "indexes": []}}
    assert content(record, 30, free)["sentence"]["text"] == "No throttling."
    assert content(Record(), 100)["sentence"]["about"] == "idle"
    throttle(record, 18)
    later = content(record, 30)["sentence"]["text"]
    assert later == "Not throttling now: 700 of 4,000 WCU/s are used. 1 throttle so far, the last 12 s ago."
    over = content(record, 100, state="ended")["sentence"]["text"]
    assert over == f"Ended after 100 s: 1 throttle, all from the partition of key {digest_of('hot')}."


@pytest.mark.parametrize(("fell_behind", "about"), [(False, "invalid"), (True, "partition")])
def test_the_generators_own_fault_comes_first(fell_behind: bool, about: str) -> None:
    record = Record()
    throttle(record, 0)
    verdict = GeneratorHealth(bound=True, checks=("busy",), fell_behind=fell_behind)
    shown = content(record, 1, verdict=verdict, missing=["worker b was lost"])
    assert shown["sentence"]["about"] == about
    assert shown["sentence"]["text"].startswith("The load generator is the limit")
    assert shown["generator"]["missing"] == ["worker b was lost"]


def test_limits_are_on_the_scale_of_the_run_and_on_demand_has_its_own() -> None:
    record = Record()
    record.add(an_attempt(0, units=1.0))
    (scaled,) = content(record, 1, {"scale": 0.1})["capacity"]
    assert (scaled["limit"], scaled["limit_is"]) == (400.0, "provisioned")
    on_demand = {**TABLE, "provisioned": None, "max_on_demand": {"read": None, "write": 90}, "indexes": []}
    (capped,) = content(record, 1, {"table": on_demand})["capacity"]
    assert (capped["limit"], capped["limit_is"]) == (90, "on-demand maximum")
    (free,) = content(record, 1, {"table": {**on_demand, "max_on_demand": None}})["capacity"]
    assert free["limit"] is None


def test_reading_on_counts_every_throttle_once_and_forgets_old_seconds() -> None:
    record = Record()
    view = a_view(record)
    for second in range(0, 2_000, 10):
        throttle(record, second, reason=PARTITION if second % 20 else INDEX)
        throttle(record, max(0, second - 3), reason=None)  # a worker's piece that came later
        view.read_on()
    view.read_on()
    assert view.throttles.total() == 400
    assert view.throttles["PutItem", Refuser("by-day", "write", INDEX)] == 100
    assert len(view.recently) <= SETTLED_S / 5 + 2
    assert view.last_throttle == START + 1_990
    assert content(record, 1_991)["throttles"]["per_s"] == 2 / RECENT_S


@pytest.mark.parametrize("state", ["loading", "ended"])
def test_no_throttles_are_nothing_good_where_there_can_be_none(state: str) -> None:
    record, other, words = Record(), {"endpoint": "other"}, "no capacity model"
    said = content(record, 5, other, state=state)["sentence"]
    assert words in said["text"]
    assert said["about"] == "invalid"
    throttle(record, 5)
    assert content(record, 8, other, state=state)["sentence"]["about"] == "partition"


def test_why_a_run_may_not_begin_is_shown_until_the_one_before_is_over() -> None:
    live = Live(SimpleNamespace())
    live.refuse("the run before is not over")
    assert live.content()["sentence"] == {"text": "the run before is not over", "about": "idle"}
    live.end()
    assert live.content()["sentence"]["text"] == "No run yet. Start one on Locust's page."
