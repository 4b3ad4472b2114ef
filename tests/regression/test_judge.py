"""What counts as a change: gates held against runs before and after."""

from collections.abc import Sequence
from typing import Any

import pytest

from keyheat.analysis.summary import RunSummary
from keyheat.regression.compare import judge
from keyheat.regression.outcome import Gate, GateFinding
from keyheat.regression.phrases import change_phrase
from tests.make import MEASURES, PARTITION, SETUP, SIMULATED, a_summary, summaries

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
        ([1.5], [1.5 + 1e-12], "same"),
        ([1.5], [1.6], "worse"),
        ([1.5], [1.49], "better"),
        ([1.5, 1.7], [1.5, 1.7], "same"),  # its own number for each seed
        ([1.5, 1.7], [1.4, 1.8], "worse"),  # one seed is better: the other counts
        ([1.5, None], [1.5, 1.7], "same"),  # by the seed that both have
        ([0.0], [0.0], "same"),
        ([0.0], [0.1], "worse"),
    ],
)
def test_an_exact_measure_is_compared_seed_by_seed(
    before: list[float | None], after: list[float | None], decision: str
) -> None:
    assert of_measure(AMPLIFIED, before, after, least=0.0).decision == decision


def test_a_number_that_one_side_lacks_is_never_the_same() -> None:
    gone = of_measure(AMPLIFIED, [1.5], [None], least=0.0)
    assert (gone.decision, gone.before, gone.after, gone.failed) == ("missing", 1.5, None, True)
    assert gone.because == "No run after has write_amplification; before it was 1.5 x."
    none = [a_summary(measures={AMPLIFIED: None}, absent={AMPLIFIED: "no_file"})]
    come = judged(Gate(measure=AMPLIFIED), none, summaries(AMPLIFIED, [1.5]))
    assert (come.decision, come.before, come.after) == ("missing", None, 1.5)


def test_a_baseline_from_before_there_was_a_measure_is_no_regression() -> None:
    finding = of_measure(AMPLIFIED, [None], [1.5], least=0.0)
    assert (finding.decision, finding.failed, finding.after) == ("undecided", False, 1.5)
    assert "The baseline is older than write_amplification; now it is 1.5 x" in finding.because


def test_a_number_that_no_side_has_is_neither_the_same_nor_a_failure() -> None:
    finding = of_measure(AMPLIFIED, [None], [None], least=0.0)
    assert (finding.decision, finding.before, finding.after) == ("undecided", None, None)


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


def test_what_an_exact_gate_lets_pass_is_said() -> None:
    finding = of_measure(AMPLIFIED, [1.5], [1.52], least=0.05)
    assert finding.decision == "same"
    assert "changes up to 5 % do not count" in finding.because


@pytest.mark.parametrize(
    ("before", "after", "decision", "words"),
    [
        (0.0, 0.0106, "worse", "0 % before, 1.06 % now (+1.06 percentage points)"),
        (0.06, 0.0, "better", "6 % before, 0 % now (-6 percentage points)"),
        (0.02, 0.06, "worse", "2 % before, 6 % now (+4 percentage points, 200 % more)"),
        (0.06, 0.062, "same", "changes up to 10 % do not count"),
        (
            0.0009,
            0.0002,
            "same",
            "0.09 % before, 0.02 % now (-0.07 percentage points)",
        ),  # both hardly anything
    ],
)
def test_the_share_that_a_simulated_run_throttles_is_held_without_repetitions(
    before: float, after: float, decision: str, words: str
) -> None:
    finding = of_measure("throttle_share", [before], [after], least=0.1, setup=SIMULATED)
    assert (finding.decision, finding.before, finding.after) == (decision, before, after)
    assert words in finding.because


@pytest.mark.parametrize(
    ("before", "after", "decision", "words"),
    [
        (
            0.4,
            0.65,
            "same",
            "40 % before, 65 % now (+25 percentage points, 62 % more), and nothing up to 70 % counts",
        ),
        (0.4, 0.8, "worse", "40 % before, 80 % now (+40 percentage points, 100 % more)"),
        (0.8, 0.83, "same", "changes up to 5 % do not count"),
    ],
)
def test_capacity_counts_where_less_is_left_than_auto_scaling_leaves(
    before: float, after: float, decision: str, words: str
) -> None:
    finding = of_measure("capacity_used.write", [before], [after], least=0.05, setup=SIMULATED)
    assert finding.decision == decision
    assert words in finding.because


# labels


def labelled(before: Sequence[RunSummary], after: Sequence[RunSummary]) -> GateFinding:
    return judged(Gate(measure="labels"), before, after)


def runs_with(*labels: tuple[str, ...], **more: Any) -> list[RunSummary]:
    return [
        a_summary(seed, labels=seen, constraint=seen[0].split()[-1] if seen else "none", **more)
        for seed, seen in enumerate(labels, 1)
    ]


TABLE = "table write table"
NEW = "by-country write partition"


