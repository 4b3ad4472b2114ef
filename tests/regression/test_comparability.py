"""Whether baseline and candidate measured the same thing."""

from typing import Any

import pytest

from keyheat.analysis.summary import Setup
from keyheat.regression.comparability import differences, notes, suspects
from keyheat.regression.outcome import Difference, Gate
from tests.make import SETUP, SIMULATED, a_summary


def between(setup: Setup, other: Setup, *gates: Gate) -> tuple[Difference, ...]:
    before, after = ({"hotkey": [a_summary(setup=one)]} for one in (setup, other))
    return differences(before, after, {"hotkey": gates} if gates else None)


def changed(setup: Setup = SETUP, **more: Any) -> Setup:
    return setup.model_copy(update=more)


def test_equal_setups_can_be_compared() -> None:
    assert between(SETUP, changed()) == ()


@pytest.mark.parametrize(
    ("other", "what", "before", "after"),
    [
        ({"scenario": "00112233445566"}, "scenario", "fedcba987654", "001122334455"),
        ({"target": "aws"}, "target", "local", "aws"),
        ({"scale": 0.1}, "scale", "1", "0.1"),
        ({"region": "eu-west-1"}, "region", "us-east-1", "eu-west-1"),
        (
            {"machine": "ff", "machine_says": "8 cores"},
            "machine",
            "2 cores, 24 GiB (0123456789ab)",
            "8 cores (ff)",
        ),
        ({"machine": None}, "machine", "2 cores, 24 GiB (0123456789ab)", "not known"),
        ({"table": {**SETUP.table, "name": "events"}}, "table.name", "none", "events"),
    ],
)
def test_each_difference_is_named(other: dict[str, Any], what: str, before: str, after: str) -> None:
    assert between(SETUP, changed(**other)) == (
        Difference(case="hotkey", what=what, before=before, after=after),
    )


@pytest.mark.parametrize(
    ("table", "what", "before", "after"),
    [
        ({"provisioned.write": 2_000.0}, "provisioned.write", "4,000", "2,000"),
        ({"provisioned.write": None}, "provisioned.write", "4,000", "not known"),
        (
            {"indexes.by-day": "global, keyed by day, ALL"},
            "indexes.by-day",
            "none",
            "global, keyed by day, ALL",
        ),
    ],
)
def test_what_the_table_is_like_forbids_nothing_and_is_a_suspect(
    table: dict[str, Any], what: str, before: str, after: str
) -> None:
    other = changed(table={**SETUP.table, **table})
    assert between(SETUP, other) == ()
    runs = ({"hotkey": [a_summary(setup=one)]} for one in (SETUP, other))
    assert suspects(*runs) == (Difference(case="hotkey", what=f"table.{what}", before=before, after=after),)


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("table.auto_scaling.write.max", "auto scaling, writes: max 6,000 → 1,500"),
        (
            "table.indexes.by.day.auto_scaling.read.min",
            "index by.day, auto scaling, reads: min 6,000 → 1,500",
        ),
        ("table.provisioned.write", "provisioned writes 6,000 → 1,500"),
        ("table.indexes.by-day.max_on_demand.read", "index by-day, max on demand reads 6,000 → 1,500"),
        ("table.billing_mode", "table.billing_mode 6,000 → 1,500"),
    ],
)
def test_a_capacity_that_differs_is_said_in_words(what: str, said: str) -> None:
    assert Difference(case="orders", what=what, before="6,000", after="1,500").change == said


def test_a_fact_that_nobody_has_stated_is_no_suspect() -> None:
    """On demand a table has a maximum, which may not be stated; provisioned it has none."""
    other = changed(table={**SETUP.table, "max_on_demand.write": None})
    for first, last in ((SETUP, other), (other, SETUP)):
        before, after = ({"hotkey": [a_summary(setup=one)]} for one in (first, last))
        assert suspects(before, after) == ()


def test_warm_throughput_of_a_table_that_was_there_is_named_only_where_it_fell() -> None:
    there = changed(table={**SETUP.table, "name": "events", "warm.write": 40_000.0})
    for now, named in ((80_000.0, []), (4_000.0, ["table.warm.write"]), (None, [])):
        other = changed(table={**there.table, "warm.write": now})
        runs = ({"hotkey": [a_summary(setup=one)]} for one in (there, other))
        assert [one.what for one in suspects(*runs)] == named


def test_another_design_forbids_nothing_where_it_is_always_compared() -> None:
    other = changed(scenario="00112233445566")
    before, after = ({"hotkey": [a_summary(setup=one)]} for one in (SETUP, other))
    assert differences(before, after, None, {"hotkey"}) == ()
    (suspect,) = suspects(before, after, {"hotkey"})
    assert (suspect.what, suspect.after) == ("scenario", "001122334455")
    assert suspects(before, after) == (), "elsewhere it forbids the comparison"


def test_a_simulated_run_does_not_care_for_the_machine() -> None:
    assert between(SIMULATED, changed(SIMULATED, machine="other")) == ()


def test_exact_measures_do_not_care_for_the_machine() -> None:
    other = changed(machine="other", scale=2.0)
    exact, noisy = Gate(measure="write_amplification"), Gate(measure="p99_ms")
    assert [one.what for one in between(SETUP, other, exact, Gate(measure="labels"))] == ["scale"]
    assert [one.what for one in between(SETUP, other, noisy)] == ["scale", "machine"]


def test_runs_of_one_side_that_differ_are_named_both() -> None:
    before = {"hotkey": [a_summary(), a_summary(setup=changed(scale=2.0))]}
    (difference,) = differences(before, {"hotkey": [a_summary()]})
    assert (difference.what, difference.before, difference.after) == ("scale", "1 and 2", "1")


def test_a_case_of_one_side_has_nothing_to_differ_from() -> None:
    assert differences({}, {"hotkey": [a_summary()]}) == ()


def test_versions_are_noted_and_forbid_nothing() -> None:
    other = changed(versions={"keyheat": "0.2.0", "python": "3.12.1", "locust": "3.0.0"})
    before, after = {"hotkey": [a_summary()]}, {"hotkey": [a_summary(setup=other)]}
    assert differences(before, after) == ()
    assert [(one.what, one.before, one.after) for one in notes(before, after)] == [
        ("versions.keyheat", "0.1.0", "0.2.0"),
        ("versions.locust", "2", "3"),
    ]
