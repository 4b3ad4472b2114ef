"""One session of a suite: its baseline, the order of its runs, and their records."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar

from keyheat.analysis.summary import RunSummary, read_summary
from keyheat.numbers import some
from keyheat.regression.compare import Runs
from keyheat.regression.history import History, Session, StoredRun
from keyheat.regression.outcome import GOOD, BaselineUsed, Difference, RunMade, Side
from keyheat.regression.setups import differences, expected_summary
from keyheat.regression.suite import Suite, SuiteCase
from keyheat.runfiles import DIAGNOSIS, FILES, REPORT
from keyheat.runs.formats import read_diagnosis
from keyheat.scenario.scenario import Scenario, ScenarioError, scenario_from_dict
from keyheat.scenario.variants import with_files_of, write_scenario
from keyheat.words import sentence

Entry = TypeVar("Entry")
BOUND: Final = "The load generator was the limit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """A baseline session and its runs, by case."""

    used: BaselineUsed
    kept: Mapping[str, Sequence[StoredRun]]
    tentative: frozenset[str] = frozenset()  # cases with runs of an unaccepted session

    @property
    def runs(self) -> dict[str, list[RunSummary]]:
        return {case: [run.summary for run in kept] for case, kept in self.kept.items()}


def baseline_of(
    history: History, suite: Suite, named: str | None, *, settled: bool = False
) -> Baseline | None:
    """The named session, else the last good one; None if there is no session.

    Cases without a good session use the last session that is not accepted yet, unless `settled`. Raises
    `ValueError` if the name is not a session to compare with.
    """
    session = history.last_good(suite.name) if named is None else _named_session(history, suite, named)
    later = None if settled or named is not None else _unaccepted(history, suite, session)
    if (main := session or later) is None:
        return None
    used = BaselineUsed(
        session=str(main.id), started_at=main.started_at, label=main.label, chosen=named is not None,
        accepted=session is not None,
    )  # fmt: skip
    kept, tentative = (
        _by_case((run.case, run) for run in (history.runs(source) if source else ()))
        for source in (session, later)
    )
    new = frozenset(tentative.keys() - kept.keys())
    return Baseline(used=used, kept={**tentative, **kept}, tentative=new)


def _named_session(history: History, suite: Suite, named: str) -> Session:
    session = history.session(named, suite.name)
    if session.suite == suite.name and session.verdict in (*GOOD, "regressed"):
        return session
    why = f"is a session of suite {session.suite}" if session.suite != suite.name else "has no valid verdict"
    good = (
        ", ".join(str(other.id) for other in history.sessions(suite.name) if other.good)[:200] or "none yet"
    )
    raise ValueError(f"--baseline {named!r} {why}; good sessions of {suite.name}: {good}")


def _unaccepted(history: History, suite: Suite, good: Session | None) -> Session | None:
    """The last session to review since the good one; without a good one, also a regressed one."""
    latest = history.latest(suite.name, "unaccepted")
    if good is None:
        return latest or history.latest(suite.name, "regressed")
    return latest if latest is not None and latest.id > good.id else None


def _by_case(runs: Iterable[tuple[str, Entry]]) -> dict[str, list[Entry]]:
    """The runs of each case, in order."""
    grouped: dict[str, list[Entry]] = {}
    for case, run in runs:
        grouped.setdefault(case, []).append(run)
    return grouped


def early_differences(baseline: Baseline, suite: Suite, machine: Mapping[str, Any]) -> tuple[Difference, ...]:
    """Differences known before the first run that will forbid the comparison."""
    before = {case: runs for case, runs in baseline.runs.items() if case not in baseline.tentative}
    after = {
        case.name: [expected_summary(before[case.name][0], case, machine)]
        for case in suite.cases
        if case.name in before
    }
    return differences(suite, before, after)[0]


def refusal_reasons(differing: Sequence[Difference], baseline: str = "The baseline") -> tuple[str, ...]:
    """Why a session cannot be compared, and what to do; one sentence each."""
    count = some(len(differing), "thing differs", "things differ")
    return (
        f"{baseline} was measured on another setup: {count}.",
        'Restore the setup; or set compare = "always" for a case whose design is meant to change; or start a '
        "new baseline with --new-baseline; or run the baseline's scenarios beside the new ones with paired = "
        "true in the suite's [run].",
    )


def scenarios_of(baseline: Baseline, suite: Suite) -> dict[str, Scenario]:
    """Scenarios of the baseline's runs, by case. Raises `ValueError` for an unreadable one."""
    try:
        return {
            name: scenario_from_dict(
                dict(baseline.kept[name][0].summary.setup.scenario or {}), f"the baseline of {name}"
            )
            for name in suite.gates
            if name in baseline.kept
        }
    except ScenarioError as error:
        raise ValueError(
            f"paired = true reruns the scenarios of {baseline.used.title}: {error}. Start a new baseline "
            "with --new-baseline"
        ) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRun:
    """One run of the plan: case, repetition and directory."""

    case: SuiteCase
    repetition: int  # from 0
    side: Side
    scenario: Scenario  # with the repetition's seed
    folder: Path  # the run directory

    def write(self) -> Path:
        """Write the scenario next to its directory; return its path. Raises `CannotWrite`."""
        return write_scenario(self.folder.with_name(f"{self.folder.name}.json"), self.scenario)


