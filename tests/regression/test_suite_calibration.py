"""What a suite can tell from noise, by runs between which nothing changed."""

from math import exp
from random import Random
from typing import Any

import pytest

from keyheat.analysis.summary import RunSummary
from keyheat.regression.calibration import Calibration, MeasureNoise, calibrate
from keyheat.regression.outcome import Gate
from tests.regression.runs import a_summary

WRITES, P99, FIRST = "accepted_units_per_s.write", "p99_ms", "first_throttle_s"
GATES = [
    Gate(measure="labels"),
    Gate(measure=WRITES, least_effect=0.05),
    Gate(measure=P99, least_effect=0.25),
    Gate(measure=FIRST, least_effect=0.2),
    Gate(measure="recovery_s", least_effect=0.2),
]


def noisy_runs(count: int = 20, **more: Any) -> list[RunSummary]:
    rng = Random(1)
    return [
        a_summary(
            seed,
            measures={WRITES: 1_000 * exp(rng.gauss(0, 0.02)), P99: 20 * exp(rng.gauss(0, 0.3)), FIRST: None},
            absent={FIRST: "no_throttles"},
            **more,
        )
        for seed in range(count)
    ]


def calibrated(runs: list[RunSummary], repetitions: int = 5, splits: int = 100) -> Calibration:
    return calibrate(
        {"hotkey": GATES}, {"hotkey": runs}, repetitions={"hotkey": repetitions}, rng=Random(2), splits=splits
    )


def row(calibration: Calibration, measure: str) -> MeasureNoise:
    return next(one for one in calibration.measures if one.measure == measure)


def test_each_statistical_measure_has_its_noise_and_what_it_hides() -> None:
    found = calibrated(noisy_runs())
    assert [one.measure for one in found.measures] == [WRITES, P99, FIRST, "recovery_s"]
    units, p99 = row(found, WRITES), row(found, P99)
    assert units.noise == pytest.approx(0.02, rel=0.5)
    assert p99.noise == pytest.approx(0.3, rel=0.5)
    assert units.confidence == pytest.approx(0.99)  # p99 of a local endpoint is not judged like that
    assert units.smallest_change is not None
    assert 0.06 < units.smallest_change < 0.13
    assert units.repetitions_for_10_percent is not None
    assert units.repetitions_for_5_percent is not None
    assert units.repetitions_for_10_percent < units.repetitions_for_5_percent < 10
    assert p99.smallest_change is not None
    assert p99.smallest_change > 1
    assert found.false_alarms <= 2


def test_a_suite_of_nothing_but_local_service_times_is_calibrated() -> None:
    found = calibrate(
        {"hotkey": GATES[2:3]}, {"hotkey": noisy_runs()}, repetitions={"hotkey": 5}, rng=Random(2), splits=1
    )
    assert row(found, P99).confidence == pytest.approx(0.99)
    assert row(found, P99).smallest_change is not None


def test_more_repetitions_tell_smaller_changes() -> None:
    runs = noisy_runs()
    few, many = (row(calibrated(runs, count, splits=1), WRITES).smallest_change for count in (3, 10))
    assert few is not None
    assert many is not None
    assert few > 1.5 * many


def test_what_has_no_numbers_says_why() -> None:
    found = calibrated(noisy_runs(), splits=1)
    assert row(found, FIRST).because == "no throttles in 20 of 20 runs"
    assert row(found, "recovery_s").because == "no run has it"
    assert row(found, "recovery_s").noise is None


def test_one_repetition_tells_nothing() -> None:
    assert row(calibrated(noisy_runs(), 1, splits=1), WRITES).smallest_change is None


def test_runs_that_are_not_valid_are_left_out() -> None:
    found = calibrated([*noisy_runs(8), *noisy_runs(3, valid=False)], splits=3)
    assert (found.left_out, found.split_repetitions) == (3, {"hotkey": 4})
    assert row(found, WRITES).runs == 8


def test_drift_between_the_runs_raises_the_noise_and_not_the_false_alarms() -> None:
    runs = [a_summary(place, measures={WRITES: 1_000 - 20 * place}) for place in range(12)]
    found = calibrated(runs)
    assert found.false_alarms <= 2
    noise = row(found, WRITES).noise
    assert noise is not None
    assert noise > 0.07


def test_it_is_written_and_read_as_json() -> None:
    found = calibrated(noisy_runs(), splits=2)
    assert Calibration.model_validate_json(found.model_dump_json()) == found
