"""`run.json` and `keys.json` as a report needs them: every field optional, each checked when read."""

from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from analyzers.formats import Count, Direction, Quantity, TableFacts, Time
from tablemodel import runfiles
from tablemodel.runfiles import FileProblem


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class GeneratorHealth(_Part):
    """What the load generator could do, and whether it kept up."""

    bound: bool | None = None
    checks: tuple[str, ...] = ()
    cpu_percent_max: float | None = None
    loop_lag_ms_max: float | None = None
    asked_per_s: float | None = None
    achieved_per_s: float | None = None
    late_ms_p99: float | None = None


class Totals(_Part):
    """Sums over the whole run."""

    attempts: Count = 0
    accepted: Count = 0
    throttled: Count = 0
    errors: Count = 0
    consumed_units: dict[str, float] = {}
    by_reason: dict[str, int] = {}
    errors_by_kind: dict[str, int] = {}


class Manifest(_Part):
    """What was run: the scenario, where, with which versions, and how it ended."""

    run_id: str | None = None
    status: str | None = None
    scenario: dict[str, Any] = {}
    scenario_path: str | None = None
    seed: int | None = None
    target: str | None = None
    endpoint_url: str | None = None
    region: str | None = None
    scale: Annotated[float, Field(gt=0)] = 1.0
    transport: str | None = None
    started_at: Time | None = None
    ended_at: Time | None = None
    versions: dict[str, str | None] = {}
    table: TableFacts | None = None
    processes: int | None = None
    users: int | None = None
    generator: GeneratorHealth = GeneratorHealth()
    totals: Totals = Totals()

    @property
    def name(self) -> str | None:
        return _text(self.scenario.get("name")) or self.run_id

    @property
    def question(self) -> str | None:
        return _text(self.scenario.get("question"))


class KeyLoad(_Part):
    """What one partition key was asked for over the whole run."""

    key: str
    shown: str | None = None
    units: Quantity
    throttles: Count = 0
    share: Quantity = 0.0


class KeyWindow(_Part):
    """The hottest keys of a few seconds."""

    start: Time
    seconds: Annotated[float, Field(gt=0)]
    direction: Direction
    top: tuple[KeyLoad, ...] = ()


class KeysRecord(_Part):
    """The hottest keys by direction, over the run and window by window."""

    k: int | None = None
    overall: dict[Direction, tuple[KeyLoad, ...]] = {}
    windows: tuple[KeyWindow, ...] = ()


Model = TypeVar("Model", bound=BaseModel)


def read_manifest(path: Path) -> Manifest:
    """The manifest of a run. Raises `FileProblem`."""
    return _checked(path, Manifest, runfiles.read_json(path, runfiles.RUN))


def read_keys(path: Path) -> KeysRecord:
    """The hottest keys of a run. Raises `FileProblem`."""
    return _checked(path, KeysRecord, runfiles.read_json(path, runfiles.KEYS))


def _checked(path: Path, model: type[Model], content: dict[str, Any]) -> Model:
    try:
        return model.model_validate(content)
    except ValidationError as error:
        wrong = [f"{item['msg']} @ ${''.join(f'.{part}' for part in item['loc'])}" for item in error.errors()]
        raise FileProblem(f"{path}: {len(wrong)} errors\n  " + "\n  ".join(wrong[:20])) from error


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
