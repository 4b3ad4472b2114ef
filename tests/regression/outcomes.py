"""Made-up outcomes of a regress, one for each way in which it can end; and a history of sessions."""

from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

from keyheat.regression.history import History
from keyheat.regression.outcome import (
    BaselineUsed,
    CaseMade,
    Difference,
    Gate,
    GateFinding,
    RunMade,
    SessionOutcome,
)
from keyheat.regression.suite import Suite, SuiteCase
from keyheat.scenario.scenario import Scenario
from tests.make import SCENARIOS, a_shipped, a_summary

BEGAN = datetime(2026, 11, 22, 2, 0, tzinfo=UTC)
HOSTILE = 'a|b `c` <script>x</script> 100%\r\n::error::no & "quoted" \x07 @team #1'


def a_run(case: str, repetition: int, side: str = "after", **more: Any) -> RunMade:
    accepted = {"before": 1_000.0, "after": 900.0}[side] + repetition
    known: dict[str, Any] = {
        "run_id": f"{case}-{side}-{repetition}",
        "url": f"file:///runs/{side}/{case}-{repetition}",
        "took_s": 1.5,
        "valid": True,
        "constraint": "partition",
        "labels": ("table write partition",),
        "measures": {"accepted_units_per_s.write": accepted, "throttle_share": 0.2, "shards_needed": 2.0},
    }
    return RunMade(case=case, repetition=repetition, side=side, **known | more)


def a_case(name: str = "hotkey", repetitions: int = 3, **of_runs: Any) -> CaseMade:
    return CaseMade(
        name=name,
        scenario=name,
        target="simulated",
        question="Is it the partition?",
        before=tuple(a_run(name, number, "before") for number in range(1, repetitions + 1)),
        after=tuple(a_run(name, number, **of_runs) for number in range(1, repetitions + 1)),
    )


def a_suite_case(name: str = "hotkey", scenario: Scenario | str = "hotkey", **more: Any) -> SuiteCase:
    """A case of a suite, on the local table; its scenario is one of ours, or changed."""
    shipped = a_shipped(scenario) if isinstance(scenario, str) else scenario
    known: dict[str, Any] = {
        "name": name, "scenario": shipped, "path": SCENARIOS / f"{shipped.name}.toml", "target": "local",
        "repetitions": 1, "gates": (),
    }  # fmt: skip
    return SuiteCase(**known | more)


def a_suite_of(*cases: SuiteCase) -> Suite:
    return Suite(name="two", question="Is it as good as it was?", path=Path("two.toml"), cases=cases)


def a_finding(decision: str = "worse", case: str = "hotkey", **more: Any) -> GateFinding:
    known: dict[str, Any] = {
        "gate": Gate(measure="accepted_units_per_s.write", least_effect=0.05),
        "before": 1_002.0,
        "after": 902.0,
        "change": -0.0998,
        "low": -0.12,
        "high": -0.08,
        "repetitions": (3, 3),
        "because": "902 units/s now, 1,002 before: 10 % less, and at least 5 % matters.",
    }
    return GateFinding(case=case, decision=decision, **known | more)  # type: ignore[arg-type]


HELD = a_finding("same", case="sharded", after=1_003.0, change=0.001, low=-0.004, high=0.006,
                 because="1,003 units/s now, 1,002 before.")  # fmt: skip
UNDECIDED = a_finding("undecided", case="sharded", gate=Gate(measure="p99_ms", least_effect=0.1), before=10.0,
                      after=11.0, change=0.1, low=-0.2, high=0.5, because="Too few runs.")  # fmt: skip
IDLE = a_finding("undecided", case="sharded", gate=Gate(measure="units_per_operation.read"), before=None,
                 after=None, change=None, low=None, high=None, because="Neither side has it.")  # fmt: skip
LOST = a_finding("missing", gate=Gate(measure="labels"), before="table write partition", after=None,
                 change=None, low=None, high=None, because="No run has a label.")  # fmt: skip
OTHER = Difference(case="hotkey", what="table.provisioned.write", before="4000", after="2000")


def an_outcome(verdict: str = "good", **more: Any) -> SessionOutcome:
    """An outcome with two cases; `more` replaces fields."""
    known: dict[str, Any] = {
        "suite": "nightly",
        "suite_path": "configs/suites/nightly.toml",
        "question": "Does the table still take what it took?",
        "session": "s7",
        "history": "reports/history.sqlite",
        "folder": "reports/out/nightly-s7",
        "started_at": BEGAN,
        "ended_at": BEGAN + timedelta(seconds=192),
        "verdict": verdict,
        "baseline": BaselineUsed(session="s3", started_at=BEGAN - timedelta(days=1)),
        "cases": (a_case(), a_case("sharded")),
        "findings": (HELD,),
    }
    return SessionOutcome(**known | more)


GOOD = an_outcome()
REGRESSED = an_outcome(
    "regressed", findings=(IDLE, HELD, UNDECIDED, a_finding(), LOST), because=("hotkey accepts 10 % less.",)
)
FIRST = an_outcome("baseline", baseline=None, findings=(), because=("There was no baseline.",))
INVALID = an_outcome(
    "invalid",
    cases=(a_case(valid=False, problem="the load generator was the limit"), a_case("sharded")),
    because=("hotkey, repetition 1: the load generator was the limit.",),
)
OTHER_SETUP = an_outcome("invalid", differences=(OTHER,), findings=(), because=("The setups differ.",))
PAIRED = an_outcome(differences=(OTHER,), paired=True)
BROKEN = an_outcome("regressed", cases=(a_case(broken=("p99: 12 ms, where 5 ms is allowed",)),))
REFUSED = an_outcome("refused", cases=(), findings=(), because=("The table is not ours.",))
INTERRUPTED = an_outcome("interrupted", cases=(a_case(repetitions=1), a_case("sharded", 0)), findings=())
HOSTILE_WORDS = an_outcome(
    "regressed",
    suite=HOSTILE,
    question=HOSTILE,
    because=(HOSTILE,),
    cases=(a_case(HOSTILE, problem=HOSTILE, valid=False),),
    findings=(a_finding(case=HOSTILE, because=HOSTILE),),
    differences=(Difference(case=HOSTILE, what=HOSTILE, before=HOSTILE, after=HOSTILE),),
)

OUTCOMES = {
    "good": GOOD, "regressed": REGRESSED, "first": FIRST, "invalid": INVALID, "other setup": OTHER_SETUP,
    "paired": PAIRED, "broken": BROKEN, "refused": REFUSED, "interrupted": INTERRUPTED,
    "hostile": HOSTILE_WORDS,
}  # fmt: skip


def twelve_sessions(path: Path) -> Path:
    """From the seventh on p99 is 14 ms instead of 10, and the last one was killed."""
    times = (datetime(2026, 11, 1, tzinfo=UTC) + timedelta(minutes=10 * step) for step in count())
    worse = a_finding(gate=Gate(measure="p99_ms"), because="Its median rose from 10 to 14 ms.")
    with History(path, now=lambda: next(times)) as history:
        for number in range(1, 13):
            session = history.begin("nightly", f"v{number}")
            for repetition in range(2):
                name = f"run-{number}-{repetition}"
                measures = {"p99_ms": (14.0 if number >= 7 else 10.0) + 0.1 * repetition}
                summary = a_summary(run_id=name, measures=measures)
                history.add(session, "hotkey", repetition, summary, f"file:///runs/{name}")
            if number == 7:
                history.end(session, "regressed", an_outcome("regressed", findings=(worse,)))
            elif number < 12:
                history.end(session, "good")
    return path
