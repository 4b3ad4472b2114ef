"""The runs of a session: in which order, what is kept of each, and those that an earlier session kept."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from keyheat.analysis.summary import RunSummary
from keyheat.regression.history.records import Kept
from keyheat.regression.outcome import RunMade, Side
from keyheat.regression.suite import Suite, SuiteCase
from keyheat.scenario.scenario import Scenario
from keyheat.scenario.variants import with_files_of, write_scenario


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRun:
    """One run to be made: which repetition of which case, and where."""

    case: SuiteCase
    repetition: int  # from 0
    side: Side
    scenario: Scenario  # with the repetition's seed
    folder: Path  # the run directory
    file: Path  # where its scenario is written

    def write(self) -> Path:
        """Write its scenario, and give the file. Raises `CannotWrite`."""
        return write_scenario(self.file, self.scenario)


def planned(
    suite: Suite, folder: Path, *, before: Mapping[str, Scenario] | None = None
) -> tuple[PlannedRun, ...]:
    """Every run of the suite, in the order in which they are made, below `folder`.

    With `before`, each case is run on two sides: with the scenario given there by the case's name (or its
    own, so that both are the same), and with its own. Both runs of a pair have the same seed.
    """
    most = max(case.repetitions for case in suite.cases)
    return tuple(
        run
        for repetition in range(most)
        for case in suite.cases
        if repetition < case.repetitions
        for run in _runs(case, repetition, folder, before)
    )


def _runs(
    case: SuiteCase, repetition: int, folder: Path, before: Mapping[str, Scenario] | None
) -> Iterator[PlannedRun]:
    if before is None:
        yield _run(case, repetition, "after", case.scenario, folder / case.name / f"{repetition + 1}")
        return
    scenarios: dict[Side, Scenario] = {
        "before": before.get(case.name, case.scenario),
        "after": case.scenario,
    }
    sides = list(scenarios) if repetition % 2 == 0 else list(reversed(scenarios))
    for side in sides:
        place = folder / case.name / f"{repetition + 1}-{side}"
        yield _run(case, repetition, side, scenarios[side], place)


def _run(case: SuiteCase, repetition: int, side: Side, scenario: Scenario, folder: Path) -> PlannedRun:
    return PlannedRun(
        case=case,
        repetition=repetition,
        side=side,
        scenario=with_files_of(scenario.model_copy(update={"seed": case.seed(repetition)}), case.path.parent),
        folder=folder,
        file=folder.with_name(f"{folder.name}.json"),
    )


@dataclass(slots=True)
class SessionRuns:
    """It grows with each run; `code` is the exit code of the run that ended the session before its time."""

    runs: list[RunMade] = field(default_factory=list)
    summaries: list[tuple[PlannedRun, RunSummary]] = field(default_factory=list)
    code: int | None = None

    def of(self, side: Side) -> dict[str, list[RunSummary]]:
        """The summaries of one side, by case; a run without a diagnosis has none."""
        found: dict[str, list[RunSummary]] = {}
        for planned, summary in self.summaries:
            if planned.side == side:
                found.setdefault(planned.case.name, []).append(summary)
        return found

    def shown(self, case: str, side: Side) -> tuple[RunMade, ...]:
        """The runs of a case on one side, as the outcome has them, in the order of their repetitions."""
        found = [run for run in self.runs if (run.case, run.side) == (case, side)]
        return tuple(sorted(found, key=lambda run: run.repetition))


def run_made(
    planned: PlannedRun,
    summary: RunSummary | None,
    *,
    url: str,
    took_s: float,
    problem: str | None,
    report: str | None = None,
) -> RunMade:
    """A run of this session; without a summary it came to no diagnosis. `problem`: why it says nothing."""
    return RunMade(
        case=planned.case.name,
        repetition=planned.repetition + 1,
        side=planned.side,
        url=url,
        report=report,
        took_s=took_s,
        problem=problem,
        **_numbers(summary),
    )


def runs_kept(kept: Sequence[Kept]) -> tuple[RunMade, ...]:
    """Runs of an earlier session."""
    return tuple(
        RunMade(
            case=one.case,
            repetition=one.repetition + 1,
            side="before",
            url=one.folder_url,
            **_numbers(one.summary),
        )
        for one in kept
    )


def _numbers(summary: RunSummary | None) -> dict[str, object]:
    """What a summary says of a run."""
    if summary is None:
        return {"valid": False}
    names = ("run_id", "constraint", "labels", "broken", "measures")
    return {"valid": summary.comparable, **{name: getattr(summary, name) for name in names}}