@pytest.mark.parametrize(
    ("before", "after", "decision", "because"),
    [
        ([(PARTITION,)], [(PARTITION,)], "same", "The same labels"),
        (
            [(PARTITION,)],
            [(PARTITION, NEW)],
            "worse",
            "A partition limit (index by-country writes) is new, in the only run",
        ),
        ([(PARTITION, NEW)], [(PARTITION,)], "better", "A partition limit (index by-country writes) is gone"),
        ([(PARTITION,)], [()], "better", "A partition limit (table writes) is gone"),
        ([()], [(PARTITION,)], "worse", "A partition limit (table writes) is new"),
        ([(PARTITION,)], [(TABLE,)], "worse", "The provisioned capacity (table writes) is new"),
        ([(PARTITION,)] * 5, [(PARTITION, NEW), *[(PARTITION,)] * 4], "same", "The same labels"),
        (
            [(PARTITION,)] * 5,
            [(PARTITION, NEW)] * 3 + [(PARTITION,)] * 2,
            "worse",
            "is new, in 3 of 5 repetitions",
        ),
        (
            [(PARTITION, NEW), *[(PARTITION,)] * 4],
            [(PARTITION, NEW)] * 4 + [(PARTITION,)],
            "undecided",
            "comes and goes: 1 of 5 before, 4 of 5 now",
        ),
    ],
)
def test_labels_are_compared_as_sets(
    before: list[tuple[str, ...]], after: list[tuple[str, ...]], decision: str, because: str
) -> None:
    finding = labelled(runs_with(*before), runs_with(*after))
    assert finding.decision == decision
    assert because in finding.because


def test_a_simulated_run_of_one_seed_with_a_new_label_is_worse() -> None:
    after = runs_with((PARTITION,), (PARTITION, NEW), (PARTITION,), setup=SIMULATED)
    finding = labelled(runs_with(*[(PARTITION,)] * 3, setup=SIMULATED), after)
    assert finding.decision == "worse"


# statistical


@pytest.mark.parametrize(
    ("factor", "decision"),
    [(1.0, "same"), (0.98, "same"), (0.9, "worse"), (1.1, "better"), (0.95, "undecided")],
)
def test_a_change_counts_beyond_the_noise_and_the_least_effect(factor: float, decision: str) -> None:
    finding = of_measure(WRITES, [*STEADY], [value * factor for value in STEADY])
    assert finding.decision == decision
    assert finding.change == pytest.approx(factor - 1)
    assert finding.low is not None
    assert finding.high is not None
    assert finding.low < factor - 1 < finding.high


def test_more_of_what_should_be_less_is_worse() -> None:
    shares: list[float | None] = [value / 5_000 for value in STEADY]
    assert of_measure("throttle_share", shares, [0.24] * 5).decision == "worse"


def test_service_times_of_a_local_endpoint_are_the_machines_unless_runs_took_turns() -> None:
    times: list[float | None] = [value / 100 for value in STEADY]
    slower: list[float | None] = [value / 50 for value in STEADY]
    here = SETUP.model_copy(update={"target": "http://127.0.0.1:8000"})
    assert of_measure("p99_ms", times, slower, setup=here).decision == "undecided"
    alone = of_measure("p99_ms", times, slower)
    assert alone.decision == "undecided"
    assert alone.because.endswith("may differ by its machine; paired = true reruns the baseline beside it.")
    aws = SETUP.model_copy(update={"target": "aws"})
    assert of_measure("p99_ms", times, slower, setup=aws).decision == "worse"
    gate = Gate(measure="p99_ms", least_effect=0.25)
    before, after = summaries("p99_ms", times), summaries("p99_ms", slower)
    assert judged(gate, before, after, in_turns=True).decision == "worse"


def test_noise_is_undecided_and_says_how_many_repetitions_would_do() -> None:
    noisy: list[float | None] = [700.0, 1_400.0, 900.0, 1_200.0, 800.0]
    finding = of_measure(WRITES, noisy, [*noisy[1:], noisy[0]])
    assert finding.decision == "undecided"
    assert finding.because.endswith("; too noisy to tell 5 % with 5 repetitions: 461 are enough.")


def test_an_interval_that_says_nothing_is_not_written_out() -> None:
    wild: list[float | None] = [0.2, 1.7]
    finding = of_measure("p50_ms", wild, wild[::-1])
    assert finding.decision == "undecided"
    assert change_phrase(finding) == "inconclusive"
    assert "the size of the change is unknown" in finding.because
    assert "over x" not in finding.because


def test_one_run_on_a_side_is_never_decided() -> None:
    finding = of_measure(WRITES, [1_000.0], [100.0])
    assert (finding.decision, finding.low) == ("undecided", None)
    assert "one repetition has no spread" in finding.because


def test_each_further_gate_widens_the_interval() -> None:
    gates = [Gate(measure=WRITES), Gate(measure="throttle_share")]
    before, after = summaries(WRITES, [*STEADY]), summaries(WRITES, [*STEADY])
    alone, beside = (
        judge({"hotkey": some}, {"hotkey": before}, {"hotkey": after})[0] for some in (gates[:1], gates)
    )
    assert alone.high is not None
    assert beside.high is not None
    assert beside.high > alone.high


