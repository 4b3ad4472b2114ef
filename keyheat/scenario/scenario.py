"""A scenario: one question put to one table, as a person writes it in TOML and as the stages read it.

`load_scenario` is the only way in. It returns a frozen `Scenario` or raises `ScenarioError`, which carries
every mistake at once as `message @ $.path`; nothing downstream checks a field again.
"""

from collections.abc import Iterator
from difflib import get_close_matches
from os import PathLike, fspath
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import Field, PrivateAttr, ValidationError

from keyheat.inputs import NotAccepted, parsed_json, parsed_toml, text_of
from keyheat.masking import short_path
from keyheat.scenario.mistakes import (
    broken_attributes,
    broken_companions,
    broken_replay,
    broken_sharding,
    broken_tasks,
    broken_timeline,
    located,
    marked,
)
from keyheat.scenario.spec.keys import NOT_DESCRIBED, AttributeSpec, KeysSpec, ShardingSpec
from keyheat.scenario.spec.part import (
    FILE,
    IN_WORDS,
    AbortSpec,
    AttributeName,
    BudgetSpec,
    CacheSpec,
    Mistake,
    Name,
    ScenarioPart,
    Share,
)
from keyheat.scenario.spec.tables import (
    MOST_KEY_ATTRIBUTES,
    ChangeSpec,
    TableSpec,
    named_twice,
)
from keyheat.scenario.spec.tasks import MIXED, ClientSpec, LoadSpec, TaskSpec, with_total_rate
from keyheat.shipped import shipped
from keyheat.validation import mistakes, mistakes_of_the_rest
from keyheat.words import Constraint

FORMAT = "keyheat.scenario/1"
SUITE_FORMAT: Final = "keyheat.suite/1"
DECIDING: Final = ("kind", "values", "operation", "loadtest", "billing_mode", "arrivals", "sdk")
"""Fields on which it depends which others a part of a scenario has."""
RECORDED: Final = "evidence"
"""The load test of a scenario whose demand is recorded: no file has it."""
ASSUMED: Final = "ASSUMED"
"""The mark of an assumed value in a comment, as `keyheat init` writes it."""
SCENARIOS: Final = shipped("configs") / "scenarios"
"""Where the scenarios are that can be named."""
OF_INFRASTRUCTURE: Final = (".yaml", ".yml", ".tf")
OF_A_TABLE: Final = frozenset(("Table", "TableDescription", "TableName", "Resources"))
DESCRIBES_A_TABLE: Final = "it describes a table: `keyheat init {}` writes a scenario of it @ file"
A_SUITE: Final = "this is a suite, not a scenario: `keyheat regress {}` runs its cases @ $.format"


class ScenarioError(ValueError):
    """An invalid scenario, with every mistake."""

    def __init__(self, source: str, errors: list[str]) -> None:
        self.source = source
        self.errors = errors
        super().__init__(
            f"{source}: {len(errors)} error{'s' if len(errors) != 1 else ''}\n  " + "\n  ".join(errors)
        )


class NoSuchScenario(ScenarioError):
    """Neither a file nor the name of one in configs/scenarios."""

    def __init__(self, named: str) -> None:
        names = sorted(file.stem for file in SCENARIOS.glob("*.toml"))
        file = f"{named}.toml"
        near = file if Path(file).is_file() else " or ".join(get_close_matches(named, names, n=2))
        meant = f"did you mean {near}? " if near else ""
        message = (
            f"SCENARIO {named!r} is neither a file nor one of ours: {meant}`keyheat loadtests` lists them"
        )
        super().__init__(named, [message])

    def __str__(self) -> str:
        return self.errors[0]


class ThresholdsSpec(ScenarioPart):
    """What breaks the build: each one that is broken makes the exit code 1. Absent: not checked."""

    throttle_share_max: Share | None = None
    error_share_max: Share | None = None
    p99_ms_max: Annotated[float, Field(gt=0)] | None = None
    constraint: Constraint | None = Field(None, description="label that the run must get")
    wrong_reads_max: Annotated[int, Field(ge=0)] | None = Field(
        None, description="missing, duplicate and misordered items in all checked reads"
    )


