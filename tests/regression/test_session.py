"""A session: its runs in order, what it is compared with, and the verdict over it."""

from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from keyheat.analysis.summary import RunSummary
from keyheat.regression.history import StoredRun
from keyheat.regression.outcome import BaselineUsed, Gate, GateFinding, RunMade, Side
from keyheat.regression.session import Baseline, SessionRuns, plan_runs
from keyheat.regression.verdict import cases_of, compared, doubts_of, verdict_of
from keyheat.scenario.scenario import load_scenario
from keyheat.scenario.variants import with_shards
from tests.conftest import Golden
from tests.make import SETUP, a_shipped, a_summary
from tests.regression.outcomes import (
    HELD,
    LOST,
    OTHER,
    UNDECIDED,
    a_case,
    a_finding,
    a_run,
    a_suite_case,
    a_suite_of,
)

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
    golden(Path(__file__).parent / "golden" / "sessions.txt", text)


RUN = a_run("hotkey", 1)
INVALID = a_run("hotkey", 2, valid=False, problem="the load generator was the limit.")
BROKEN = a_run("hotkey", 3, broken=("p99_ms: 12 ms, allowed 5 ms",))
BEFORE = a_run("hotkey", 1, "before", broken=("p99_ms: 12 ms, allowed 5 ms",))
WORSE = a_finding()
OUTGROWN = a_finding(gate=Gate(measure="capacity_used.write"), before=0.62, after=1.14)
CLOSER = a_finding(gate=Gate(measure="capacity_used.read"), before=0.4, after=0.8)
MORE = a_finding(gate=Gate(measure="throttle_share"), before=0.2, after=0.4)
STILL = a_finding("same", gate=Gate(measure="index_capacity_used.read"), before=1.2, after=1.2)


SESSIONS: dict[str, tuple[list[RunMade], list[GateFinding], dict[str, Any]]] = {
    "a gate held": ([RUN], [HELD], {}),
    "nothing to compare with": ([RUN], [HELD], {"compared": False}),
    "a gate failed": ([RUN], [HELD, WORSE], {}),
    "two gates failed": ([RUN], [LOST, WORSE], {}),
    "it throttles more": ([RUN], [MORE], {}),
    "it outgrew its capacity": ([RUN], [STILL, OUTGROWN], {}),
    "it uses more of its capacity": ([RUN], [CLOSER], {}),
    "a threshold is broken": ([RUN, BROKEN], [HELD], {}),
    "a threshold is broken in the first session": ([RUN, BROKEN], [], {"compared": False}),
    "a threshold of the baseline was broken": ([RUN, BEFORE], [HELD], {}),
    "a run is invalid": ([RUN, INVALID], [HELD], {}),
    "a run is invalid, and a gate failed": ([RUN, INVALID], [WORSE], {}),
    "a rerun of the baseline is invalid": ([a_run("hotkey", 1, "before", valid=False)], [WORSE], {}),
    "another setup": ([RUN], [], {"forbidden": [OTHER]}),
    "another setup, and a gate failed": ([RUN], [WORSE], {"forbidden": [OTHER]}),
    "a gate is undecided": ([RUN], [UNDECIDED], {}),
    "a case is new": ([RUN], [HELD], {"new_cases": ["sharded"]}),
}
ON_BURST = a_case(labels=(), constraint="none", measures={"capacity_used.write": 1.2})
FIRST_CASES = {
    "as expected": (a_case(), "partition"),
    "another limit": (a_case(), "table"),
    "nothing expected": (a_case(), None),
    "burst capacity": (ON_BURST, "none"),
}


def test_the_verdict_and_why_and_what_a_first_session_would_accept_silently(golden: Golden) -> None:
    text = ""
    for name, (runs, findings, more) in SESSIONS.items():
        verdict, because = verdict_of(runs, findings, **{"compared": True, **more})
        text += f"== {name}: {verdict}\n" + "".join(f"{line}\n" for line in because)
    for name, (case, expected) in FIRST_CASES.items():
        text += f"== first session, {name}\n"
        text += "".join(f"{line}\n" for line in doubts_of([case], {"hotkey": expected}))
    golden(Path(__file__).parent / "golden" / "verdicts.txt", text)


FOLDER = Path("runs")
case = partial(a_suite_case, scenario="sharded")


def test_every_case_is_run_once_and_then_again_and_pairs_take_turns(golden: Golden) -> None:
    """Pairs turn round, so that drift meets both sides alike; both of a pair have one seed."""
    thrice = case("a", repetitions=3)
    last = a_shipped("sharded", f"seed={2**63 - 1}")
    suites = {
        "the largest seed": (a_suite_of(case("a", scenario=last, repetitions=2)), None),
        "three cases": (a_suite_of(thrice, case("b"), case("c", repetitions=2)), None),
        "in pairs": (a_suite_of(case("a", repetitions=4), case("b", repetitions=4)), {}),
        "in pairs, of another scenario before": (a_suite_of(thrice), {"a": with_shards(thrice.scenario, 2)}),
    }
    text = ""
    for name, (suite, before) in suites.items():
        text += f"== {name}\n"
        for run in plan_runs(suite, FOLDER, before=before):
            shards = f"seed {run.scenario.seed}, {run.scenario.keys.shards} shards"
            text += f"{run.case.name} {run.repetition} {run.side}: {run.folder}, {shards}\n"
    golden(Path(__file__).parent / "golden" / "suite-runs.txt", text)


@pytest.mark.parametrize("name", ["sharded", "replay"])
def test_its_scenario_is_written_as_it_is_run(tmp_path: Path, name: str) -> None:
    one = case("a", repetitions=2, scenario=name)
    for run in plan_runs(a_suite_of(one), tmp_path):
        file = run.write()
        assert file == tmp_path / "a" / f"{run.repetition + 1}.json"
        again = load_scenario(file)
        assert again == run.scenario
        if again.keys.trace is not None:
            assert again.keys.trace_path(file.parent).exists()
