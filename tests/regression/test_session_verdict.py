"""A session held against its baseline: what is compared with what, and what is left alone."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from keyheat.analysis.summary import RunSummary
from keyheat.regression.history import StoredRun
from keyheat.regression.outcome import BaselineUsed, RunMade, Side
from keyheat.regression.session import Baseline, SessionRuns, plan_runs
from keyheat.regression.suite import Suite, load_suite
from keyheat.regression.verdict import SessionComparison
from tests.make import SETUP, a_summary

AT = datetime(2026, 11, 22, 2, 0, tzinfo=UTC)
SUITE = """
format = "keyheat.suite/1"
name = "two"
question = "Is it as good as it was?"
repetitions = {repetitions}
target = "http://127.0.0.1:8000"

[[gates]]
measure = "accepted_units_per_s.write"
least_effect = 0.05

[[cases]]
scenario = "hotkey"

[[cases]]
scenario = "sharded"
"""


@pytest.fixture
def suite(tmp_path: Path) -> Any:
    def load(repetitions: int = 3) -> Suite:
        path = tmp_path / "two.toml"
        path.write_text(SUITE.format(repetitions=repetitions))
        return load_suite(path)

    return load


def that_accepted(units_per_s: float, machine: str | None = SETUP.machine) -> RunSummary:
    """A run in which so many units a second were written."""
    setup = SETUP.model_copy(update={"machine": machine})
    return a_summary(setup=setup, measures={"accepted_units_per_s.write": units_per_s})


def made(suite: Suite, numbers: dict[str, dict[Side, list[float]]]) -> SessionRuns:
    """The runs of a session, by case and side."""
    all_made = SessionRuns()
    paired = any("before" in sides for sides in numbers.values())
    for one in plan_runs(suite, Path("runs"), before={} if paired else None):
        of_side = numbers.get(one.case.name, {}).get(one.side, [])
        if one.repetition < len(of_side):
            summary = that_accepted(of_side[one.repetition])
            all_made.summaries.append((one, summary))
            all_made.runs.append(
                RunMade(
                    case=one.case.name, repetition=one.repetition + 1, side=one.side, url="file:///runs",
                    valid=True, constraint=summary.constraint, labels=("table write partition",),
                )
            )  # fmt: skip
    return all_made


def baseline(runs: dict[str, list[float]], machine: str | None = SETUP.machine) -> Baseline:
    kept = {
        case: tuple(
            StoredRun(case=case, repetition=number, side="after",
                 summary=that_accepted(accepted, machine).model_dump_json(),
                 folder_url="file:///gone", at=AT)
            for number, accepted in enumerate(numbers)
        )
        for case, numbers in runs.items()
    }  # fmt: skip
    return Baseline(used=BaselineUsed(session="1", started_at=AT), kept=kept)


LIKE = [1_000.0, 1_001.0, 999.0]
LESS = [800.0, 801.0, 799.0]
BOTH = {"hotkey": LIKE, "sharded": LIKE}


def after(hotkey: list[float] = LIKE, sharded: list[float] = LIKE) -> dict[str, dict[Side, list[float]]]:
    """What the runs of a session accepted, case by case."""
    return {"hotkey": {"after": hotkey}, "sharded": {"after": sharded}}


def judged(suite: Suite, kept: Baseline, runs: SessionRuns, **how: Any) -> dict[str, Any]:
    return dict(SessionComparison(suite=suite, baseline=kept, **how).judge(runs))


def test_a_case_that_got_worse_is_found_and_one_that_left_the_suite_is_named(suite: Any) -> None:
    kept = baseline(BOTH | {"queue": LIKE})
    result = judged(suite(), kept, made(suite(), after(LESS)))
    assert [(one.case, one.decision) for one in result["findings"]] == [
        ("hotkey", "worse"),
        ("sharded", "same"),
    ]
    assert result["verdict"] == "regressed"
    result = judged(suite(), kept, made(suite(), after()))
    assert result["verdict"] == "good"
    assert "queue left the suite and is no longer checked." in result["because"]


def test_a_new_case_is_held_against_nothing(suite: Any) -> None:
    kept, runs = baseline({"hotkey": LIKE}), made(suite(), after())
    result = judged(suite(), kept, runs)
    assert [one.case for one in result["findings"]] == ["hotkey"]
    assert "sharded is new" in result["because"][0]
    assert result["verdict"] == "unaccepted", "it throttles where nobody said that it is to"
    result = judged(suite(), kept, runs, accept=True)
    assert result["verdict"] == "good"
    assert any(line.startswith("Accepted: sharded ") for line in result["because"])


def unaccepted(kept: Baseline, *, first: bool) -> Baseline:
    """The same where nobody has accepted yet what `sharded` is like, or the `first` session as a whole."""
    used = kept.used.model_copy(update={"accepted": not first})
    return replace(kept, used=used, tentative=frozenset(kept.kept if first else ["sharded"]))


@pytest.mark.parametrize("first", [True, False], ids=["first session", "new case"])
@pytest.mark.parametrize(("now", "verdict"), [(LIKE, "unaccepted"), (LESS, "regressed")])
def test_what_nobody_has_accepted_is_compared_with_all_the_same(
    suite: Any, now: list[float], verdict: str, first: bool
) -> None:
    kept, command = unaccepted(baseline(BOTH), first=first), "keyheat regress two.toml --accept"
    result = judged(suite(), kept, made(suite(), after(sharded=now)), to_accept=command)
    assert (result["verdict"], len(result["findings"])) == (verdict, 2)
    assert result["because"][-1] == f"If this is as intended: {command}"


def test_another_setup_of_what_nobody_has_accepted_is_said_and_forbids_nothing(suite: Any) -> None:
    kept = unaccepted(baseline(BOTH, machine="another"), first=True)
    result = judged(suite(), kept, made(suite(), after(LESS)))
    assert (result["verdict"], result["findings"], result["differences"]) == ("unaccepted", (), ())
    assert result["because"][0] == "Changed: machine another → 2 cores, 24 GiB (hotkey, sharded)."


def test_another_machine_forbids_what_is_not_forced(suite: Any) -> None:
    kept, runs = baseline(BOTH, machine="another"), made(suite(), after())
    refused = judged(suite(), kept, runs)
    assert (refused["verdict"], refused["findings"], refused["forced"]) == ("invalid", (), False)
    assert {one.what for one in refused["differences"]} == {"machine"}
    forced = judged(suite(), kept, runs, force=True)
    assert (forced["verdict"], forced["forced"], len(forced["findings"])) == ("good", True, 2)
    same = judged(suite(), baseline(BOTH), runs, force=True)
    assert (same["verdict"], same["forced"], same["differences"]) == ("good", False, ()), "nothing to force"


def pairs(suite: Suite, before: list[float], after: list[float]) -> SessionRuns:
    return made(suite, {name: {"before": before, "after": after} for name in BOTH})


def test_pairs_are_held_against_each_other_and_not_against_what_was_kept(suite: Any) -> None:
    held = SessionComparison(suite=suite(), baseline=baseline(BOTH), paired=True)
    runs = pairs(held.suite, LESS, LESS)
    assert held.judge(runs)["verdict"] == "good"
    assert [len(case.before) for case in held.cases(runs)] == [3, 3]
    alone = pairs(held.suite, LIKE, LIKE[:2])
    assert held.judge(alone)["verdict"] == "good", "a run without its partner is no defect"
