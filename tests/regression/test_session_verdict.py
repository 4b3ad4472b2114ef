"""A session held against its baseline: what is compared with what, and what is left alone."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from keyheat.analysis.summary import RunSummary
from keyheat.regression.history import StoredRun
from keyheat.regression.outcome import BaselineUsed, Gate, Side
from keyheat.regression.session import Baseline, SessionRuns, plan_runs
from keyheat.regression.verdict import cases_of, compared
from tests.conftest import Golden
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


def unaccepted(kept: Baseline, *, first: bool) -> Baseline:
    """The same where nobody has accepted yet what `sharded` is like, or the `first` session as a whole."""
    used = kept.used.model_copy(update={"accepted": not first})
    return replace(kept, used=used, tentative=frozenset(kept.kept if first else ["sharded"]))


def pairs(before: list[float], after: list[float]) -> SessionRuns:
    return made({name: {"before": before, "after": after} for name in BOTH})


def test_a_session_is_held_against_its_baseline(golden: Golden) -> None:
    both, elsewhere = baseline(BOTH), baseline(BOTH, machine="another")
    one, three = baseline({"hotkey": LIKE}), baseline(BOTH | {"queue": LIKE})
    accept = {"to_accept": "keyheat regress two.toml --accept"}
    like, less, other_less = made(after()), made(after(LESS)), made(after(sharded=LESS))
    sessions: dict[str, tuple[Baseline, SessionRuns, dict[str, Any]]] = {
        "as before": (both, like, {}),
        "a case got worse": (three, less, {}),
        "a case left the suite": (three, like, {}),
        "a case is new": (one, like, {}),
        "a case is new and accepted": (one, like, {"accept": True}),
        "the first session was never accepted": (unaccepted(both, first=True), like, accept),
        "the first session was never accepted, and worse now": (
            unaccepted(both, first=True), other_less, accept,
        ),
        "a case was never accepted": (unaccepted(both, first=False), like, accept),
        "a case was never accepted, and worse now": (unaccepted(both, first=False), other_less, accept),
        "never accepted, of another machine": (unaccepted(elsewhere, first=True), less, {}),
        "another machine": (elsewhere, like, {}),
        "in pairs, both less than what was kept": (both, pairs(LESS, LESS), {"paired": True}),
        "in pairs, never accepted, of another machine": (
            unaccepted(elsewhere, first=True), pairs(LIKE, LESS), {"paired": True},
        ),
        "in pairs, a run without its partner": (both, pairs(LIKE, LIKE[:2]), {"paired": True}),
    }  # fmt: skip
    text = ""
    for name, (kept, runs, how) in sessions.items():
        result = compared(SUITE, kept, runs, **how)
        findings = ", ".join(f"{finding.case} {finding.decision}" for finding in result["findings"])
        differences = ", ".join(one.change for one in result["differences"])
        before = " ".join(
            str(len(case.before)) for case in cases_of(SUITE, kept, runs, paired="paired" in how)
        )
        text += f"== {name}\n{result['verdict']}: {findings}\n"
        text += f"runs before: {before}; differences: {differences or 'none'}\n"
        text += "".join(f"- {line}\n" for line in result["because"])
    golden("sessions.txt", text)
