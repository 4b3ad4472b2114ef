"""A session held against its baseline: what is compared with what, and what is left alone."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from keyheat.analysis.summary import RunSummary
from keyheat.regression.history import StoredRun
from keyheat.regression.outcome import BaselineUsed, Gate, Side
from keyheat.regression.session import Baseline, SessionRuns, plan_runs
from keyheat.regression.verdict import SessionComparison
from tests.make import SETUP, a_summary
from tests.regression.outcomes import a_run, a_suite_case, a_suite_of

AT = datetime(2026, 11, 22, 2, 0, tzinfo=UTC)
GATE = Gate(measure="accepted_units_per_s.write", least_effect=0.05)
SUITE = a_suite_of(
    *(a_suite_case(name, name, target="http://127.0.0.1:8000", repetitions=3, gates=(GATE,))
      for name in ("hotkey", "sharded"))
)  # fmt: skip


def that_accepted(units_per_s: float, machine: str | None = SETUP.machine) -> RunSummary:
    """A run in which so many units a second were written."""
    setup = SETUP.model_copy(update={"machine": machine})
    return a_summary(setup=setup, measures={"accepted_units_per_s.write": units_per_s})


def made(numbers: dict[str, dict[Side, list[float]]]) -> SessionRuns:
    """The runs of a session, by case and side."""
    all_made = SessionRuns()
    paired = any("before" in sides for sides in numbers.values())
    for one in plan_runs(SUITE, Path("runs"), before={} if paired else None):
        of_side = numbers.get(one.case.name, {}).get(one.side, [])
        if one.repetition < len(of_side):
            summary = that_accepted(of_side[one.repetition])
            all_made.summaries.append((one, summary))
            all_made.runs.append(a_run(one.case.name, one.repetition + 1, one.side))
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


def judged(kept: Baseline, runs: SessionRuns, **how: Any) -> dict[str, Any]:
    return dict(SessionComparison(suite=SUITE, baseline=kept, **how).judge(runs))


def test_a_case_that_got_worse_is_found_and_one_that_left_the_suite_is_named() -> None:
    kept = baseline(BOTH | {"queue": LIKE})
    result = judged(kept, made(after(LESS)))
    assert [(one.case, one.decision) for one in result["findings"]] == [
        ("hotkey", "worse"),
        ("sharded", "same"),
    ]
    assert result["verdict"] == "regressed"
    result = judged(kept, made(after()))
    assert result["verdict"] == "good"
    assert "queue left the suite and is no longer checked." in result["because"]


def test_a_new_case_is_held_against_nothing() -> None:
    kept, runs = baseline({"hotkey": LIKE}), made(after())
    result = judged(kept, runs)
    assert [one.case for one in result["findings"]] == ["hotkey"]
    assert "sharded is new" in result["because"][0]
    assert result["verdict"] == "unaccepted", "it throttles where nobody said that it is to"
    result = judged(kept, runs, accept=True)
    assert result["verdict"] == "good"
    assert any(line.startswith("Accepted: sharded ") for line in result["because"])


def unaccepted(kept: Baseline, *, first: bool) -> Baseline:
    """The same where nobody has accepted yet what `sharded` is like, or the `first` session as a whole."""
    used = kept.used.model_copy(update={"accepted": not first})
    return replace(kept, used=used, tentative=frozenset(kept.kept if first else ["sharded"]))


@pytest.mark.parametrize("first", [True, False], ids=["first session", "new case"])
@pytest.mark.parametrize(("now", "verdict"), [(LIKE, "unaccepted"), (LESS, "regressed")])
def test_what_nobody_has_accepted_is_compared_with_all_the_same(
    now: list[float], verdict: str, first: bool
) -> None:
    kept, command = unaccepted(baseline(BOTH), first=first), "keyheat regress two.toml --accept"
    result = judged(kept, made(after(sharded=now)), to_accept=command)
    assert (result["verdict"], len(result["findings"])) == (verdict, 2)
    assert result["because"][-1] == f"If this is as intended: {command}"


def test_another_setup_of_what_nobody_has_accepted_is_said_and_forbids_nothing() -> None:
    kept = unaccepted(baseline(BOTH, machine="another"), first=True)
    result = judged(kept, made(after(LESS)))
    assert (result["verdict"], result["findings"], result["differences"]) == ("unaccepted", (), ())
    assert result["because"][0] == "Changed: machine another → 2 cores, 24 GiB (hotkey, sharded)."


def test_another_machine_forbids_what_is_not_forced() -> None:
    kept, runs = baseline(BOTH, machine="another"), made(after())
    refused = judged(kept, runs)
    assert (refused["verdict"], refused["findings"], refused["forced"]) == ("invalid", (), False)
    assert {one.what for one in refused["differences"]} == {"machine"}
    forced = judged(kept, runs, force=True)
    assert (forced["verdict"], forced["forced"], len(forced["findings"])) == ("good", True, 2)
    same = judged(baseline(BOTH), runs, force=True)
    assert (same["verdict"], same["forced"], same["differences"]) == ("good", False, ()), "nothing to force"


def pairs(before: list[float], after: list[float]) -> SessionRuns:
    return made({name: {"before": before, "after": after} for name in BOTH})


def test_pairs_are_held_against_each_other_and_not_against_what_was_kept() -> None:
    held = SessionComparison(suite=SUITE, baseline=baseline(BOTH), paired=True)
    runs = pairs(LESS, LESS)
    assert held.judge(runs)["verdict"] == "good"
    assert [len(case.before) for case in held.cases(runs)] == [3, 3]
    alone = pairs(LIKE, LIKE[:2])
    assert held.judge(alone)["verdict"] == "good", "a run without its partner is no defect"
