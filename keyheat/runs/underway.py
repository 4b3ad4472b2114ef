"""What a run that is under way says of itself, for whoever looks at its directory: `underway.json`.

It is a sign of life, no record: written anew every second while the load goes on, and taken away once the run
has ended. One that stays behind is from a run that was killed.
"""

import os
from pathlib import Path
from typing import Annotated, Final

import orjson
from pydantic import BaseModel, ConfigDict, Field

from keyheat.checked import checked
from keyheat.runfiles import read_json

UNDERWAY: Final = "keyheat.underway/1"
NAME: Final = "underway.json"
SHOWN_S: Final = 60  # the last so many seconds are in it: less than 2 KB

Number = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Counts = tuple[Annotated[int, Field(ge=0)], Annotated[int, Field(ge=0)], Annotated[int, Field(ge=0)]]


class Underway(BaseModel):
    """How far a run is. `at_s` is when it said so, in seconds since 1970, as `born_s` of its process is."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    at_s: Number
    phase: str  # preparing, aligning, loading, collecting, analyzing, reporting
    elapsed_s: Number = 0.0  # of load
    duration_s: Number | None = None  # None: until somebody stops it
    accepted: int = 0
    throttled: int = 0
    errors: int = 0
    seconds: tuple[Counts, ...] = ()
    """Accepted, throttled and failed requests of each of the last seconds, the newest last."""
    host: str
    pid: int
    born_s: Number


def write_underway(folder: Path, underway: Underway) -> None:
    """Say how far a run is. Raises `OSError`.

    It does not wait for the disk, as every other file of a run does: requests would wait with it, and be
    measured. What a crash of the machine can cost is a sign of life.
    """
    temporary = folder / f".{NAME}.tmp"
    temporary.write_bytes(orjson.dumps({"format": UNDERWAY, **underway.model_dump()}))
    os.replace(temporary, folder / NAME)


def read_underway(folder: Path) -> Underway:
    """What a run directory's run says of itself. Raises `FileProblem`, also where it says nothing."""
    path = folder / NAME
    return checked(path, Underway, read_json(path, UNDERWAY))


def forget_underway(folder: Path) -> None:
    """The run has ended. Raises `OSError`."""
    (folder / NAME).unlink(missing_ok=True)
