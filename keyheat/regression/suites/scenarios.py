"""The scenario that a case of a suite names, with the case's settings made."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from keyheat.scenario.scenario import SCENARIOS, Scenario, ScenarioError, load_scenario
from keyheat.scenario.variants import overridden

FILES: Final = (".toml", ".json")


def scenario_of(raw: object, suite: Path, place: str, errors: list[str]) -> tuple[Scenario, Path] | None:
    """The scenario of a case with its settings made; what is wrong with it goes to `errors`."""
    case = raw if isinstance(raw, Mapping) else {}
    named, settings = case.get("scenario"), case.get("set", [])
    if not isinstance(named, str) or not named:
        return None  # said with the other fields
    path = _scenario_file(named, suite)
    if not _there(path):
        errors.append(f"{_not_there(named, path)} @ {place}.scenario")
        return None
    try:
        scenario = load_scenario(path)
    except ScenarioError as error:
        errors += [_moved(line, path, f"{place}.scenario") for line in error.errors]
        return None
    if not isinstance(settings, list) or not all(isinstance(one, str) for one in settings):
        return None  # said with the other fields
    try:
        return overridden(scenario, settings, str(path)), path
    except ScenarioError as error:
        errors += [_moved(line, path, f"{place}.set") for line in error.errors]
        return None


def _moved(mistake: str, path: Path, place: str) -> str:
    """A mistake of a scenario, with the place in the suite that brought it there."""
    message, _, where = mistake.rpartition(" @ ")
    return f"{message} @ {place}" if where == "--set" else f"in {path.name}: {mistake} of {place}"


def _there(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name that no file can have
        return False


def _not_there(named: str, path: Path) -> str:
    if path.parent != SCENARIOS:
        return f"no file {path}: a scenario's path begins at the suite's folder"
    names = ", ".join(sorted(file.stem for file in SCENARIOS.glob("*.toml")))
    return f"no scenario {named!r}; there are {names}, or say a path such as ./mine.toml"


def _scenario_file(named: str, suite: Path) -> Path:
    """A path lies beside the suite; a name is one of Keyheat's own scenarios."""
    if named.endswith(FILES) or "/" in named:
        return suite.parent / named
    return SCENARIOS / f"{named}.toml"
