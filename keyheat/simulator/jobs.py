"""Runs to be made: which scenario, from which file, into which folder. Nothing is started here."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from keyheat.runfiles import DIAGNOSIS, FILES, REPORT
from keyheat.runs.claims import Claim, claim_numbered
from keyheat.scenario.scenario import Scenario, ScenarioError, load_scenario, scenario_file
from keyheat.scenario.variants import overridden, wrong_settings


@dataclass(frozen=True, slots=True)
class Job:
    """One run to be made: a scenario, the file it is in, and the run directory.

    `settings` are what makes the scenario of that in the file, as `--set` has them.
    """

    scenario: Scenario
    path: Path
    folder: Path
    settings: tuple[str, ...] = ()


def find_scenario(name_or_path: str, settings: Sequence[str] = ()) -> tuple[Scenario, Path]:
    """A scenario by its file, or by its name in configs/scenarios, with settings made; its load test exists.

    Raises `ValueError` with everything that is wrong with it.
    """
    path = scenario_file(name_or_path)
    try:
        stated = load_scenario(path)
    except ScenarioError as error:
        raise ScenarioError(error.source, [*error.errors, *wrong_settings(path, settings)]) from error
    scenario = overridden(stated, settings, str(path))
    try:
        if not scenario.is_shipped(scenario.locustfile(path.parent)):
            from keyheat.simulator.dryrun import check_file

            check_file(scenario, path.parent)
    except FileNotFoundError as error:
        raise ScenarioError(str(path), [f"{error} @ $.loadtest"]) from error
    return scenario, path


def find_scenarios(names: Sequence[str], settings: Sequence[str] = ()) -> list[tuple[Scenario, Path]]:
    """Several scenarios, each of another name. Raises `ValueError` with every mistake in any of them."""
    scenarios: list[tuple[Scenario, Path]] = []
    errors: list[str] = []
    for name in names:
        try:
            scenarios.append(find_scenario(name, settings))
        except ValueError as error:
            errors.append(str(error))
    called = Counter(scenario.name for scenario, _path in scenarios)
    errors += [f"{count} scenarios are named {name!r}" for name, count in called.items() if count > 1]
    if errors:
        raise ValueError("\n".join(errors))
    return scenarios


def is_done(job: Job) -> bool:
    return (job.folder / FILES[DIAGNOSIS]).exists()


def clear(folder: Path) -> None:
    """Take away an earlier run's files, and nothing else, from a folder that the next one will write."""
    for name in (*FILES.values(), REPORT):
        (folder / name).unlink(missing_ok=True)


def new_folder(parent: Path, name: str) -> Claim:
    """A new folder, named for what it holds and when it was made; of those made at once, each is another."""
    return claim_numbered(parent / f"{name}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}", new=True)
