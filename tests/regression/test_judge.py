"""What counts as a change: gates held against runs before and after."""

from collections.abc import Sequence
from typing import Any

import pytest

from keyheat.analysis.summary import RunSummary, Setup
from keyheat.regression.compare import judge
from keyheat.regression.outcome import Gate, GateFinding
from keyheat.regression.phrases import change_phrase
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


def test_a_number_that_one_side_lacks_is_never_the_same() -> None:
    gone = of_measure(AMPLIFIED, [1.5], [None], least=0.0)
    assert (gone.decision, gone.before, gone.after, gone.failed) == ("missing", 1.5, None, True)
    assert gone.because == "No run after has write_amplification; before it was 1.5 x."
    none = [a_summary(measures={AMPLIFIED: None}, absent={AMPLIFIED: "no_file"})]
    come = judged(Gate(measure=AMPLIFIED), none, summaries(AMPLIFIED, [1.5]))
    assert (come.decision, come.before, come.after) == ("missing", None, 1.5)


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


@pytest.mark.parametrize(
    ("name", "before", "after", "least", "decision", "words"),
    [
        (AMPLIFIED, [1.5], [1.52], 0.05, "same", "changes up to 5 % do not count"),
        (AMPLIFIED, [None], [1.5], 0.0, "undecided", "The baseline is older than write_amplification; now"),
        (SHARE, [0.0], [0.0106], 0.1, "worse", "0 % before, 1.06 % now (+1.06 percentage points)"),
        (SHARE, [0.06], [0.0], 0.1, "better", "6 % before, 0 % now (-6 percentage points)"),
        (SHARE, [0.02], [0.06], 0.1, "worse", "2 % before, 6 % now (+4 percentage points, 200 % more)"),
        (SHARE, [0.06], [0.062], 0.1, "same", "changes up to 10 % do not count"),
        (SHARE, [0.0009], [0.0002], 0.1, "same", "0.09 % before, 0.02 % now (-0.07 percentage points)"),
        (USED, [0.4], [0.65], 0.05, "same", "62 % more), and nothing up to 70 % counts"),
        (USED, [0.4], [0.8], 0.05, "worse", "80 % now (+40 percentage points, 100 % more)"),
        (USED, [0.8], [0.83], 0.05, "same", "changes up to 5 % do not count"),
    ],
)
def test_simulated_runs_are_held_without_repetitions(
    name: str, before: list[float | None], after: list[float | None], least: float, decision: str, words: str
) -> None:
    finding = of_measure(name, before, after, least=least, setup=SIMULATED)
    assert (finding.decision, finding.before, finding.after) == (decision, before[0], after[0])
    assert words in finding.because


# labels


def runs_with(*labels: tuple[str, ...], **more: Any) -> list[RunSummary]:
    return [
        a_summary(seed, labels=seen, constraint=seen[0].split()[-1] if seen else "none", **more)
        for seed, seen in enumerate(labels, 1)
    ]


TABLE = "table write table"
NEW = "by-country write partition"
SEEN_IN = {runs: [(PARTITION, NEW)] * runs + [(PARTITION,)] * (5 - runs) for runs in (1, 3, 4)}


@pytest.mark.parametrize(
    ("before", "after", "decision", "because"),
    [
        ([(PARTITION,)], [(PARTITION,)], "same", "The same labels"),
        ([(PARTITION,)], [(PARTITION, NEW)], "worse", "(index by-country writes) is new, in the only run"),
        ([(PARTITION, NEW)], [(PARTITION,)], "better", "A partition limit (index by-country writes) is gone"),
        ([(PARTITION,)], [()], "better", "A partition limit (table writes) is gone"),
        ([()], [(PARTITION,)], "worse", "A partition limit (table writes) is new"),
        ([(PARTITION,)], [(TABLE,)], "worse", "The provisioned capacity (table writes) is new"),
        ([(PARTITION,)] * 5, SEEN_IN[1], "same", "The same labels"),
        ([(PARTITION,)] * 5, SEEN_IN[3], "worse", "is new, in 3 of 5 repetitions"),
        (SEEN_IN[1], SEEN_IN[4], "undecided", "comes and goes: 1 of 5 before, 4 of 5 now"),
    ],
)
def test_labels_are_compared_as_sets(
    before: list[tuple[str, ...]], after: list[tuple[str, ...]], decision: str, because: str
) -> None:
    finding = judged(Gate(measure="labels"), runs_with(*before), runs_with(*after))
    assert finding.decision == decision
    assert because in finding.because


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


