"""What counts as a change: gates held against runs before and after."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from keyheat.analysis.summary import RunSummary
from keyheat.regression.compare import judge
from keyheat.regression.outcome import Gate, GateFinding
from keyheat.regression.phrases import change_phrase
from keyheat.regression.statistics import interval_of
from tests.conftest import Golden
from tests.make import PARTITION, SETUP, SIMULATED, a_summary, summaries

WRITES = "accepted_units_per_s.write"
AMPLIFIED = "write_amplification"
STEADY = [1_000.0, 1_004.0, 997.0, 1_001.0, 998.0]


def judged(gate: Gate, before: Sequence[RunSummary], after: Sequence[RunSummary], **how: Any) -> GateFinding:
    (finding,) = judge({"hotkey": [gate]}, {"hotkey": before}, {"hotkey": after}, **how)
    return finding


def of_measure(
    name: str, before: list[float | None], after: list[float | None], least: float = 0.05, **more: Any
) -> GateFinding:
    gate = Gate(measure=name, least_effect=least)
    return judged(gate, summaries(name, before, **more), summaries(name, after, **more))


def told(findings: dict[str, GateFinding]) -> str:
    return "".join(
        f"== {name}\n{one.decision} ({change_phrase(one)}): {one.because}\n" for name, one in findings.items()
    )


def test_means_of_what_was_drawn_count_from_five_per_cent_on_where_the_table_is_another() -> None:
    gate = Gate(measure=AMPLIFIED)
    before, slightly, clearly = (
        summaries(AMPLIFIED, [number], setup=SIMULATED) for number in (2.32, 2.37, 2.45)
    )
    assert judged(gate, before, slightly).decision == "worse", "the same draws: any change counts"
    assert judged(gate, before, slightly, changed={"hotkey"}).decision == "same"
    assert judged(gate, before, clearly, changed={"hotkey"}).decision == "worse"


# exact


@pytest.mark.parametrize(
    ("before", "after", "decision"),
    [
        ([1.5], [1.5], "same"),
        ([1.5], [1.6], "worse"),
        ([1.5], [1.49], "better"),
        ([1.5, 1.7], [1.5, 1.7], "same"),  # its own number for each seed
        ([1.5, 1.7], [1.4, 1.8], "worse"),  # one seed is better: the other counts
        ([1.5, None], [1.5, 1.7], "same"),  # by the seed that both have
        ([0.0], [0.1], "worse"),
        ([None], [None], "undecided"),
    ],
)
def test_an_exact_measure_is_compared_seed_by_seed(
    before: list[float | None], after: list[float | None], decision: str
) -> None:
    assert of_measure(AMPLIFIED, before, after, least=0.0).decision == decision


def test_what_differs_between_runs_of_one_seed_is_judged_as_what_has_noise() -> None:
    before = [a_summary(1, measures={AMPLIFIED: value}) for value in (1.5, 1.6)]
    assert judged(Gate(measure=AMPLIFIED), before, [a_summary(1)] * 2).decision == "undecided"


@pytest.mark.parametrize(
    ("before", "after", "decision"),
    [
        ([1.5, 1.5], [1.6, 1.6], "worse"),  # the same in all runs of a side: the seed does not matter
        ([1.5, 1.6], [1.5, 1.6], "undecided"),
        ([1.5], [1.6], "undecided"),  # one run of one seed
        ([1.5], [1.5], "undecided"),
    ],
)
def test_without_a_common_seed_a_number_must_not_depend_on_it(
    before: list[float], after: list[float], decision: str
) -> None:
    runs = [
        [a_summary(first + place, measures={AMPLIFIED: value}) for place, value in enumerate(side)]
        for first, side in ((1, before), (11, after))
    ]
    assert judged(Gate(measure=AMPLIFIED), *runs).decision == decision


NOISY: list[float | None] = [700.0, 1_400.0, 900.0, 1_200.0, 800.0]
SHARE, USED = "throttle_share", "capacity_used.write"


def simulated(name: str, before: float | None, after: float | None, least: float = 0.1) -> GateFinding:
    return of_measure(name, [before], [after], least=least, setup=SIMULATED)


def test_simulated_runs_are_held_without_repetitions(golden: Golden) -> None:
    findings = {
        "within its least effect": simulated(AMPLIFIED, 1.5, 1.52),
        "newer than the baseline": simulated(AMPLIFIED, None, 1.5, 0.0),
        "a share from nothing": simulated(SHARE, 0.0, 0.0106),
        "a share to nothing": simulated(SHARE, 0.06, 0.0),
        "a larger share": simulated(SHARE, 0.02, 0.06),
        "a share that is hardly larger": simulated(SHARE, 0.06, 0.062),
        "two shares that are hardly anything": simulated(SHARE, 0.0009, 0.0002),
        "less is left than auto scaling leaves": simulated(USED, 0.4, 0.8, 0.05),
        "as much is left as auto scaling leaves": simulated(USED, 0.4, 0.65, 0.05),
        "hardly less is left": simulated(USED, 0.8, 0.83, 0.05),
    }
    golden("judged-simulated.txt", told(findings))


# labels


def runs_with(*labels: tuple[str, ...], **more: Any) -> list[RunSummary]:
    return [
        a_summary(seed, labels=seen, constraint=seen[0].split()[-1] if seen else "none", **more)
        for seed, seen in enumerate(labels, 1)
    ]


TABLE = "table write table"
NEW = "by-country write partition"


def test_labels_are_compared_as_sets(golden: Golden) -> None:
    one, two, other, none = [(PARTITION,)], [(PARTITION, NEW)], [(TABLE,)], [()]

    def compared(before: list[tuple[str, ...]], after: list[tuple[str, ...]]) -> GateFinding:
        return judged(Gate(measure="labels"), runs_with(*before), runs_with(*after))

    findings = {
        "the same": compared(one, one),
        "one more": compared(one, two),
        "one less": compared(two, one),
        "none any more": compared(one, none),
        "the first": compared(none, one),
        "another": compared(one, other),
        "one more, in one of five": compared(one * 5, two + one * 4),
        "one more, in three of five": compared(one * 5, two * 3 + one * 2),
        "one that comes and goes": compared(two + one * 4, two * 4 + one),
    }
    golden("judged-labels.txt", told(findings))


# statistical


@pytest.mark.parametrize(
    ("factor", "decision"),
    [(1.0, "same"), (0.98, "same"), (0.9, "worse"), (1.1, "better"), (0.95, "undecided")],
)
def test_a_change_counts_beyond_the_noise_and_the_least_effect(factor: float, decision: str) -> None:
    finding = of_measure(WRITES, [*STEADY], [value * factor for value in STEADY])
    assert finding.decision == decision
    assert finding.change == pytest.approx(factor - 1)
    assert finding.low < factor - 1 < finding.high  # type: ignore[operator]


def test_each_further_gate_widens_the_interval() -> None:
    gates = [Gate(measure=WRITES), Gate(measure="throttle_share")]
    before, after = summaries(WRITES, [*STEADY]), summaries(WRITES, [*STEADY])
    alone, beside = (
        judge({"hotkey": some}, {"hotkey": before}, {"hotkey": after})[0] for some in (gates[:1], gates)
    )
    assert beside.high > alone.high  # type: ignore[operator]


def lacking(name: str, why: str, runs: int = 5) -> list[RunSummary]:
    return [a_summary(seed, measures={name: None}, absent={name: why}) for seed in range(1, runs + 1)]


def test_what_is_absent_zero_or_too_noisy_is_judged_and_says_why(golden: Golden) -> None:
    steady, some, zero = [*STEADY], [0.1, 0.11, 0.1, 0.09, 0.1], [0.0] * 5
    first, recovers, shards = (
        Gate(measure=name, least_effect=0.1) for name in ("first_throttle_s", "recovery_s", "shards_needed")
    )
    calm = lacking("first_throttle_s", "no_throttles")
    late = summaries("first_throttle_s", [49.0, 48.0, 49.0, 49.0, 48.0])
    soon, never = summaries("recovery_s", [5.0, 6.0, 5.0, 6.0, 5.0]), lacking("recovery_s", "not_recovered")
    few, no_number = summaries("shards_needed", [4.0]), lacking("shards_needed", "no_number", 1)
    calm_again, no_file = lacking("recovery_s", "no_throttles"), lacking(WRITES, "no_file")
    findings = {
        "an exact number that is gone": of_measure(AMPLIFIED, [1.5], [None], least=0.0),
        "an exact number that has come": judged(
            Gate(measure=AMPLIFIED), lacking(AMPLIFIED, "no_file", 1), summaries(AMPLIFIED, [1.5])
        ),
        "throttles where there were none": of_measure(SHARE, zero, some),
        "no throttles any more": of_measure(SHARE, some, zero),
        "hardly a throttle": of_measure(SHARE, zero, [0.0, 0.001, 0.0, 0.0, 0.0]),
        "a first throttle": judged(first, calm, late),
        "no first throttle any more": judged(first, late, calm),
        "no first throttle as before": judged(first, calm, calm),
        "a first throttle in the only run": judged(first, calm[:1], late[:1]),
        "a first throttle in one of five": judged(first, calm, [*calm[:4], a_summary(5)]),
        "throttling to the end": judged(recovers, soon, never),
        "no throttling to the end any more": judged(recovers, never, calm_again),
        "no number of shards is enough": judged(shards, few, no_number),
        "shards are enough again": judged(shards, no_number, few),
        "no number of shards, as before": judged(shards, no_number, no_number),
        "none after": of_measure(WRITES, steady, [None] * 5),
        "none at all": of_measure(WRITES, [None] * 5, [None] * 5),
        "a file is missing": judged(Gate(measure=WRITES), summaries(WRITES, steady), no_file),
        "much noise": of_measure(WRITES, NOISY, [*NOISY[1:], NOISY[0]]),
        "an interval that says nothing": of_measure("p50_ms", [0.2, 1.7], [1.7, 0.2]),
        "one run on a side": of_measure(WRITES, [1_000.0], [100.0]),
    }
    golden("judged-absent.txt", told(findings))


def test_service_times_of_a_local_endpoint_are_the_machines_unless_runs_took_turns(golden: Golden) -> None:
    times, slower = [value / 100 for value in STEADY], [value / 50 for value in STEADY]

    def on(target: str, **how: Any) -> GateFinding:
        setup = SETUP.model_copy(update={"target": target})
        before, after = (summaries("p99_ms", side, setup=setup) for side in (times, slower))
        return judged(Gate(measure="p99_ms", least_effect=0.25), before, after, **how)

    findings = {
        "at a URL": on("http://127.0.0.1:8000"), "local": on("local"), "on AWS": on("aws"),
        "local, in turns": on("local", in_turns=True),
    }  # fmt: skip
    golden("judged-service-times.txt", told(findings))


def test_seconds_that_are_counted_whole_are_not_believed_to_the_second() -> None:
    assert of_measure("first_throttle_s", [5.0] * 5, [4.0] * 5, least=0.1).decision == "undecided"
    assert of_measure("first_throttle_s", [50.0] * 5, [40.0] * 5, least=0.1).decision == "worse"


@pytest.mark.slow
@pytest.mark.parametrize("paired", [False, True])
def test_an_interval_holds_the_truth_as_often_as_it_says(paired: bool) -> None:
    logs = np.exp(np.random.default_rng(6).normal(0, 0.1, (2_000, 2, 4)))
    intervals = [interval_of(one[0].tolist(), one[1].tolist(), 0.95, paired=paired) for one in logs]
    assert 0.93 < sum(one.low <= 0 <= one.high for one in intervals) / len(intervals) < 0.975


# all of them


def test_runs_that_are_not_valid_are_left_out() -> None:
    after = [*summaries(WRITES, [*STEADY]), a_summary(9, valid=False, measures={WRITES: 1.0})]
    finding = judged(Gate(measure=WRITES, least_effect=0.05), summaries(WRITES, [*STEADY]), after)
    assert (finding.decision, finding.repetitions) == ("same", (5, 5))


def test_a_case_without_valid_runs_fails_all_its_gates() -> None:
    gates = [Gate(measure="labels"), Gate(measure=AMPLIFIED), Gate(measure=WRITES)]
    findings = judge({"hotkey": gates}, {}, {"hotkey": [a_summary()]})
    assert [finding.decision for finding in findings] == ["missing"] * 3
    assert findings[0].because == "There is no valid run before."


def test_pairs_take_away_what_both_runs_share() -> None:
    drift = [1.0, 1.3, 0.8, 1.6, 0.7]
    before = summaries(WRITES, [1_000.0 * part for part in drift])  # what the machine does meanwhile
    after = summaries(WRITES, [1_000.0 * 0.9 * part + place for place, part in enumerate(drift)])
    gate = Gate(measure=WRITES, least_effect=0.05)
    assert judged(gate, before, after).decision == "undecided"
    assert judged(gate, before, after, in_turns=True).decision == "worse"
    without_drift = summaries(WRITES, [1_000.0, 1_030.0, 970.0, 1_010.0, 990.0])
    after = summaries(WRITES, [870.0, 900.0, 905.0, 880.0, 920.0])
    assert judged(gate, without_drift, after, in_turns=True).decision == "worse", "as two groups"
