"""A suite: cases, each a scenario on a target, that are run again and again, and what each is held to.

`load_suite` is the way in. It returns a frozen `Suite` with every scenario read, or raises `SuiteError`
with every mistake at once, those of the scenarios among them.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import orjson
from pydantic import ValidationError

from keyheat.bounds import NotAccepted, parsed_toml, text_of
from keyheat.masking import shown
from keyheat.regression.outcome import Gate
from keyheat.regression.suite_spec import DEFAULT_GATES as DEFAULT_GATES
from keyheat.regression.suite_spec import (
    LEAST_REPETITIONS,
    OF_LOADS,
    PATTERNS,
    REPETITIONS,
    CaseSpec,
    GateSpec,
    RunSpec,
    Seeds,
    SuiteSpec,
    default_gates,
    gate_mistakes,
    gate_of,
    is_known,
    statistical,
)
from keyheat.runfiles import SIMULATED
from keyheat.scenario.scenario import SCENARIOS, Scenario, ScenarioError, load_scenario
from keyheat.scenario.variants import overridden
from keyheat.shipped import shipped
from keyheat.simulator.rehearsal.ask import check_file
from keyheat.validation import mistakes
from keyheat.words import Constraint

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
    if not isinstance(settings, list):
        return None  # said with the other fields
    texts = [one for one in settings if isinstance(one, str)]  # of the others that is said
    try:
        found = overridden(scenario, texts, str(path))
    except ScenarioError as error:
        errors += [_moved(line, path, f"{place}.set") for line in error.errors]
        return None
    return (found, path) if len(texts) == len(settings) else None


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


SUITES: Final = shipped("configs") / "suites"
SEEDS: Final = 2**63


class SuiteError(ScenarioError):
    """A suite that cannot be run, with every reason why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteCase:
    """One scenario on one target, how often it is run, and what it is held to."""

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
    def digest(self) -> str:
        """A digest of all that decides what is run and what is held on to; words are not in it."""
        said = [
            {
                "name": case.name,
                "scenario": case.scenario.model_dump(
                    mode="json", exclude_defaults=True, exclude={"name", "question"}
                ),
                "target": case.target,
                "repetitions": case.repetitions,
                "seeds": case.seeds,
                "gates": [asdict(gate) for gate in case.gates],
            }
            for case in self.cases
        ]
        return f"sha256:{sha256(orjson.dumps(said, option=orjson.OPT_SORT_KEYS)).hexdigest()[:16]}"

    @property
    def designs(self) -> frozenset[str]:
        """The cases that are compared whatever has changed of their scenarios."""
        return frozenset(case.name for case in self.cases if case.always)

    @property
    def gates(self) -> dict[str, tuple[Gate, ...]]:
        """What each case is held to, by its name."""
        return {case.name: case.gates for case in self.cases}


def find_suite(name_or_path: str) -> Suite:
    """A suite by its file, or by its name in configs/suites. Raises `SuiteError`."""
    if not name_or_path:
        raise SuiteError("keyheat regress", [f"which suite? A file, or one of ours: {_ours()} @ SUITE"])
    path = Path(name_or_path)
    if path.suffix != ".toml" and (path.is_dir() or not path.exists()):
        path = SUITES / f"{name_or_path}.toml"
    if not path.exists():
        raise SuiteError(name_or_path, [f"neither a file nor one of ours: {_ours()} @ SUITE"])
    return load_suite(path)


def _ours() -> str:
    return ", ".join(sorted(file.stem for file in SUITES.glob("*.toml")))


def load_suite(path: Path) -> Suite:
    """Read one suite's file. Raises `SuiteError` with every mistake in it and in its scenarios."""
    return suite_from_dict(_toml(path), path)


def suite_from_dict(raw: dict[str, Any], path: Path) -> Suite:
    """A suite of what its file says or is going to say. Raises `SuiteError` as `load_suite` does."""
    errors: list[str] = []
    spec = None
    try:
        spec = SuiteSpec.model_validate(raw)
    except ValidationError as error:
        errors += mistakes(error, PATTERNS)
    listed = raw.get("cases")
    cases = listed if isinstance(listed, list) else []
    scenarios = [scenario_of(case, path, f"$.cases[{number}]", errors) for number, case in enumerate(cases)]
    errors += _gates_mistakes(raw, cases)
    if spec is not None:
        made = _cases(spec, scenarios)
        errors += _broken(made, spec)
        if not errors:
            return Suite(
                name=spec.name,
                question=spec.question,
                path=path,
                cases=tuple(filter(None, made)),
                run=spec.run,
            )
    raise SuiteError(str(path), errors)


def _toml(path: Path) -> dict[str, Any]:
    try:
        text = text_of(path)
    except (OSError, NotAccepted) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise SuiteError(str(path), [f"{reason or error} @ file"]) from error
    try:
        return parsed_toml(text)
    except NotAccepted as error:
        raise SuiteError(str(path), [f"{error} @ $"]) from error