class LocalSpec(ScenarioPart):
    """Settings of the local endpoint; ignored on other targets."""

    scale: Annotated[float, Field(gt=0, le=1000)] = Field(1.0, description="multiplies every rate limit")
    update_s: Annotated[float, Field(ge=0, le=86_400)] | None = Field(
        None,
        description="seconds that UpdateTable takes; absent: 0 on the local endpoint, minutes in a "
        "simulation, as in AWS",
    )
    transaction_s: Annotated[float, Field(ge=0, le=60)] | None = Field(
        None,
        description="seconds for which a transaction holds its items, so that others on them conflict; "
        "absent: no conflicts; about 0.018 in AWS",
    )


class Scenario(ScenarioPart):
    """One question put to one table: the table, the keys, the load, and what is expected."""

    format: Literal["keyheat.scenario/1"]
    name: Name
    question: Annotated[str, Field(min_length=1, max_length=300)]
    loadtest: Annotated[str, Field(pattern=FILE)] = Field(
        MIXED,
        description="a file in loadtests/, without .py; or your own Locust file, such as ./mine.py, "
        "relative to the scenario's folder",
    )
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 1
    expects: Constraint | None = Field(None, description="label of a correct diagnosis, shown in the report")
    table: TableSpec
    companions: tuple[TableSpec, ...] = Field(
        (), description="further tables of the load test; they are created, but not judged"
    )
    keys: KeysSpec
    attributes: dict[AttributeName, AttributeSpec] = Field(
        {}, description="values of items' other attributes, mainly of index keys"
    )
    load: LoadSpec = LoadSpec()
    tasks: Annotated[tuple[TaskSpec, ...], Field(max_length=100)] = Field(
        (), description="what users do, for loadtest = 'operations'"
    )
    client: ClientSpec = Field(
        ClientSpec(),
        description="retries of the application's SDK; absent: no retries",
    )
    cache: CacheSpec | None = Field(
        None, description="in front of reads; absent: every read goes to the table"
    )
    dynamic_sharding: ShardingSpec | None = Field(
        None, description="add shards to keys as they need them; absent: keys.shards is fixed"
    )
    timeline: tuple[ChangeSpec, ...] = Field(
        (), description="requests to UpdateTable while the load runs, in order of time"
    )
    thresholds: ThresholdsSpec = ThresholdsSpec()
    budget: BudgetSpec = Field(BudgetSpec(), description="of a run against a target that costs")
    abort_on: AbortSpec = Field(AbortSpec(), description="stop the run automatically, on any target")
    local: LocalSpec = LocalSpec()

    _assumed: tuple[str, ...] = PrivateAttr(())

    def broken(self) -> Iterator[Mistake]:
        yield from named_twice((self.table, *self.companions), "table")
        yield from broken_companions(self.companions)
        if self.dynamic_sharding is not None:
            yield from broken_sharding(self.dynamic_sharding, self.keys, self.table, self.companions)
        yield from broken_replay(self.loadtest, self.keys, self.load)
        yield from broken_timeline(self.timeline, self.table, self.load.duration_s)
        yield from broken_tasks(self.tasks, self.loadtest, self.table)
        yield from broken_attributes(self.attributes, self.table)

    @property
    def assumed(self) -> tuple[str, ...]:
        """What the file itself marks as assumed, field by field; less what was set anew since."""
        return self._assumed

    @property
    def attribute_values(self) -> dict[str, AttributeSpec]:
        """What items have beside the table's keys: what is described, and what is assumed of index keys."""
        assumed = dict.fromkeys(self.table.index_attributes, NOT_DESCRIBED)
        return dict(sorted((assumed | self.attributes).items()))

    @property
    def is_changing(self) -> bool:
        """Whether its load, or what its table is given, is another from some moment on."""
        return self.load.shape is not None or bool(self.timeline)

    @property
    def changes_capacity(self) -> bool:
        """Whether its table is given another capacity on the way, by its timeline or by auto scaling."""
        return self.table.scaled or bool(self.timeline)

    @property
    def invents_keys(self) -> bool:
        """Whether the scenario or Keyheat invents every key, so that none is a secret.

        A trace, a user's load test and an existing table bring their own keys.
        """
        return self.load.arrivals != "trace" and not self.loadtest.endswith(".py")

    @property
    def loadtest_shown(self) -> str:
        """The load test, as words name it: a person's own by its file."""
        if self.loadtest == RECORDED:
            return "the recorded demand"
        is_file = self.loadtest.endswith(".py")
        return Path(self.loadtest).name if is_file else f"the load test {self.loadtest}"

    def is_shipped(self, locustfile: Path) -> bool:
        """Whether a load test is one of ours."""
        return locustfile.parent == shipped("loadtests")

    def locustfile(self, folder: Path) -> Path:
        """The load test's file; `folder` is the scenario's. Raises `FileNotFoundError`."""
        is_file = self.loadtest.endswith(".py")
        path = (folder / self.loadtest).resolve() if is_file else shipped("loadtests") / f"{self.loadtest}.py"
        if not path.is_file():
            names = sorted(file.stem for file in shipped("loadtests").glob("[!_]*.py"))
            there = "" if is_file else f"; there are {names}, and ./FILE.py is one of your own"
            name = path if is_file else path.name
            raise FileNotFoundError(f"loadtest = {self.loadtest!r}: there is no {name}{there}")
        return path