def test_no_throttles_against_some_is_worse_and_not_a_division_by_zero() -> None:
    some: list[float | None] = [0.1, 0.11, 0.1, 0.09, 0.1]
    assert of_measure("throttle_share", [0.0] * 5, some).decision == "worse"
    better = of_measure("throttle_share", some, [0.0] * 5)
    assert (better.decision, change_phrase(better)) == (
        "better",
        better.because.partition(": ")[2].rstrip("."),
    )
    assert change_phrase(better).endswith(" points")  # not a ratio to nothing
    assert of_measure("throttle_share", [0.0] * 5, [0.0, 0.001, 0.0, 0.0, 0.0]).decision == "same"


def lacking(name: str, why: str, runs: int = 5) -> list[RunSummary]:
    return [a_summary(seed, measures={name: None}, absent={name: why}) for seed in range(1, runs + 1)]


def test_a_first_throttle_where_there_was_none_is_worse() -> None:
    name = "first_throttle_s"
    calm = lacking(name, "no_throttles")
    late = summaries(name, [49.0, 48.0, 49.0, 49.0, 48.0])
    gate = Gate(measure=name, least_effect=0.1)
    worse = judged(gate, calm, late)
    assert (worse.decision, worse.before, worse.after) == ("worse", "no throttles", 49.0)
    assert worse.because == "no throttles in 5 of 5 runs before, 49 s now."
    assert judged(gate, late, calm).decision == "better"
    assert judged(gate, calm, calm).decision == "same"
    few = judged(gate, calm[:1], late[:1])
    assert (few.decision, few.because) == (
        "undecided",
        "no throttles in 1 of 1 run before, 49 s now: 3 repetitions are enough.",
    )


def test_throttles_that_come_and_go_are_undecided() -> None:
    name = "first_throttle_s"
    finding = judged(
        Gate(measure=name), lacking(name, "no_throttles"), [*lacking(name, "no_throttles")[:4], a_summary(5)]
    )
    assert finding.decision == "undecided"
    assert "no throttles in 4 of 5 runs, else 5 s now: it comes and goes" in finding.because


def test_a_table_that_no_longer_recovers_is_worse() -> None:
    name = "recovery_s"
    before = summaries(name, [5.0, 6.0, 5.0, 6.0, 5.0])
    finding = judged(Gate(measure=name, least_effect=0.1), before, lacking(name, "not_recovered"))
    assert (finding.decision, finding.after) == ("worse", "throttling to the end")
    calm = judged(Gate(measure=name), lacking(name, "not_recovered"), lacking(name, "no_throttles"))
    assert calm.decision == "better"


def test_shards_that_no_number_is_enough_of_are_more_than_any_number() -> None:
    name = "shards_needed"
    some, none = summaries(name, [4.0]), lacking(name, "no_number", 1)
    worse = judged(Gate(measure=name), some, none)
    assert (worse.decision, worse.after, worse.change) == ("worse", "no number is enough", None)
    assert judged(Gate(measure=name), none, some).decision == "better"
    assert judged(Gate(measure=name), none, none).decision == "same"


def test_an_absence_that_says_nothing_is_missing_and_says_why() -> None:
    finding = judged(Gate(measure=WRITES), summaries(WRITES, [*STEADY]), lacking(WRITES, "no_file"))
    assert finding.decision == "missing"
    assert "the run's file about it is missing or damaged; before it was 1,000 units/s" in finding.because


def test_seconds_that_are_counted_whole_are_not_believed_to_the_second() -> None:
    assert of_measure("first_throttle_s", [5.0] * 5, [4.0] * 5, least=0.1).decision == "undecided"
    assert of_measure("first_throttle_s", [50.0] * 5, [40.0] * 5, least=0.1).decision == "worse"


def test_what_statistics_lack_is_missing() -> None:
    finding = of_measure(WRITES, [*STEADY], [None] * 5)
    assert finding.decision == "missing"
    assert of_measure(WRITES, [None] * 5, [None] * 5).decision == "undecided"


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


def test_runs_in_turns_without_drift_are_told_as_two_groups() -> None:
    before = summaries(WRITES, [1_000.0, 1_030.0, 970.0, 1_010.0, 990.0])
    after = summaries(WRITES, [870.0, 900.0, 905.0, 880.0, 920.0])
    gate = Gate(measure=WRITES, least_effect=0.05)
    assert judged(gate, before, after, in_turns=True).decision == "worse"


def test_findings_come_in_the_order_of_the_suite() -> None:
    gates = {case: [Gate(measure=name) for name in ("labels", *MEASURES)] for case in ("b", "a")}
    runs = {case: summaries(WRITES, [*STEADY]) for case in gates}
    findings = judge(gates, runs, runs)
    assert [(one.case, one.gate) for one in findings] == [
        (case, gate) for case, of_case in gates.items() for gate in of_case
    ]
    assert not any(finding.failed for finding in findings)
