"""What the analyzer reads of `run.json`, checked once. A manifest may hold more; that is not our subject."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from analyzers.formats import Count, TableFacts, Time
from tablemodel import runfiles
from tablemodel.runfiles import FileProblem

Units = Annotated[float, Field(ge=0, le=1e15)]  # more than a table can consume in a year


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Generator(_Part):
    """How the load generator did."""

    bound: bool = False
    checks: tuple[str, ...] = ()


class Totals(_Part):
    """What the client counted over the whole run."""

    attempts: Count = 0
    accepted: Count = 0
    throttled: Count = 0
    errors: Count = 0


class Manifest(_Part):
    """One run: when, against what, how it went."""

    run_id: str | None = None
    status: Literal["running", "finished", "interrupted"] = "running"
    scenario: Mapping[str, Any] | None = None
    target: str | None = None
    endpoint_url: str | None = None
    region: str | None = None
    scale: Annotated[float, Field(ge=1e-6, le=1000)] = 1.0
    started_at: Time
    ended_at: Time | None = None
    table: TableFacts
    generator: Generator | None = None
    totals: Totals | None = None

    @property
    def local(self) -> bool:
        """Whether the run went to the local endpoint, whose minutes are published as soon as they close."""
        return self.target == "local"


def read_manifest(run_dir: Path) -> Manifest:
    """The manifest of a run directory. Raises `FileProblem`."""
    path = run_dir / runfiles.FILES[runfiles.RUN]
    content = runfiles.read_json(path, runfiles.RUN)
    try:
        return Manifest.model_validate(content)
    except ValidationError as error:
        lines = [f"{item['msg']} @ {'.'.join(('$', *map(str, item['loc'])))}" for item in error.errors()]
        raise FileProblem(f"{path}: {len(lines)} errors\n  " + "\n  ".join(lines)) from error


class KeyUse(_Part):
    """How much one partition key asked for over the whole run."""

    key: str
    shown: str | None = None
    units: Units = 0.0
    throttles: Count = 0
    share: Annotated[float, Field(ge=0, le=1)] = 0.0


class KeyTop(_Part):
    """How much one partition key asked for within one window of the run."""

    key: str
    units: Units = 0.0
    throttles: Count = 0


class KeyWindow(_Part):
    """The hottest keys of a few seconds."""

    start: Time
    seconds: Annotated[float, Field(ge=0.001, le=86_400)]
    direction: Literal["read", "write"]
    top: tuple[KeyTop, ...] = ()


class Keys(_Part):
    """The hottest keys, over the run and window by window."""

    overall: Mapping[Literal["read", "write"], tuple[KeyUse, ...]] = {}
    windows: tuple[KeyWindow, ...] = ()


def read_keys(run_dir: Path) -> Keys:
    """The hottest keys of a run directory. Raises `FileProblem`."""
    path = run_dir / runfiles.FILES[runfiles.KEYS]
    content = runfiles.read_json(path, runfiles.KEYS)
    try:
        return Keys.model_validate(content)
    except ValidationError as error:
        lines = [f"{item['msg']} @ {'.'.join(('$', *map(str, item['loc'])))}" for item in error.errors()]
        raise FileProblem(f"{path}: {len(lines)} errors\n  " + "\n  ".join(lines)) from error