def plan_runs(
    suite: Suite, folder: Path, *, before: Mapping[str, Scenario] | None = None
) -> tuple[PlannedRun, ...]:
    """List every run of the suite in order, below `folder`.

    `before` adds a second side: it maps a case's name to the baseline's scenario (default: the case's own, so
    that both sides are the same). Both runs of a pair have the same seed.
    """
    plan = []
    for repetition in range(max(case.repetitions for case in suite.cases)):
        for case in suite.cases:
            if repetition >= case.repetitions:
                continue
            scenarios: dict[Side, Scenario] = {"after": case.scenario}
            if before is not None:
                scenarios = {"before": before.get(case.name, case.scenario), "after": case.scenario}
            for side in scenarios if repetition % 2 == 0 else reversed(scenarios):  # pairs turn round
                seeded = scenarios[side].model_copy(update={"seed": case.seed(repetition)})
                name = f"{repetition + 1}" if before is None else f"{repetition + 1}-{side}"
                plan.append(
                    PlannedRun(
                        case=case, repetition=repetition, side=side, folder=folder / case.name / name,
                        scenario=with_files_of(seeded, case.path.parent),
                    )
                )  # fmt: skip
    return tuple(plan)


@dataclass(slots=True)
class SessionRuns:
    """Runs so far; `code` is the exit code of a run that ended the session early."""

    runs: list[RunMade] = field(default_factory=list)
    summaries: list[tuple[PlannedRun, RunSummary]] = field(default_factory=list)
    code: int | None = None

    def add(self, planned: PlannedRun, took_s: float, *, diagnosed: bool) -> RunSummary | None:
        """Add a run that ended; return its summary, None without a diagnosis."""
        summary = read_summary(planned.folder) if diagnosed else None
        if summary is not None:
            self.summaries.append((planned, summary))
        report = planned.folder / REPORT
        run = RunMade(
            case=planned.case.name, repetition=planned.repetition + 1, side=planned.side,
            url=planned.folder.absolute().as_uri(), took_s=took_s, problem=_problem(planned, summary),
            report=report.absolute().as_uri() if report.exists() else None, **_numbers(summary),
        )  # fmt: skip
        self.runs.append(run)
        return summary

    def of(self, side: Side) -> Runs:
        """Summaries of one side, by case, of runs with a diagnosis."""
        return _by_case((plan.case.name, summary) for plan, summary in self.summaries if plan.side == side)

    def results_of(self, case: str, side: Side) -> tuple[RunMade, ...]:
        """The runs of a case on one side, by repetition."""
        results = [run for run in self.runs if (run.case, run.side) == (case, side)]
        return tuple(sorted(results, key=lambda run: run.repetition))


def kept_results(kept: Sequence[StoredRun]) -> tuple[RunMade, ...]:
    """Results of an earlier session's runs."""
    return tuple(
        RunMade(
            case=run.case, repetition=run.repetition + 1, side="before", url=run.folder_url,
            **_numbers(run.summary),
        )
        for run in kept
    )  # fmt: skip


def _numbers(summary: RunSummary | None) -> dict[str, Any]:
    if summary is None:
        return {"valid": False}
    names = ("run_id", "constraint", "labels", "broken", "measures")
    return {"valid": summary.comparable, **{name: getattr(summary, name) for name in names}}


def _problem(planned: PlannedRun, summary: RunSummary | None) -> str | None:
    """Why a run is invalid, in at most two sentences: a generator limit first, then its evidence."""
    if summary is None:
        return f"It has no diagnosis; its files are in {planned.folder}."
    if summary.comparable:
        return None
    diagnosis = read_diagnosis(planned.folder / FILES[DIAGNOSIS])
    bound = diagnosis.generator.bound
    because = (BOUND, *diagnosis.generator.checks) if bound else diagnosis.verdict.because
    return " ".join(map(sentence, because[:2])) or "Its evidence is missing."


@contextmanager
def recorded_session(history: History, suite: Suite, label: str | None) -> Iterator[Session]:
    """Open a session and end it in any case."""
    session = history.begin(suite.name, label)
    try:
        yield session
    except BaseException as error:
        if history.session(session.id).verdict is None:
            history.end(session, "interrupted" if isinstance(error, KeyboardInterrupt) else "invalid")
        raise
