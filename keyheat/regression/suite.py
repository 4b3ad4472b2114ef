"""A suite: cases, each a scenario on a target, that are run again and again, and the gates of each.

`load_suite` is the way in. It returns a frozen `Suite` with every scenario read, or raises `SuiteError` with
the mistakes in the file, or else with those of the scenarios that it names.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from keyheat.analysis.measures import MEASURES
from keyheat.bounds import NotAccepted, parsed_toml, text_of
from keyheat.masking import shown
from keyheat.regression.outcome import CAPACITY_USED, LABELS, THROTTLE_SHARE, Gate, is_noisy
from keyheat.regression.suite_spec import PATTERNS, CaseSpec, RunSpec, Seeds, SuiteSpec
from keyheat.runfiles import SIMULATED
from keyheat.scenario.scenario import SCENARIOS, Scenario, ScenarioError, load_scenario
from keyheat.scenario.variants import overridden
from keyheat.shipped import shipped
from keyheat.simulator.dryrun.ask import check_file
from keyheat.validation import mistakes
from keyheat.words import Constraint

SUITES: Final = shipped("configs") / "suites"
FILES: Final = (".toml", ".json")
SEEDS: Final = 2**63
REPETITIONS: Final = 5  # if a gate is statistical and nobody says how many
LEAST_REPETITIONS: Final = 2  # one run has no spread
OF_LIMITS: Final = (THROTTLE_SHARE, CAPACITY_USED)  # gates of simulated cases, too
DEFAULT_GATES: Final = tuple(Gate(measure=name) for name in (LABELS, *MEASURES))
"""The gates of a case without gates of its own: labels, and every measure; see `default_gates`."""


class SuiteError(ScenarioError):
    """A suite that cannot be run, with every reason why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteCase:
    """One scenario on one target, how often it is run, and its gates."""

    name: str
    scenario: Scenario  # with the suite's settings made
    path: Path  # of the scenario's file; its trace is beside it
    target: str
    repetitions: int
    seeds: Seeds
    gates: tuple[Gate, ...]
    expects: Constraint | None = None  # what limits its runs, as it is meant to be
    always: bool = False  # compared, whatever has changed of its scenario

    @property
    def simulated(self) -> bool:
        """Whether nothing is sent: a run of it has no noise, and costs nothing."""
        return self.target == SIMULATED

    def seed(self, repetition: int) -> int:
        """The seed of a repetition, counted from 0."""
        return (self.scenario.seed + (repetition if self.seeds == "each" else 0)) % SEEDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """Cases that belong together, in the order of the file."""

    name: str
    question: str
    path: Path
    cases: tuple[SuiteCase, ...]
    run: RunSpec = field(default_factory=RunSpec)

    @property
    def gates(self) -> dict[str, tuple[Gate, ...]]:
        """The gates of each case, by its name."""
        return {case.name: case.gates for case in self.cases}


def default_gates(target: str, repetitions: int | None) -> tuple[Gate, ...]:
    """The default gates that fit a case.

    A simulated run has no noise: its gates are the exact measures, the throttled share and the capacity
    used. One repetition has no spread, so that nothing statistical can be decided by it.
    """
    noisy, simulated = target != SIMULATED and repetitions != 1, target == SIMULATED
    return tuple(
        gate
        for gate in DEFAULT_GATES
        if noisy or not is_noisy(gate) or (simulated and gate.measure in OF_LIMITS)
    )


def find_suite(name_or_path: str) -> Suite:
    """A suite by its file, or by its name in configs/suites. Raises `SuiteError`."""
    ours = ", ".join(sorted(file.stem for file in SUITES.glob("*.toml")))
    if not name_or_path:
        raise SuiteError("keyheat regress", [f"which suite? A file, or one of ours: {ours} @ SUITE"])
    path = Path(name_or_path)
    if path.suffix != ".toml" and (path.is_dir() or not path.exists()):
        path = SUITES / f"{name_or_path}.toml"
    if not path.exists():
        raise SuiteError(name_or_path, [f"neither a file nor one of ours: {ours} @ SUITE"])
    return load_suite(path)


def load_suite(path: Path) -> Suite:
    """Read one suite's file. Raises `SuiteError`."""
    try:
        raw = parsed_toml(text_of(path))
    except (OSError, NotAccepted) as error:
        raise SuiteError(str(path), [f"{getattr(error, 'strerror', None) or error} @ file"]) from error
    return suite_from_dict(raw, path)


def suite_from_dict(raw: dict[str, Any], path: Path) -> Suite:
    """The suite that a file says or is going to say. Raises `SuiteError` as `load_suite` does."""
    try:
        spec = SuiteSpec.model_validate(raw)
    except ValidationError as error:
        raise SuiteError(str(path), mistakes(error, PATTERNS)) from error
    errors: list[str] = []
    scenarios = [_scenario_of(case, path, number, errors) for number, case in enumerate(spec.cases)]
    cases = [
        _case(name, case, spec, scenario, file)
        for name, case, (scenario, file) in zip(_names(spec, scenarios), spec.cases, scenarios, strict=True)
        if scenario is not None
    ]
    errors += _mistakes(cases, spec) if len(cases) == len(spec.cases) else []
    if errors:
        raise SuiteError(str(path), errors)
    return Suite(name=spec.name, question=spec.question, path=path, cases=tuple(cases), run=spec.run)