def _gates_mistakes(raw: Mapping[str, Any], cases: Sequence[object]) -> Iterator[str]:
    """What is wrong with the gates, also where something else is wrong with the file."""
    places = [("$", raw), *((f"$.cases[{number}]", case) for number, case in enumerate(cases))]
    for place, owner in places:
        listed = owner.get("gates") if isinstance(owner, Mapping) else None
        specs = map(_read, listed if isinstance(listed, list) else [])
        yield from gate_mistakes(((number, one) for number, one in enumerate(specs) if one), place)
    for place, gates in _simulated(raw, cases):
        for number, spec in enumerate(map(_read, gates)):
            if spec is not None and spec.measure in OF_LOADS:
                yield (
                    f"{spec.measure} is measured of real loads only, and every case that it is for is "
                    f"simulated: say another target, or no such gate @ {place}.gates[{number}].measure"
                )


def _simulated(raw: Mapping[str, Any], cases: Sequence[object]) -> Iterator[tuple[str, Sequence[object]]]:
    """The gates that are stated for simulated cases alone, and their place."""
    alike = {"$": raw.get("gates")}
    targets: dict[str, list[object]] = {"$": []}
    for number, case in enumerate(cases):
        if isinstance(case, Mapping):
            own = case.get("gates")
            place = "$" if own is None else f"$.cases[{number}]"
            alike[place] = raw.get("gates") if own is None else own
            targets.setdefault(place, []).append(case.get("target", raw.get("target", SIMULATED)))
    for place, gates in alike.items():
        if isinstance(gates, list) and targets[place] and all(one == SIMULATED for one in targets[place]):
            yield place, gates


def _read(raw: object) -> GateSpec | None:
    try:
        return GateSpec.model_validate(raw)
    except ValidationError:
        return None  # said with the other fields


def _cases(spec: SuiteSpec, found: Sequence[tuple[Scenario, Path] | None]) -> list[SuiteCase | None]:
    """Every case; None for one whose scenario cannot be read."""
    names = _names(spec, [None if one is None else one[0].name for one in found])
    return [
        None if read is None else _case(name, one, spec, *read)
        for name, one, read in zip(names, spec.cases, found, strict=True)
    ]


def _case(name: str, one: CaseSpec, spec: SuiteSpec, scenario: Scenario, path: Path) -> SuiteCase:
    target = one.target or spec.target
    said = spec.repetitions if one.repetitions is None else one.repetitions
    stated = spec.gates if one.gates is None else one.gates
    known = (gate_of(gate) for gate in stated or () if is_known(gate.measure))
    gates = default_gates(target, said) if stated is None else tuple(known)
    return SuiteCase(
        name=name,
        scenario=scenario,
        path=path,
        target=target,
        repetitions=said or (REPETITIONS if target != SIMULATED and any(map(statistical, gates)) else 1),
        seeds=one.seeds or spec.seeds,
        gates=gates,
        expects=one.expects or scenario.expects,
        always=one.compare == "always" or target == SIMULATED,
    )


def _names(spec: SuiteSpec, scenarios: Sequence[str | None]) -> list[str]:
    """Each case's own name, else its scenario's, with its target where it is run on several.

    Empty where neither is known.
    """
    called = [one.name or name or "" for one, name in zip(spec.cases, scenarios, strict=True)]
    targets = {name: set[str]() for name in called}
    for one, name in zip(spec.cases, called, strict=True):
        targets[name].add(one.target or spec.target)
    return [
        name if one.name or len(targets[name]) == 1 else f"{name}-{_slug(one.target or spec.target)}"
        for one, name in zip(spec.cases, called, strict=True)
    ]


def _slug(target: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", target.lower().split("//")[-1]).strip("-")


def _broken(cases: Sequence[SuiteCase | None], spec: SuiteSpec) -> Iterator[str]:
    """Rules of several fields together, for each case that can be read."""
    if spec.run.table is not None and all(case.simulated for case in cases if case is not None):
        yield "every case is simulated, on its scenario's own table: add a target or drop table @ $.run.table"
    often = Counter(case.name for case in cases if case is not None)
    for number, case in enumerate(cases):
        if case is None:
            continue
        here = f"$.cases[{number}]"
        if often[case.name] > 1:
            alike = (one.path for one in cases if one is not None and one.name == case.name)
            files = " and ".join(dict.fromkeys(map(shown, alike)))
            yield f"{often[case.name]} cases are named {case.name!r}, of {files}: rename one @ {here}.name"
        lacking = next((gate for gate in case.gates if statistical(gate)), None)
        if lacking is not None and not case.simulated and case.repetitions < LEAST_REPETITIONS:
            said = here if spec.cases[number].repetitions is not None else "$"
            yield (
                f"{lacking.measure} differs from run to run: it takes {LEAST_REPETITIONS} repetitions or "
                f"more, got {case.repetitions} @ {said}.repetitions"
            )
        try:
            check_file(case.scenario, case.path.parent)
        except FileNotFoundError as error:
            yield f"in {case.path.name}: {str(error).partition(';')[0]} @ {here}.scenario"
        except ScenarioError as error:
            yield from (f"in {case.path.name}: {said} of {here}.scenario" for said in error.errors)
        if case.scenario.table.scaled and not case.simulated:
            yield f"auto scaling happens in simulated runs only, and {case.name} has it @ {here}.target"
