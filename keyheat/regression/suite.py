"""Suites: cases, each a scenario on a target, and their gates; and a suite of a user's own scenarios.

`load_suite` returns a frozen `Suite` with every scenario loaded, or raises `SuiteError` with the mistakes in
the file and in its scenarios.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from keyheat.analysis.measures import CAPACITY_USED, MEASURES
from keyheat.inputs import NotAccepted, parsed_toml, text_of
from keyheat.intake.suite import repository_of, scenarios_among, schedule_files, states_format, suite_text
from keyheat.masking import short_path
from keyheat.regression.outcome import LABELS, THROTTLE_SHARE, Gate
from keyheat.regression.suite_spec import PATTERNS, CaseSpec, RunSpec, SuiteSpec
from keyheat.runfiles import SIMULATED, write_text
from keyheat.scenario.scenario import FORMAT as SCENARIO_FORMAT
from keyheat.scenario.scenario import SCENARIOS, SUITE_FORMAT, Scenario, ScenarioError, load_scenario
from keyheat.scenario.variants import overridden
from keyheat.shipped import schema_beside, shipped
from keyheat.simulator.dryrun import check_file
from keyheat.validation import mistakes
from keyheat.words import Constraint

SUITES: Final = shipped("configs") / "suites"
FILES: Final = (".toml", ".json")
SEEDS: Final = 2**63
REPETITIONS: Final = 5  # default for statistical gates
LEAST_REPETITIONS: Final = 2  # one run has no spread
USUAL: Final = Path("keyheat")
"""Default folder of a user's scenarios; else the current one."""
OF_LIMITS: Final = (THROTTLE_SHARE, *CAPACITY_USED)  # also gates of simulated cases
DEFAULT_GATES: Final = tuple(Gate(measure=name) for name in (LABELS, *MEASURES))
"""Gates of a case that states none: labels and every measure; see `default_gates`."""


class SuiteError(ScenarioError):
    """A suite that cannot run, with every reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteCase:
    """One scenario on one target, with repetitions and gates."""

    name: str
    scenario: Scenario  # with the suite's settings applied
    path: Path  # of the scenario's file; its trace is next to it
    target: str
    repetitions: int
    gates: tuple[Gate, ...]
    expects: Constraint | None = None  # the intended constraint of its runs
    always: bool = False  # compared despite a changed scenario

    @property
    def simulated(self) -> bool:
        """Whether it sends nothing: its runs have no noise, and cost nothing."""
        return self.target == SIMULATED

    def seed(self, repetition: int) -> int:
        """The seed of a repetition, counted from 0."""
        return (self.scenario.seed + repetition) % SEEDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """A set of cases, in the order of the file."""

    name: str
    question: str
    path: Path
    cases: tuple[SuiteCase, ...]
    run: RunSpec = field(default_factory=RunSpec)

    @property
    def gates(self) -> dict[str, tuple[Gate, ...]]:
        return {case.name: case.gates for case in self.cases}


def default_gates(target: str, repetitions: int | None) -> tuple[Gate, ...]:
    """Default gates of a case.

    A simulated run has no noise: its gates are the exact measures, the throttle share and the capacity used.
    One repetition has no spread, so it has no statistical gate.
    """
    noisy, simulated = target != SIMULATED and repetitions != 1, target == SIMULATED
    return tuple(
        gate for gate in DEFAULT_GATES if noisy or not gate.noisy or (simulated and gate.measure in OF_LIMITS)
    )


def find_suite(name_or_path: str) -> Suite:
    """Find a suite by its file, or by its name in configs/suites. Raises `SuiteError`."""
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
    """Load a suite from a file. Raises `SuiteError`."""
    try:
        raw = parsed_toml(text_of(path))
    except (OSError, NotAccepted) as error:
        raise SuiteError(str(path), [f"{getattr(error, 'strerror', None) or error} @ file"]) from error
    return suite_from_dict(raw, path)


def suite_from_dict(raw: dict[str, Any], path: Path) -> Suite:
    """Build a suite from a file's content. Raises `SuiteError` as `load_suite` does."""
    if raw.get("format") == SCENARIO_FORMAT:
        command = f"`keyheat init {short_path(path)} --suite NAME` writes a suite of it"
        raise SuiteError(str(path), [f"this is a scenario, not a suite: {command} @ $.format"])
    try:
        spec = SuiteSpec.model_validate(raw)
    except ValidationError as error:
        errors = mistakes(error, PATTERNS, SuiteSpec)
        content = raw.get("cases")
        for number, case in enumerate(content if isinstance(content, list) else ()):
            with suppress(ValidationError):  # of a case without mistakes itself, those of its scenario
                _scenario_of(CaseSpec.model_validate(case), path, number, errors)
        raise SuiteError(str(path), errors) from error
    errors = []
    scenarios = [_scenario_of(case, path, number, errors) for number, case in enumerate(spec.cases)]
    cases = tuple(_case(case, spec, *read) for case, read in zip(spec.cases, scenarios, strict=True) if read)
    errors += _check_fields(cases, spec) if len(cases) == len(scenarios) else []
    if errors:
        raise SuiteError(str(path), errors)
    return Suite(name=spec.name, question=spec.question, path=path, cases=cases, run=spec.run)


