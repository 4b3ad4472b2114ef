"""Advice: the formula with measured numbers, and never more capacity for a key range's limit."""

import tomllib
from typing import Any

import pytest

from keyheat.analysis.advice.case import AdviceCase, MeasuredRun, meeting_chance
from keyheat.analysis.advice.demand import MeasuredDemand
from keyheat.analysis.advice.recommendations import recommend
from keyheat.analysis.diagnosis import diagnose
from keyheat.analysis.heat import RunHeat
from keyheat.analysis.rules import Thresholds
from keyheat.analysis.timeline import timeline
from keyheat.evidence.simulated import evidence_of
from keyheat.runs.client import ClientFiles
from keyheat.runs.formats import HotKey, Recommendation
from keyheat.runs.manifest import Keys, Manifest
from keyheat.scenario.scenario import scenario_from_dict
from keyheat.shipped import shipped
from keyheat.simulator.folder import keys_of, manifest_of
from keyheat.simulator.simulate import simulate
from keyheat.words import TITLES, Constraint
from tests.analysis.conftest import advice_case
from tests.make import START, a_shipped, consumed
from tests.make import an_evidence as evidence

SCENARIOS = shipped("configs") / "scenarios"


def hot(units_per_s: float, *, moved: tuple[str, ...] = (), share: float = 0.9) -> RunHeat:
    key = HotKey(key="sha256:1f3a", share=share, throttles=9, units_per_s=units_per_s, direction="write")
    return RunHeat("write", (key,), moved)


@pytest.mark.parametrize(("demand", "is_told"), [(28_000, False), (28_100, True)])
def test_capacity_beyond_the_quota_needs_a_raise(demand: float, is_told: bool, numbers: Thresholds) -> None:
    """At a utilisation of 70 %, 28,000 WCU/s take the 40,000 that one table may have."""
    too_small = advice_case(numbers, constraint="table", demand=MeasuredDemand(demand), limit=20_000)
    first = "The account allows one table 40,000 WCU/s: ask Service Quotas for more before."
    assert (first in advised(too_small)["raise_capacity"].why) is is_told


@pytest.mark.parametrize(("has_now", "is_over", "raises"), [(1_200, True, False), (1_200, False, True)])
def test_capacity_that_held_after_a_raise_is_not_raised_again(
    has_now: float, is_over: bool, raises: bool, numbers: Thresholds
) -> None:
    """1,286 WCU/s would leave room over 900; 1,200 held them."""
    short = advice_case(
        numbers, constraint="table", demand=MeasuredDemand(900), limit=300, has_now=has_now, is_over=is_over
    )
    assert ("raise_capacity" in advised(short)) is raises


def advised(found: AdviceCase) -> dict[str, Recommendation]:
    return {advice.action: advice for advice in recommend(found)}


SHARDS = [
    # units/s of the key, shards with the margin of 1.5
    (700, 2),
    (10_001, 16),
]


@pytest.mark.parametrize(("units_per_s", "count"), SHARDS)
def test_shards_by_the_formula(units_per_s: float, count: int, numbers: Thresholds) -> None:
    advice = advised(advice_case(numbers, heat=hot(units_per_s)))["shard_writes"]
    assert advice.shards == count
    assert f"{units_per_s:,.0f} WCU/s" in advice.why
    assert f"Each of {count} keys then takes {units_per_s / count:,.0f} WCU/s" in advice.expected
    assert "share a partition" in advice.expected


CASES: dict[str, tuple[dict[str, Any], set[str]]] = {
    "no key stands out": ({"heat": hot(20, share=0.001)}, {"back_off", "shard_writes", "raise_cardinality"}),
    "the keys are unknown": ({"heat": None}, {"back_off", "raise_cardinality"}),
    "one key, unnamed, may fill it": (
        {"heat": None, "one_key_per_s": 1_270},
        {"back_off", "shard_writes", "raise_cardinality"},
    ),
    "even keys, one partition": ({"heat": hot(20, share=0.001), "warm": 100}, {"back_off", "pre_warm"}),
    "hot reads": (
        {"direction": "read", "heat": hot(9_000), "ceiling": 3_000},
        {"back_off", "read_eventually_consistent", "cache_reads", "replicate_reads"},
    ),
    "reads of one key, unnamed": (
        {"direction": "read", "heat": None, "one_key_per_s": 3_630, "ceiling": 3_000},
        {"back_off", "read_eventually_consistent", "cache_reads", "replicate_reads"},
    ),
    "a hot index": ({"resource": "by_country", "heat": hot(1_800)}, {"back_off", "change_index_key"}),
    "on-demand, not grown": ({"rule": "on-demand-not-grown"}, {"ramp", "pre_warm"}),
    "too small": ({"constraint": "table"}, {"raise_capacity", "auto_scaling", "on_demand"}),
    "at the maximum": ({"constraint": "max_on_demand"}, {"back_off", "raise_max_on_demand"}),
    "at the quota": ({"constraint": "account"}, {"back_off", "raise_account_quota"}),
    "undetermined": ({"constraint": "undetermined"}, {"collect_evidence"}),
    "none": ({"constraint": "none"}, set()),
    "a scan now and then": (
        {
            "constraint": "max_on_demand",
            "direction": "read",
            "limit": 400,
            "scans_per_s": 0.5,
            "scan_share": 0.03,
        },
        {"back_off", "raise_max_on_demand"},
    ),
}


