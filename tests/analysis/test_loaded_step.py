"""A number that was tried on an endpoint: carried or not, by whose limit, and what its run came to."""

from datetime import timedelta
from typing import Any

import pytest

from keyheat.analysis.loaded_step import beyond_provisioned, state_of
from keyheat.analysis.run_result import most_provisioned, traffic_of
from keyheat.runs.formats import SecondCount
from keyheat.runs.frames import seconds_of
from keyheat.runs.table_facts import IndexFacts, TableFacts
from keyheat.words import Capacity
from tests.make import START, a_diagnosis, a_manifest

STATES: dict[str, tuple[dict[str, Any], str]] = {
    "no throttles": ({}, "carried"),
    "throttles": ({"judged": ("partition", True), "throttles": True}, "limited"),
    "without a reason": ({"judged": ("undetermined", False), "throttles": True}, "limited"),
    "too many errors": ({"judged": ("none", False)}, "undecided"),
    "errors, and throttles": ({"judged": ("table", False), "throttles": True}, "undecided"),
    "a late generator": ({"bound": True, "judged": ("none", False)}, "generator"),
    "late, and throttled": ({"bound": True, "judged": ("table", True), "throttles": True}, "limited"),
    "on burst": ({"on_burst": True}, "limited"),
}  # fmt: skip


@pytest.mark.parametrize(("facts", "state"), STATES.values(), ids=STATES)
def test_what_a_run_says_of_its_table(facts: dict[str, Any], state: str) -> None:
    known = {"judged": ("none", True), "bound": False, "throttles": False, "on_burst": False, **facts}
    constraint, valid = known["judged"]
    diagnosis = a_diagnosis(constraint, valid=valid, generator={"bound": known["bound"]})
    assert state_of(diagnosis, throttles=known["throttles"], on_burst=known["on_burst"]) == state


def seconds_at(*rates: float, index: str | None = None) -> list[SecondCount]:
    return [
        SecondCount(
            second=START + timedelta(seconds=place), index=index, direction="write", consumed=rate,
            attempts=int(rate), throttled=0,
        )
        for place, rate in enumerate(rates)
    ]  # fmt: skip


TABLE = TableFacts(
    name="orders", billing_mode="PROVISIONED", provisioned=Capacity(read=10, write=100),
    indexes=(IndexFacts(name="by-day", provisioned=Capacity(read=10, write=50)),),
)  # fmt: skip


def beyond(rows: list[SecondCount], table: TableFacts = TABLE, scale: float = 1.0) -> Any:
    manifest = a_manifest(table=table, scale=scale)
    return beyond_provisioned(traffic_of(manifest, seconds_of(rows)), most_provisioned(manifest, None))


def test_living_on_burst_is_seen_in_the_second_half() -> None:
    assert beyond(seconds_at(900, 900, 99, 101)) is None
    assert beyond(seconds_at(0, 0, 110, 110)) == (
        "table", "write", "110 units/s were consumed where 100 are provisioned.",
    )  # fmt: skip
    both = [*seconds_at(110, 110), *seconds_at(110, 110, index="by-day")]
    assert beyond(both)[0] == "by-day"
    assert beyond(seconds_at(40, 40), scale=0.1) is not None
    assert beyond([]) is None
    on_demand = TableFacts(name="orders", billing_mode="PAY_PER_REQUEST")
    assert beyond(seconds_at(1e6, 1e6), on_demand) is None
