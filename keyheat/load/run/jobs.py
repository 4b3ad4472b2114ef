"""Runs to be made: which scenario, from which file, into which folder. Nothing is started here."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from keyheat.runfiles import DIAGNOSIS, FILES, REPORT
from keyheat.runs.claims import Claim, claim_new
from keyheat.scenario.scenario import Scenario, ScenarioError, load_scenario, scenario_file
from keyheat.scenario.variants import named, overridden, with_shards, write_scenario


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
    scenario = overridden(load_scenario(path), settings, str(path))
    try:
        if not scenario.is_shipped(scenario.locustfile(path.parent)):
            from keyheat.simulator.rehearsal.ask import check_file

            check_file(scenario, path.parent)
    except FileNotFoundError as error:
        raise ScenarioError(str(path), [f"{error} @ $.loadtest"]) from error
    return scenario, path


def find_scenarios(names: Sequence[str], settings: Sequence[str] = ()) -> list[tuple[Scenario, Path]]:
    """Several scenarios, each of another name. Raises `ValueError` with every mistake in any of them."""
    found: list[tuple[Scenario, Path]] = []
    errors: list[str] = []
    for name in names:
        try:
            found.append(find_scenario(name, settings))
        except ValueError as error:
            errors.append(str(error))
    called = Counter(scenario.name for scenario, _path in found)
    errors += [f"{count} scenarios are named {name!r}" for name, count in called.items() if count > 1]
    if errors:
        raise ValueError("\n".join(errors))
    return found


def shard_jobs(scenario: Scenario, counts: Sequence[int], folder: Path) -> dict[int, Job]:
    """The scenario with each number of shards, its file and its run directory side by side in `folder`.

    Its files are found from everywhere (`with_files_of`).
    Raises `ValueError` where the load test asks nothing about shards, and `CannotWrite`.
    """
    from keyheat.simulator.traffic import asks_for_shards

    if not asks_for_shards(scenario):
        raise ValueError(
            f"scenario {scenario.name}: its load test, {scenario.loadtest}, spreads no key over shards"
        )
    derived = {count: with_shards(scenario, count) for count in counts}
    return {
        count: Job(
            one,
            write_scenario(folder / f"{named('shards', count)}.json", one),
            folder / named("shards", count),
        )
        for count, one in derived.items()
    }


def made(job: Job) -> bool:
    """Whether its run came to a diagnosis."""
    return (job.folder / FILES[DIAGNOSIS]).exists()


def clear(folder: Path) -> None:
    """Take away an earlier run's files, and nothing else, from a folder that the next one will write."""
    for name in (*FILES.values(), REPORT):
        (folder / name).unlink(missing_ok=True)


def new_folder(parent: Path, name: str) -> Claim:
    """A new folder, named for what it holds and when it was made; of those made at once, each is another."""
    return claim_new(parent / f"{name}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}")