def _scenario_of(case: CaseSpec, suite: Path, number: int, errors: list[str]) -> tuple[Scenario, Path] | None:
    """The scenario of a case with its settings, and its file; None for mistakes, which go to `errors`."""
    named, location, settings = case.scenario, f"$.cases[{number}]", False
    is_path = named.endswith(FILES) or "/" in named
    path = suite.parent / named if is_path else SCENARIOS / f"{named}.toml"
    try:
        path.stat()
        scenario = load_scenario(path)
        settings = True
        return overridden(scenario, case.set, str(path)), path
    except ScenarioError as error:
        place = f"{location}.{'set' if settings else 'scenario'}"
        errors += [
            f"{line.removesuffix(' @ --set')} @ {place}"
            if line.endswith(" @ --set")
            else f"in {path.name}: {line} of {place}"
            for line in error.errors
        ]
    except (OSError, ValueError):  # among them a name that no file can have
        ours = ", ".join(sorted(file.stem for file in SCENARIOS.glob("*.toml")))
        missing = (
            f"no file {path}: a scenario's path is relative to the suite's folder"
            if is_path
            else f"no scenario {named!r}; use one of {ours}, or a path such as ./mine.toml"
        )
        errors.append(f"{missing} @ {location}.scenario")
    return None


def _case(case: CaseSpec, spec: SuiteSpec, scenario: Scenario, path: Path) -> SuiteCase:
    target = case.target or spec.target
    stated = spec.repetitions if case.repetitions is None else case.repetitions
    gates = spec.gates if case.gates is None else case.gates
    gates = default_gates(target, stated) if gates is None else gates
    noisy = target != SIMULATED and any(gate.noisy for gate in gates)
    return SuiteCase(
        name=case.name or scenario.name, scenario=scenario, path=path, target=target, gates=gates,
        repetitions=stated or (REPETITIONS if noisy else 1),
        expects=case.expects or scenario.expects, always=case.compare == "always" or target == SIMULATED,
    )  # fmt: skip


def _check_fields(cases: Sequence[SuiteCase], spec: SuiteSpec) -> Iterator[str]:
    if spec.run.table is not None and all(case.simulated for case in cases):
        yield "every case is simulated, on its scenario's own table: add a target or drop table @ $.run.table"
    for name, count in Counter(case.name for case in cases).items():
        if count > 1:
            alike = [number for number, case in enumerate(cases) if case.name == name]
            files = " and ".join(dict.fromkeys(short_path(cases[number].path) for number in alike))
            yield f"{count} cases are named {name!r}, of {files}: rename one @ $.cases[{alike[-1]}].name"
    for number, case in enumerate(cases):
        here = f"$.cases[{number}]"
        noisy = next((gate for gate in case.gates if gate.noisy), None)
        if noisy is not None and not case.simulated and case.repetitions < LEAST_REPETITIONS:
            location = here if spec.cases[number].repetitions is not None else "$"
            yield (
                f"{noisy.measure} differs from run to run: it needs {LEAST_REPETITIONS} repetitions or "
                f"more, got {case.repetitions} @ {location}.repetitions"
            )
        if case.scenario.table.scaled and not case.simulated:
            yield f"only simulated runs have auto scaling, which {case.name} uses @ {here}.target"
        try:
            check_file(case.scenario, case.path.parent)
        except FileNotFoundError as error:
            yield f"in {case.path.name}: {str(error).partition(';')[0]} @ {here}.scenario"
        except ScenarioError as error:
            yield from (f"in {case.path.name}: {line} of {here}.scenario" for line in error.errors)


# A suite of a user's own scenarios


def write_suite(
    name: str, places: Sequence[Path], schedules: Sequence[str], file: Path | None, *, force: bool
) -> tuple[Suite, list[Path]]:
    """Write the suite and its schedules; return it and the files. Raises `SuiteError` before writing.

    `force` overwrites schedules, but never a suite.
    """
    sources = list(places) or [USUAL if USUAL.is_dir() else Path()]
    folder = sources[0] if sources[0].is_dir() else sources[0].parent
    target = file or folder / f"{name}.toml"
    kept = states_format(target, SUITE_FORMAT)
    scenarios = scenarios_among(sources) if places or not kept else []
    shown = short_path(target)
    if not kept and not scenarios:
        wrong = f"no scenario in {sources[0]}: `keyheat init SOURCE --out {sources[0]}/TABLE.toml` writes one"
        raise SuiteError(shown, [f"{wrong} @ SOURCE"])
    if not kept and target.exists():
        raise SuiteError(shown, [f"{shown} exists and is not a suite: choose another --out"])
    text = "" if kept else suite_text(name, scenarios, target, schema_beside("suite", target))
    raw = parsed_toml(text)
    for case in raw.get("cases", ()):  # from here: the suite's folder may not exist yet
        case["scenario"] = str((target.parent / case["scenario"]).resolve())
    suite = load_suite(target) if kept else suite_from_dict(raw, target)
    inside = {case.path.resolve() for case in suite.cases}
    errors = [
        f"{short_path(scenario)} is not in {shown}, which is kept: add a case there, or delete the suite to "
        "start again @ SOURCE"
        for scenario in scenarios
        if kept and scenario.resolve() not in inside
    ]
    files = {} if kept else {target: text}
    for schedule in schedules:
        try:
            for path, content in schedule_files(schedule, target, repository_of(Path.cwd())).items():
                if path.exists() and path.read_bytes() == content.encode():
                    continue
                if path.exists() and not force:
                    errors.append(f"{short_path(path)} exists: add --force to write over it")
                else:
                    files[path] = content
        except ValueError as error:
            errors.append(f"{error} @ --schedule {schedule}")
    if errors:
        raise SuiteError(shown, errors)
    for path, content in files.items():
        write_text(path, content)
    return suite, list(files)
