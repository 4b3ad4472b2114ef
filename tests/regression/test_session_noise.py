"""How far good sessions are apart by themselves, and that a change has to stand beside it."""

from dataclasses import replace
from datetime import UTC, datetime
from math import log
from random import Random

import pytest

from keyheat.regression.gates.judge import judge
from keyheat.regression.history.records import HistoryPoint
from keyheat.regression.outcome import Difference, Gate, Verdict
from keyheat.regression.session_noise import (
    LEAST_OF_TRAFFIC,
    LEAST_RANGES,
    SessionNoise,
    noise_of,
    that_count,
)
from tests.regression.runs import SIMULATED, with_measure

SHARE = "throttle_share"
AT = datetime(2026, 11, 1, tzinfo=UTC)


def points(levels: list[float], verdict: Verdict = "good") -> list[HistoryPoint]:
    return [
        HistoryPoint(session=number, started_at=AT, verdict=verdict, label=None, values=(level, level))
        for number, level in enumerate(levels, 1)
    ]


def spread_of(sessions: list[HistoryPoint]) -> float:
    found = noise_of(sessions, SHARE)
    assert found is not None
    return found.spread


def noisy(count: int, level: float = 0.3) -> list[float]:
    rng = Random(1)
    return [level * (1 + rng.gauss(0, 0.05)) for _ in range(count)]


def test_too_few_good_sessions_say_nothing() -> None:
    assert noise_of(points(noisy(LEAST_OF_TRAFFIC)), SHARE) is None
    assert noise_of(points(noisy(LEAST_OF_TRAFFIC + 1)), SHARE) is not None
    assert noise_of(points(noisy(20), "regressed"), SHARE) is None


def test_the_spread_is_that_of_the_ratio_of_two_neighbours() -> None:
    """Two levels that differ by five percent each differ by seven from each other."""
    assert spread_of(points(noisy(20))) == pytest.approx(0.07, rel=0.4)


def test_a_session_that_regressed_and_one_better_level_change_it_little() -> None:
    calm = points(noisy(20))
    bad = [replace(point, verdict="regressed", values=(0.9,)) for point in calm[:1]]
    assert spread_of([*calm[:10], *bad, *calm[10:]]) == spread_of(calm)
    better = points([*noisy(10), *noisy(10, 0.01)])
    assert spread_of(better) == pytest.approx(spread_of(calm), rel=0.3)


def test_sessions_since_a_new_baseline_count_once_they_are_enough() -> None:
    wild, calm = points([0.1, 0.4] * 6), points([0.3] * (LEAST_RANGES + 1))
    begun = replace(calm[0], verdict="baseline")
    assert spread_of([*wild, begun, *calm[1:]]) == 0
    assert spread_of([*wild, begun, *calm[2:]]) > 0.5


def test_what_is_below_the_floor_is_alike() -> None:
    assert spread_of(points([0.0, 0.001] * 5)) == 0


def decision(after: list[float | None], noise: SessionNoise | None) -> str:
    gates = {"nightly": [Gate(measure=SHARE, least_effect=0.1)]}
    runs = {"nightly": with_measure(SHARE, [0.300, 0.301, 0.299])}, {"nightly": with_measure(SHARE, after)}
    noises = {("nightly", SHARE): noise} if noise is not None else {}
    (finding,) = judge(gates, *runs, noises=noises)
    return finding.decision


@pytest.mark.parametrize(
    ("after", "alone", "beside_others"),
    [
        ([0.340, 0.341, 0.339], "worse", "undecided"),  # 13 % more, and nights differ by a tenth
        ([0.265, 0.264, 0.266], "better", "undecided"),
        ([0.900, 0.901, 0.899], "worse", "worse"),
        ([0.305, 0.304, 0.306], "same", "same"),
    ],
)
def test_a_change_has_to_be_one_beside_what_good_sessions_differ(
    after: list[float | None], alone: str, beside_others: str
) -> None:
    assert decision(after, None) == alone
    assert decision(after, SessionNoise(spread=log(1.1), ranges=20)) == beside_others
    assert decision(after, SessionNoise(spread=0.0, ranges=5)) == alone


def changed(what: str, before: str, after: str) -> Difference:
    return Difference(case="nightly", what=what, before=before, after=after)


@pytest.mark.parametrize(
    ("differs", "counts"),
    [
        ([], False),
        ([changed("scenario load.requests_per_s", "1,200", "1,262")], True),
        ([changed("scenario load.requests_per_s", "1,200", "1,800")], False),
        ([changed("scenario", "0123", "4567")], False),  # nobody can say in what
        (
            [
                changed("scenario load.requests_per_s", "1,200", "1,262"),
                changed("table.provisioned.write", "2,600", "130"),
            ],
            False,
        ),
    ],
)
def test_a_few_sessions_count_where_nothing_but_the_traffic_is_slightly_another(
    differs: list[Difference], counts: bool
) -> None:
    few = {("nightly", SHARE): SessionNoise(spread=0.1, ranges=LEAST_OF_TRAFFIC)}
    enough = {("nightly", SHARE): SessionNoise(spread=0.1, ranges=LEAST_RANGES)}
    assert that_count(few, differs) == (few if counts else {})
    assert that_count(enough, differs) == enough


AMPLIFICATION = "write_amplification"


def amplified(before: list[float | None], after: list[float | None], *, first_seed: int) -> str:
    """What is said where the seeds after begin with this one; before they begin with 1."""
    gates = {"nightly": [Gate(measure=AMPLIFICATION)]}
    first = with_measure(AMPLIFICATION, before, setup=SIMULATED)
    last = [
        run.model_copy(update={"seed": seed})
        for seed, run in enumerate(with_measure(AMPLIFICATION, after, setup=SIMULATED), first_seed)
    ]
    (finding,) = judge(gates, {"nightly": first}, {"nightly": last})
    return finding.decision


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ([1.0, 1.0, 1.0], [2.002, 2.003, 2.001], "worse"),  # an index was added
        ([2.002, 2.003, 2.001], [1.0, 1.0, 1.0], "better"),
        ([2.001, 2.003, 2.002], [2.002, 2.004, 2.003], "same"),
        ([1.5, 2.5, 1.0], [2.0, 1.5, 2.5], "undecided"),
    ],
)
def test_an_exact_number_that_each_seed_draws_anew_is_decided_by_its_interval(
    before: list[float | None], after: list[float | None], said: str
) -> None:
    assert amplified(before, after, first_seed=10) == said


def test_with_the_same_seeds_any_change_of_it_counts() -> None:
    drawn: list[float | None] = [2.001, 2.003, 2.002]
    assert amplified(drawn, [2.001, 2.003, 2.0021], first_seed=1) == "worse"