def on(target: str) -> Setup:
    return SETUP.model_copy(update={"target": target})


def test_service_times_of_a_local_endpoint_are_the_machines_unless_runs_took_turns() -> None:
    times: list[float | None] = [value / 100 for value in STEADY]
    slower: list[float | None] = [value / 50 for value in STEADY]
    alone = of_measure("p99_ms", times, slower, setup=on("http://127.0.0.1:8000"))
    assert alone.decision == of_measure("p99_ms", times, slower).decision == "undecided"
    assert alone.because.endswith("may differ by its machine; paired = true reruns the baseline beside it.")
    assert of_measure("p99_ms", times, slower, setup=on("aws")).decision == "worse"
    gate = Gate(measure="p99_ms", least_effect=0.25)
    before, after = summaries("p99_ms", times), summaries("p99_ms", slower)
    assert judged(gate, before, after, in_turns=True).decision == "worse"


@pytest.mark.parametrize(
    ("name", "before", "after", "words"),
    [
        (WRITES, NOISY, [*NOISY[1:], NOISY[0]], "too noisy to tell 5 % with 5 repetitions: 461 are enough."),
        ("p50_ms", [0.2, 1.7], [1.7, 0.2], "the size of the change is unknown"),
        (WRITES, [1_000.0], [100.0], "one repetition has no spread"),
    ],
    ids=["much noise", "an interval that says nothing", "one run on a side"],
)
def test_what_is_too_noisy_is_undecided_and_says_why(
    name: str, before: list[float | None], after: list[float | None], words: str
) -> None:
    finding = of_measure(name, before, after)
    assert finding.decision == "undecided"
    assert words in finding.because
    assert "over x" not in finding.because
    assert (change_phrase(finding) == "inconclusive") == (name == "p50_ms")


def test_each_further_gate_widens_the_interval() -> None:
    gates = [Gate(measure=WRITES), Gate(measure="throttle_share")]
    before, after = summaries(WRITES, [*STEADY]), summaries(WRITES, [*STEADY])
    alone, beside = (
        judge({"hotkey": some}, {"hotkey": before}, {"hotkey": after})[0] for some in (gates[:1], gates)
    )
    assert beside.high > alone.high  # type: ignore[operator]


def test_no_throttles_against_some_is_worse_and_not_a_division_by_zero() -> None:
    some: list[float | None] = [0.1, 0.11, 0.1, 0.09, 0.1]
    assert of_measure("throttle_share", [0.0] * 5, some).decision == "worse"
    better = of_measure("throttle_share", some, [0.0] * 5)
    assert better.decision == "better"
    assert better.because.endswith(f": {change_phrase(better)}.")
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
    assert few.decision == "undecided"
    assert few.because == "no throttles in 1 of 1 run before, 49 s now: 3 repetitions are enough."
    now_and_then = judged(gate, calm, [*calm[:4], a_summary(5)])
    assert now_and_then.decision == "undecided"
    assert "no throttles in 4 of 5 runs, else 5 s now: it comes and goes" in now_and_then.because


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
    assert of_measure(WRITES, [*STEADY], [None] * 5).decision == "missing"
    assert of_measure(WRITES, [None] * 5, [None] * 5).decision == "undecided"
    finding = judged(Gate(measure=WRITES), summaries(WRITES, [*STEADY]), lacking(WRITES, "no_file"))
    assert finding.decision == "missing"
    assert "the run's file about it is missing or damaged; before it was 1,000 units/s" in finding.because


def test_seconds_that_are_counted_whole_are_not_believed_to_the_second() -> None:
    assert of_measure("first_throttle_s", [5.0] * 5, [4.0] * 5, least=0.1).decision == "undecided"
    assert of_measure("first_throttle_s", [50.0] * 5, [40.0] * 5, least=0.1).decision == "worse"


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