@pytest.mark.parametrize(("facts", "actions"), CASES.values(), ids=CASES)
def test_advice_by_case(facts: dict[str, Any], actions: set[str], numbers: Thresholds) -> None:
    found = recommend(advice_case(numbers, **facts))
    assert {advice.action for advice in found} == actions
    kinds = [advice.kind for advice in found]
    assert kinds == sorted(kinds, reverse=True), "mitigations come before cures"


OF_READS = {"direction": "read", "ceiling": 3_000}
STORIES: dict[str, tuple[dict[str, Any], str, tuple[str, ...], tuple[str, ...]]] = {
    # what happened, the facts, then of which advice, what it says, and what it must not say
    "a key range of an index is hot": (
        {"resource": "by_country"}, "change_index_key",
        ("prefix from 0 to 2 on the index's partition key",), ("apacity",),
    ),
    "auto scaling was late": (
        {"constraint": "table", "rule": "auto-scaling-late", "limit": 100}, "raise_minimum",
        ("only after the load was there", "minimum of at least 2,858 WCU/s", "schedule"), ("Turn on",),
    ),
    "somebody raised it late, for auto scaling is off": (
        {"constraint": "table", "rule": "auto-scaling-late", "limit": 100, "scaled_by_hand": True},
        "raise_minimum",
        ("only after the load was there", "minimum capacity", "2,858 WCU/s before the peak"), ("scaling",),
    ),
    "auto scaling is known to be on": (
        {"constraint": "table", "scaled_most": 9_000, "limit": 100}, "raise_minimum",
        ("reacts after minutes", "minimum of at least 2,858 WCU/s"), (),
    ),
    "auto scaling may go no higher": (
        {"constraint": "table", "scaled_most": 400, "limit": 400}, "raise_maximum",
        ("Raise the maximum of auto scaling", "pinned at its maximum of 400 WCU/s",
         "A maximum of at least 2,858 WCU/s", "its minimum stays"), ("Turn on",),
    ),
    "the table was scaled down": (
        {"constraint": "table", "rule": "table-scaled-down", "limit": 60}, "raise_minimum",
        ("lowered below what the load takes", "minimum of at least 2,858 WCU/s"), ("only after",),
    ),
    "on-demand, not grown": (
        {"rule": "on-demand-not-grown", "limit": 4_000,
         "demand": MeasuredDemand(3_900, by="cloudwatch")}, "pre_warm",
        ("3,900 WCU/s", "5,715 WCU/s", "one-time charge"), ("shard",),
    ),
    "scans can be most of the reads": (
        {"constraint": "table", "limit": 400, **OF_READS, "demand": MeasuredDemand(450, by="cloudwatch"),
         "scans_per_s": 2.0, "scan_share": 0.57},
        "slow_scans", ("Accepted: 120 Scans a minute", "128 RCU, and 256 strongly consistent", "Limit"), (),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("facts", "action", "said", "unsaid"), STORIES.values(), ids=STORIES)
def test_the_advice_fits_what_happened(
    facts: dict[str, Any],
    action: str,
    said: tuple[str, ...],
    unsaid: tuple[str, ...],
    numbers: Thresholds,
) -> None:
    found = advised(advice_case(numbers, **facts))
    text = f"{TITLES[action]} {found[action].why} {found[action].expected}"
    for part in said:
        assert part in text
    for part in unsaid:
        assert part not in text
    if action == "raise_minimum":
        assert "auto_scaling" not in found, "it is on, or would have been as late"


AT_MAXIMUM = {"constraint": "max_on_demand"}
WAITING: dict[str, tuple[dict[str, Any], str | None]] = {
    # what is known of the client, and what it is told of waiting
    "nobody says whether it retries": ({}, "back_off"),
    "it retries, and nothing is given up": ({"retries": True, "given_up": 0.0}, None),
    "it retries, and nobody counted": ({"retries": True}, None),
    "it gives up all the same": ({"retries": True, "given_up": 0.4}, "queue_writes"),
    "it gives up at the quota": ({"retries": True, "given_up": 0.4, "constraint": "account"}, "queue_writes"),
    "it gives up reads": ({"retries": True, "given_up": 0.4, **OF_READS}, None),
    "it gives up reads at a maximum": ({"retries": True, "given_up": 0.4, **OF_READS, **AT_MAXIMUM}, None),
}


@pytest.mark.parametrize(("facts", "action"), WAITING.values(), ids=WAITING)
def test_a_client_that_retries_is_not_told_to(
    facts: dict[str, Any], action: str | None, numbers: Thresholds
) -> None:
    found = advised(advice_case(numbers, heat=hot(1_800), **facts))
    assert found.keys() & {"back_off", "queue_writes"} == ({action} if action else set())
    if action == "queue_writes":
        assert "still gives up 40 % of its requests" in found[action].why


RETRIED = {"retries.requests": 1_000, "retries.attempts": 500, "retries.given_up": 100}
BOTO3 = 'sdk = "boto3-2026"\nmode = "standard"'
KNOWN: dict[str, tuple[Constraint, str | None, dict[str, float] | None, bool]] = {
    # of which limit, `[client]` of the scenario if there is one, what the run counted if it was ours, retries
    "evidence of CloudWatch": ("partition", None, None, False),
    "a run that sent once": ("partition", "", {}, False),
    "a run with the installed SDK": ("partition", "", RETRIED, True),
    "a scenario's client, whoever ran it": ("partition", BOTO3, None, True),
    "a scenario's client that tries once": ("partition", f"{BOTO3}\nattempts = 1", None, False),
    "a client that retries all but the quota": ("partition", 'sdk = "boto3-2025"', None, True),
    "the quota of such a client": ("account", 'sdk = "boto3-2025"', None, False),
}


@pytest.mark.parametrize(("constraint", "client", "counted", "retries"), KNOWN.values(), ids=KNOWN)
def test_who_retries_is_known_from_the_run_and_from_its_scenario(
    constraint: Constraint,
    client: str | None,
    counted: dict[str, float] | None,
    retries: bool,
    numbers: Thresholds,
) -> None:
    found = evidence(consumed(400))
    scenario = None
    if client is not None:
        text = (SCENARIOS / "hotkey.toml").read_text(encoding="utf-8")
        scenario = scenario_from_dict(tomllib.loads(f"{text}\n[client]\n{client}"), "test")
    manifest = Manifest(started_at=START, table=found.table, counted=counted or {})
    cost = manifest.retry_cost
    measured = MeasuredRun(timeline(found), (), numbers, scenario, on_demand=False, scheduled={}, cost=cost)
    made = measured.case((constraint, "table", "write"), ())
    assert (made.retries, made.given_up) == (retries, 0.1 if counted else None)


MEETING = [(1, 4, 0.0), (2, 4, 0.25), (3, 4, 0.625), (5, 4, 1.0), (2, 1, 1.0)]


@pytest.mark.parametrize(("count", "partitions", "chance"), MEETING)
def test_the_chance_that_two_shards_meet(count: int, partitions: int, chance: float) -> None:
    assert meeting_chance(count, partitions) == pytest.approx(chance)


@pytest.mark.slow
def test_a_date_as_key_gets_the_shards_that_work(numbers: Thresholds) -> None:
    run = simulate(a_shipped("datekey"))
    keys, manifest = Keys.model_validate(keys_of(run)), Manifest.model_validate(manifest_of(run))
    client = ClientFiles(keys=keys, manifest=manifest)
    found = diagnose(evidence_of(run), client=client, thresholds=numbers, scenario=None)
    (advice,) = [advice for advice in found.recommendations if advice.kind == "cure"]
    assert (advice.action, advice.shards) == ("shard_date_key", 3)
    assert "= 3 shards." in advice.why
    assert found.hot_keys[0].units_per_s == pytest.approx(2_000, rel=0.15)