def scenario_file(named: str | PathLike[str]) -> Path:
    """The file of a scenario that is named by its path, or by its name in configs/scenarios.

    Raises `ScenarioError` with the names that there are.
    """
    path = Path(named)
    if path.suffix not in (".toml", ".json") and (path.is_dir() or not path.exists()):
        path = SCENARIOS / f"{fspath(named)}.toml"
    if not path.exists():
        raise NoSuchScenario(fspath(named))
    if path.suffix == ".py":
        message = f'a load test is no scenario: write loadtest = "./{path.name}" in one, and name that'
        raise ScenarioError(str(path), [f"{message} @ file"])
    return path


def load_scenario(path: Path) -> Scenario:
    """Read one scenario file: TOML, or JSON where its name ends so.

    Raises `ScenarioError` with every mistake in the file, or with why the file cannot be read.
    """
    try:
        text = text_of(path)
    except (OSError, NotAccepted) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise ScenarioError(str(path), [f"{reason or error} @ file"]) from error
    if path.suffix in OF_INFRASTRUCTURE:
        raise ScenarioError(str(path), [DESCRIBES_A_TABLE.format(path)])
    raw = parsed(text, path)
    if raw.keys() & OF_A_TABLE and "format" not in raw:
        raise ScenarioError(str(path), [DESCRIBES_A_TABLE.format(path)])
    if raw.get("format") == SUITE_FORMAT:
        raise ScenarioError(str(path), [A_SUITE.format(short_path(path))])
    try:
        scenario = scenario_from_dict(raw, str(path))
        scenario._assumed = () if path.suffix == ".json" else tuple(marked(text, ASSUMED))
        return scenario
    except ScenarioError as error:
        errors = error.errors if path.suffix == ".json" else located(error.errors, text)
        raise ScenarioError(error.source, errors) from error


def parsed(text: str, path: Path) -> dict[str, Any]:
    """The fields of a scenario file's text. Raises `ScenarioError`."""
    try:
        raw = parsed_json(text.encode()) if path.suffix == ".json" else parsed_toml(text)
    except NotAccepted as error:
        raise ScenarioError(str(path), [f"{error} @ $"]) from error
    if not isinstance(raw, dict):
        raise ScenarioError(str(path), ["a scenario is an object @ $"])
    return raw


def scenario_from_dict(raw: dict[str, Any], source: str) -> Scenario:
    """A scenario from parsed TOML or JSON, as `run.json` keeps it. Raises `ScenarioError`."""
    try:
        return Scenario.model_validate(with_total_rate(raw))
    except ValidationError as error:
        further = mistakes_of_the_rest(Scenario, with_total_rate(raw), error, IN_WORDS, DECIDING)
        raise ScenarioError(source, [*mistakes(error, IN_WORDS, Scenario), *further]) from error


def json_schema() -> dict[str, Any]:
    """The JSON Schema of a scenario file, for editors."""
    schema = Scenario.model_json_schema()
    for field in ("partition_key", "sort_key"):
        of_index = schema["$defs"]["IndexSpec"]["properties"][field]
        several = {
            "type": "array",
            "items": {"type": "string"},
            "minItems": 1,
            "maxItems": MOST_KEY_ATTRIBUTES,
        }
        single = {name: of_index.pop(name) for name in ("type", "minLength", "maxLength") if name in of_index}
        of_index["anyOf"] = [*([single] if single else of_index.get("anyOf", ())), several]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": FORMAT, **schema}
