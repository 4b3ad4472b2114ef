"""The runs of a suite in the order in which they are made.

Every case is run once, then every case again, so that what drifts on the machine meets all of them alike.
With two sides, a pair is made one right after the other, and every other pair the other way round: what
drifts over a pair meets both sides alike.

    repetition     0                 1                 2
    one side       a b c             a b c             a b c
    two sides      A₁A₂ B₁B₂ C₁C₂    A₂A₁ B₂B₁ C₂C₁    A₁A₂ ...      1: before, 2: after
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from keyheat.regression.outcome import Side
from keyheat.regression.suites.suite import Case, Suite
from keyheat.scenario.scenario import Scenario
from keyheat.scenario.variants import with_files_of, write_scenario


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """One run to be made: which repetition of which case, and where."""

    case: Case
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
) -> tuple[Planned, ...]:
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
    case: Case, repetition: int, folder: Path, before: Mapping[str, Scenario] | None
) -> Iterator[Planned]:
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


def _run(case: Case, repetition: int, side: Side, scenario: Scenario, folder: Path) -> Planned:
    return Planned(
        case=case,
        repetition=repetition,
        side=side,
        scenario=with_files_of(scenario.model_copy(update={"seed": case.seed(repetition)}), case.path.parent),
        folder=folder,
        file=folder.with_name(f"{folder.name}.json"),
    )
