"""A scenario: one question put to one table, as a person writes it in TOML and as the stages read it.

`load_scenario` is the only way in. It returns a frozen `Scenario` or raises `ScenarioError`, which carries
every mistake at once as `message @ $.path`; nothing downstream checks a field again.
"""

import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tablemodel import limits
from tablemodel.checked import mistakes
from tablemodel.keys import KeyPattern, build_pattern
from tablemodel.rules import broken_rules

FORMAT = "keyheat.scenario/1"

Constraint = Literal["partition", "table", "max_on_demand", "account", "undetermined", "none"]
NAME, TABLE, FILE, DAY = (
    r"^[a-z0-9][a-z0-9-]*$", r"^[a-zA-Z0-9_.-]{3,255}$", r"^[a-z][a-z0-9_]*$", r"^\d{4}-\d{2}-\d{2}$",
)  # fmt: skip
IN_WORDS = {
    NAME: "lower-case letters, digits and hyphens",
    TABLE: "3 to 255 letters, digits, underscores, dots and hyphens",
    FILE: "the name of a file in loadtests/, without .py",
    DAY: "a date such as 2026-11-20",
}
Name = Annotated[str, Field(pattern=NAME, max_length=60)]
TableName = Annotated[str, Field(pattern=TABLE)]
AttributeName = Annotated[str, Field(min_length=1, max_length=255)]
Units = Annotated[int, Field(ge=1, le=10_000_000)]
Share = Annotated[float, Field(ge=0.0, le=1.0)]


class ScenarioError(ValueError):
    """A scenario that cannot be run, with every reason why."""

    def __init__(self, source: str, errors: list[str]) -> None:
        self.source = source
        self.errors = errors
        super().__init__(
            f"{source}: {len(errors)} error{'s' if len(errors) != 1 else ''}\n  " + "\n  ".join(errors)
        )


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class CapacityPair(_Part):
    """Reads and writes per second; a side that is absent is not limited (or not stated)."""

    read: Units | None = None
    write: Units | None = None


class IndexSpec(_Part):
    """One secondary index of the table."""

    name: TableName
    partition_key: AttributeName
    sort_key: AttributeName | None = None
    projection: Literal["ALL", "KEYS_ONLY", "INCLUDE"] = "ALL"
    include: tuple[AttributeName, ...] = ()
    local: bool = Field(
        False, description="true: a local index, which shares the table's partitions and capacity"
    )
    provisioned: CapacityPair | None = Field(
        None, description="units per second of its own; provisioned mode only"
    )
    max_on_demand: CapacityPair | None = None
    warm: CapacityPair | None = None


class TableSpec(_Part):
    """The table to create, in DynamoDB's own terms."""

    name: TableName
    billing_mode: Literal["PROVISIONED", "PAY_PER_REQUEST"] = "PROVISIONED"
    partition_key: AttributeName = "pk"
    sort_key: AttributeName | None = Field(
        None, description="absent: items are found by the partition key alone"
    )
    provisioned: CapacityPair | None = Field(None, description="units per second; provisioned mode only")
    max_on_demand: CapacityPair | None = Field(None, description="self-imposed ceiling; on-demand mode only")
    warm: CapacityPair | None = Field(None, description="pre-warmed throughput, units per second")
    indexes: tuple[IndexSpec, ...] = ()


class KeysSpec(_Part):
    """Which partition keys the load touches, and how often each."""

    kind: Literal["uniform", "hot_key", "date"]
    keys: Annotated[int, Field(ge=1, le=1_000_000_000)] = Field(
        1_000, description="how many distinct keys there are"
    )
    share: Share | None = Field(None, description="hot_key: share of the requests that go to the one hot key")
    day_s: Annotated[float, Field(gt=0)] | None = Field(
        None,
        description="date: seconds of the run that stand for one day, so that a short run sees a rollover",
    )
    first_day: Annotated[str, Field(pattern=DAY)] | None = None
    shards: Annotated[int, Field(ge=1, le=100_000)] = Field(1, description="suffixes per key; 1: not sharded")

    def pattern(self) -> KeyPattern:
        """The key pattern that these numbers describe."""
        return build_pattern(
            self.kind, keys=self.keys, share=self.share, day_s=self.day_s, first_day=self.first_day
        )


class LoadSpec(_Part):
    """How much is sent. Users are a closed loop: each waits for its answer before it sends again."""

    users: Annotated[int, Field(ge=1, le=100_000)] = 50
    spawn_per_s: Annotated[float, Field(gt=0)] = Field(50.0, description="users started per second")
    duration_s: Annotated[float, Field(gt=0, le=7 * 86_400)] = 60.0
    requests_per_s: Annotated[float, Field(gt=0)] = Field(
        1_000.0, description="by all users together; each user paces itself at its even part"
    )
    item_bytes: Annotated[int, Field(ge=100, le=limits.MAX_ITEM_BYTES)] = Field(
        1_000, description="size of one written item as DynamoDB counts it, names and keys included"
    )


class ThresholdsSpec(_Part):
    """What breaks the build: each one that is broken makes the exit code 1. Absent: not checked."""

    throttle_share_max: Share | None = None
    error_share_max: Share | None = None
    p99_ms_max: Annotated[float, Field(gt=0)] | None = None
    constraint: Constraint | None = Field(None, description="the run must be labelled so")


class LocalSpec(_Part):
    """How the local endpoint is set up for this scenario; no meaning on another target."""

    scale: Annotated[float, Field(gt=0, le=1000)] = Field(1.0, description="multiplies every rate limit")


class Scenario(_Part):
    """One question put to one table: the table, the keys, the load, and what is expected."""

    format: Literal["keyheat.scenario/1"]
    name: Name
    question: Annotated[str, Field(min_length=1, max_length=300)]
    loadtest: Annotated[str, Field(pattern=FILE)] = Field(description="file in loadtests/, without .py")
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 1
    expects: Constraint | None = Field(
        None, description="the label that a right diagnosis gives; said in the report"
    )
    table: TableSpec
    keys: KeysSpec
    load: LoadSpec = LoadSpec()
    thresholds: ThresholdsSpec = ThresholdsSpec()
    local: LocalSpec = LocalSpec()


def load_scenario(path: Path) -> Scenario:
    """Read one scenario file.

    Raises `ScenarioError` with every mistake in the file, or with why the file cannot be read.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise ScenarioError(str(path), [f"{reason or error} @ file"]) from error
    return parse_scenario(text, str(path))


def parse_scenario(text: str, source: str) -> Scenario:
    """A scenario from TOML text; `source` names it in errors. Raises `ScenarioError`."""
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError(source, [f"not TOML: {error} @ $"]) from error
    return scenario_from_dict(raw, source)


def scenario_from_dict(raw: dict[str, Any], source: str) -> Scenario:
    """A scenario from parsed TOML or JSON, as `run.json` keeps it. Raises `ScenarioError`."""
    errors: list[str] = []
    scenario = None
    try:
        scenario = Scenario.model_validate(raw)
    except ValidationError as error:
        errors += mistakes(error, IN_WORDS)
    errors += broken_rules(raw)
    if scenario is None or errors:
        raise ScenarioError(source, errors)
    return scenario


def json_schema() -> dict[str, Any]:
    """The JSON Schema of a scenario file, for editors."""
    schema = Scenario.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": FORMAT, **schema}