def _scenario_of(case: CaseSpec, suite: Path, number: int, errors: list[str]) -> tuple[Scenario | None, Path]:
    """The scenario of a case with its settings made, and its file; what is wrong with it goes to `errors`."""
    named, place = case.scenario, f"$.cases[{number}]"
    own = named.endswith(FILES) or "/" in named
    path = suite.parent / named if own else SCENARIOS / f"{named}.toml"
    try:
        if not path.is_file():
            errors.append(f"{_not_there(named, path, own=own)} @ {place}.scenario")
            return None, path
        scenario = load_scenario(path)
    except ScenarioError as error:
        errors += [_moved(line, path, f"{place}.scenario") for line in error.errors]
        return None, path
    except (OSError, ValueError):  # a name that no file can have
        errors.append(f"{_not_there(named, path, own=own)} @ {place}.scenario")
        return None, path
    try:
        return overridden(scenario, case.set, str(path)), path
    except ScenarioError as error:
        errors += [_moved(line, path, f"{place}.set") for line in error.errors]
        return None, path


def _moved(mistake: str, path: Path, place: str) -> str:
    """A mistake of a scenario, with the place in the suite that brought it there."""
    message, _, where = mistake.rpartition(" @ ")
    return f"{message} @ {place}" if where == "--set" else f"in {path.name}: {mistake} of {place}"


def _not_there(named: str, path: Path, *, own: bool) -> str:
    if own:
        return f"no file {path}: a scenario's path begins at the suite's folder"
    names = ", ".join(sorted(file.stem for file in SCENARIOS.glob("*.toml")))
    return f"no scenario {named!r}; there are {names}, or say a path such as ./mine.toml"


def _case(name: str, case: CaseSpec, spec: SuiteSpec, scenario: Scenario, path: Path) -> SuiteCase:
    target = case.target or spec.target
    stated = spec.repetitions if case.repetitions is None else case.repetitions
    gates = spec.gates if case.gates is None else case.gates
    gates = default_gates(target, stated) if gates is None else gates
    noisy = target != SIMULATED and any(map(is_noisy, gates))
    return SuiteCase(
        name=name, scenario=scenario, path=path, target=target, gates=gates,
        repetitions=stated or (REPETITIONS if noisy else 1), seeds=case.seeds or spec.seeds,
        expects=case.expects or scenario.expects, always=case.compare == "always" or target == SIMULATED,
    )  # fmt: skip


def _names(spec: SuiteSpec, scenarios: Sequence[tuple[Scenario | None, Path]]) -> list[str]:
    """Each case's own name, else its scenario's, with its target if it is run on several."""
    names = [
        case.name or (scenario.name if scenario else "")
        for case, (scenario, _) in zip(spec.cases, scenarios, strict=True)
    ]
    targets = [case.target or spec.target for case in spec.cases]
    several = [name for name, _ in dict.fromkeys(zip(names, targets, strict=True))]
    return [
        f"{name}-{_slug(target)}" if case.name is None and several.count(name) > 1 else name
        for case, name, target in zip(spec.cases, names, targets, strict=True)
    ]


def _slug(target: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", target.lower().split("//")[-1]).strip("-")


def _mistakes(cases: Sequence[SuiteCase], spec: SuiteSpec) -> Iterator[str]:
    """Rules of several fields together."""
    if spec.run.table is not None and all(case.simulated for case in cases):
        yield "every case is simulated, on its scenario's own table: add a target or drop table @ $.run.table"
    yield from _of_loads(cases, spec)
    often = Counter(case.name for case in cases)
    for number, case in enumerate(cases):
        here = f"$.cases[{number}]"
        if often[case.name] > 1:
            files = " and ".join(dict.fromkeys(shown(one.path) for one in cases if one.name == case.name))
            yield f"{often[case.name]} cases are named {case.name!r}, of {files}: rename one @ {here}.name"
        noisy = next((gate for gate in case.gates if is_noisy(gate)), None)
        if noisy is not None and not case.simulated and case.repetitions < LEAST_REPETITIONS:
            place = here if spec.cases[number].repetitions is not None else "$"
            yield (
                f"{noisy.measure} differs from run to run: it takes {LEAST_REPETITIONS} repetitions or "
                f"more, got {case.repetitions} @ {place}.repetitions"
            )
        if case.scenario.table.scaled and not case.simulated:
            yield f"auto scaling happens in simulated runs only, and {case.name} has it @ {here}.target"
        yield from _not_runnable(case, here)


def _not_runnable(case: SuiteCase, here: str) -> Iterator[str]:
    try:
        check_file(case.scenario, case.path.parent)
    except FileNotFoundError as error:
        yield f"in {case.path.name}: {str(error).partition(';')[0]} @ {here}.scenario"
    except ScenarioError as error:
        yield from (f"in {case.path.name}: {line} of {here}.scenario" for line in error.errors)


def _of_loads(cases: Sequence[SuiteCase], spec: SuiteSpec) -> Iterator[str]:
    """Gates on service times that are for simulated cases only: a simulated run takes no time."""
    common = [case for case, stated in zip(cases, spec.cases, strict=True) if stated.gates is None]
    places = [("$", spec.gates, common)]
    places += [(f"$.cases[{n}]", one.gates, [cases[n]]) for n, one in enumerate(spec.cases)]
    for place, gates, held in places:
        for number, gate in enumerate(gates or ()):
            timed = gate.measure != LABELS and MEASURES[gate.measure].unit == "ms"
            if timed and held and all(case.simulated for case in held):
                yield (
                    f"{gate.measure} is measured of real loads only, and every case that it is for is "
                    f"simulated: say another target, or no such gate @ {place}.gates[{number}].measure"
                )
