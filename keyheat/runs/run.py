"""A run as an analyst holds it: what was sent, refused and measured, as pandas frames."""

from dataclasses import dataclass
from pathlib import Path

from keyheat.runs.client import ClientFiles
from keyheat.runs.formats import Evidence


@dataclass(frozen=True)
class Run:
    """A run, or a table over a window: its evidence, and the directory that it was read from."""

    evidence: Evidence
    directory: Path | None = None
    client: ClientFiles | None = None
    """What the load generator wrote of itself; None where somebody else sent the load."""
