"""Whether a fix fixed it: what both sides have to show for each verdict, and what a month costs."""

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from keyheat.analysis.advice.demand import Limit
from keyheat.analysis.advice.fix import HARDLY, Tried, month_of, once_dollars, proof_of
from keyheat.analysis.run_result import RunTraffic
from keyheat.plan.prices import WarmPrices, load_prices
from keyheat.words import READ, WRITE, Direction
from tests.make import START, a_diagnosis, a_manifest, a_shipped

HOT: Limit = ("partition", "table", "write")
INDEX: Limit = ("table", "by-day", "write")
ATTEMPTS = 100_000


def traffic(attempts: int = 0, throttled: int = 0, units_per_s: float = 0.0) -> RunTraffic:
    """A load of one direction whose attempts all came in its first second."""
    seconds = pd.DataFrame(0.0, range(50), ["attempts", "accepted", "throttled", "own_units", "units"])
    seconds.loc[0, ["attempts", "accepted", "throttled"]] = attempts, attempts - throttled, throttled
    return RunTraffic(seconds.assign(units=units_per_s, own_units=units_per_s, whole=True), slice(0, 49))


def written(throttled: int = 0, units_per_s: float = 0.0) -> dict[Direction, RunTraffic]:
    return {WRITE: traffic(ATTEMPTS, throttled, units_per_s), READ: traffic()}


def run(*limits: tuple[Limit, int], valid: bool = True, name: str = "run") -> Tried:
    """A run that was throttled so often by each limit, the heaviest first."""
    (constraint, resource, direction), _ = limits[0] if limits else (("none", None, None), 0)
    labels = [
        {
            "start": START, "end": START, "constraint": limit[0], "resource": limit[1], "direction": limit[2],
            "throttles": count, "grade": "reason", "confidence": 0.9, "because": (),
        }
        for limit, count in limits
    ]  # fmt: skip
    diagnosis = a_diagnosis(constraint, resource, direction, valid=valid, labels=labels)
    return Tried(
        folder=Path(name), diagnosis=diagnosis, manifest=a_manifest(),
        traffic=written(sum(count for _limit, count in limits)), dollars_per_month=None,
        measures={},
    )  # fmt: skip


CALM, SPRINKLE = run(), run((HOT, int(ATTEMPTS * HARDLY)))
BEFORE = run((HOT, 40_000))
PROOFS: dict[str, tuple[list[Tried], list[Tried], str, Limit | None]] = {
    "no throttle is left": ([BEFORE], [CALM], "fixed", None),
    "hardly one is left": ([BEFORE], [SPRINKLE], "fixed", None),
    "fewer are left, by the same limit": ([BEFORE], [run((HOT, 5_000))], "not_fixed", HOT),
    "another limit is met, the old one hardly": ([BEFORE], [run((INDEX, 5_000), (HOT, 50))], "moved", INDEX),
    "both are met": ([BEFORE], [run((INDEX, 9_000), (HOT, 5_000))], "not_fixed", HOT),
    "the original met another limit": ([run((INDEX, 40_000))], [CALM], "not_shown", None),
    "one repetition is not fixed": ([BEFORE, BEFORE], [CALM, run((HOT, 900))], "not_fixed", HOT),
    "one repetition did not throttle": ([BEFORE, CALM], [CALM, CALM], "not_shown", None),
    "a run says nothing": ([BEFORE], [run(valid=False)], "invalid", None),
    "there is no run": ([BEFORE], [], "invalid", None),
}


@pytest.mark.parametrize(("before", "after", "kind", "now"), PROOFS.values(), ids=PROOFS)
def test_what_both_sides_prove(before: list[Tried], after: list[Tried], kind: str, now: Limit | None) -> None:
    found = proof_of(HOT, before, after)
    assert (found.kind, found.now) == (kind, now)


def test_what_lives_on_burst_is_not_fixed() -> None:
    short: Limit = ("table", "table", "write")
    living = replace(CALM, on_burst=("table", "write", "More than it has."))
    found = proof_of(short, [run((short, 40_000))], [CALM, living])
    assert (found.kind, found.now, found.on_burst) == ("not_fixed", short, "More than it has.")


def test_a_month_is_what_is_provisioned_or_what_was_consumed() -> None:
    prices = load_prices()
    of = written(units_per_s=100.0)
    fixed = month_of(a_shipped("hotkey"), of, 1.0, prices)
    hour = 4_000 * prices.provisioned.write_per_hour + 500 * prices.provisioned.read_per_hour
    assert fixed == pytest.approx(730 * hour)
    by_request = a_shipped("too-small", 'table.billing_mode="PAY_PER_REQUEST"', "table.provisioned=")
    found = month_of(by_request, of, 0.1, prices)
    assert found == pytest.approx(1_000 * 730 * 3_600 / 1e6 * prices.on_demand.write_per_million)
    assert month_of(a_shipped("scale-down"), of, 1.0, prices) is None
    assert month_of(a_shipped("auto-scaling-late"), of, 1.0, prices) is None


@pytest.mark.parametrize(
    ("counted", "per_read"),
    [
        ({"reads.units": 60.0, "reads.checked": 20.0}, 3.0),
        ({"simulated.read_units": 60.0, "simulated.reads": 20.0}, 3.0),
        ({"reads.units": 60.0, "reads.checked": 0.0}, None),
        ({}, None),
    ],
)
def test_what_one_read_took(counted: dict[str, float], per_read: float | None) -> None:
    assert replace(CALM, manifest=a_manifest(counted=counted)).units_per_read == per_read


def test_pre_warming_is_paid_once_for_what_is_not_there() -> None:
    priced = load_prices().model_copy(update={"warm": WarmPrices(write_once=0.01, read_once=0.002)})
    warm = a_shipped(
        "too-small", 'table.billing_mode="PAY_PER_REQUEST"', "table.provisioned=", "table.warm={write=9_000}"
    )
    assert once_dollars(warm, priced) == pytest.approx(5_000 * 0.01)
    assert once_dollars(a_shipped("hotkey"), priced) is None
    assert once_dollars(warm, priced.model_copy(update={"warm": None})) is None


def test_a_month_of_a_replayed_incident_is_that_of_its_busier_half() -> None:
    """The calm before the incident would make the load that goes on look cheaper."""
    seconds = pd.DataFrame(0.0, range(600), ["attempts", "accepted", "throttled", "own_units"])
    seconds = seconds.assign(units=[10.0] * 300 + [100.0] * 300, whole=True)
    of = {WRITE: RunTraffic(seconds, slice(0, 599)), READ: traffic()}
    by_request = a_shipped("too-small", 'table.billing_mode="PAY_PER_REQUEST"', "table.provisioned=")
    prices = load_prices()
    replayed = month_of(by_request, of, 1.0, prices, replayed=True)
    steady = month_of(by_request, written(units_per_s=100.0), 1.0, prices)
    assert replayed == pytest.approx(steady)
    assert month_of(by_request, of, 1.0, prices) == pytest.approx(0.55 * steady)
