"""The demand that was measured on a resource while it throttled."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from keyheat.analysis.track import EvidenceTrack, Span
from keyheat.model.limits import EVENTUAL_READ_FACTOR, PAGE_BYTES, READ_UNIT_BYTES
from keyheat.numbers import units, whole
from keyheat.runs.formats import Label
from keyheat.words import Direction

SCAN_UNITS: Final = PAGE_BYTES / READ_UNIT_BYTES * EVENTUAL_READ_FACTOR
"""Most units of a page of a scan, eventually consistent."""


@dataclass(frozen=True, slots=True)
class MeasuredDemand:
    """Demand on a resource while it throttled, units/s.

    By the `schedule` it is what the scenario's load asks for at its peak, without the retries that throttles
    make of it; by the `client`, what it counted, retries among them; by `cloudwatch`, what was consumed and
    the units of what was throttled, at least one for each; by the `cure`, what its other steps make of it.
    """

    units_per_s: float
    by: Literal["schedule", "client", "cloudwatch", "cure"] = "client"
    together: bool = False  # of a table and its indexes
    at_least: bool = False  # whether CloudWatch shows a lower bound only
    scale: float = 1.0  # of the local table at which it was measured

    def unscaled(self, scale: float) -> "MeasuredDemand":
        """The same demand for a table at scale 1."""
        return replace(self, units_per_s=self.units_per_s / scale, scale=scale)

    def in_words(self, direction: Direction) -> str:
        """The demand as the beginning of a sentence."""
        per_s = with_scale(self.units_per_s, direction, self.scale)
        if self.together:
            return f"The demand on the table and its indexes was at least {per_s}"
        if self.by == "schedule":
            return f"The demand is {per_s}"
        if self.by == "cure":
            return f"With the other steps of the cure {per_s} are consumed"
        if self.by == "client":
            return f"The client's demand was {per_s}"
        least = "at least " if self.at_least else ""
        return f"The demand was {least}{per_s}, by consumption and throttle events, retries among them"


def with_scale(units_per_s: float, direction: Direction, scale: float) -> str:
    """Units per second of an unscaled table in words, with what they are at the scale of a local one."""
    per_s = units(units_per_s, direction)
    return per_s if scale == 1 else f"{per_s} ({whole(units_per_s * scale)} at scale {scale:g})"


def demand(track: EvidenceTrack, labels: Sequence[Label]) -> MeasuredDemand | None:
    """Return the demand within the spans of labels: the client's, else CloudWatch's lower bound."""
    spans = _spans(labels)
    client_per_s = _by_client(track, spans)
    if client_per_s is not None:
        return MeasuredDemand(client_per_s)
    cells = track.consumed_cells(spans)
    cloudwatch_per_s = track.asked_per_s(cells)
    if cloudwatch_per_s is None:
        return None
    return MeasuredDemand(cloudwatch_per_s, by="cloudwatch", at_least=track.asked_at_least(cells))


def demand_of_all(tracks: Sequence[EvidenceTrack], labels: Sequence[Label]) -> MeasuredDemand | None:
    """Return the demand on a table with its indexes, which share the account's quota; a lower bound."""
    demands = [measured for track in tracks if (measured := demand(track, labels)) is not None]
    if len(demands) == 1:
        return demands[0]
    total = sum(measured.units_per_s for measured in demands)
    return MeasuredDemand(total, by="cloudwatch", together=True) if demands else None


def _by_client(track: EvidenceTrack, spans: Sequence[tuple[float, float]]) -> float | None:
    """Return the 90th percentile of demand by second: attempts times the units of an accepted one."""
    rows = [
        row for second, row in (track.seconds or {}).items()
        if row.attempts and any(start_s <= second < end_s for start_s, end_s in spans)
    ]  # fmt: skip
    accepted = sum(max(0, row.attempts - row.throttled) for row in rows)
    if not accepted:
        return None
    units = sum(row.consumed for row in rows) / accepted
    rates = sorted(row.attempts * units for row in rows)
    return rates[int(0.9 * (len(rates) - 1))]


def accepted_scans(track: EvidenceTrack, labels: Sequence[Label]) -> tuple[float, float]:
    """Return the accepted scans per second of the throttled cells, and the most that they can be of it.

    A page of a scan is up to 1 MB: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Scan.html
    """
    cells = track.consumed_cells(_spans(labels))
    scans = sum(track.scans.get(cell, 0.0) for cell in cells)
    units_asked = sum((track.consumed or {})[cell] + track.refused_units(cell) for cell in cells)
    most = scans * SCAN_UNITS * track.scale
    return (
        (scans / (len(cells) * track.step_s), min(1.0, most / units_asked))
        if scans and units_asked
        else (0.0, 0.0)
    )


def one_key_per_s(track: EvidenceTrack, label: Label) -> tuple[float, float] | None:
    """Return what one key would ask for that throttled a partition as in a label, and what all keys did.

    Units/s of the cell that throttled most. The key has what its partition served and what was refused. An
    index's full partition holds back every write alike, so a key of it has its part of what was refused.
    """
    cells = range(track.cell_of(label.start.timestamp()), int(label.end.timestamp()), track.step_s)
    worst = max(cells, key=track.refused)
    used, refused = track.consumed_per_s(worst), track.refused_units(worst) / track.step_s
    if used is None or not used + refused:
        return None
    served = min(used, track.ceiling)
    of_index = track.index is not None and track.direction is Direction.WRITE and used > 0
    return served + refused * (served / used if of_index else 1.0), used + refused


def _spans(labels: Sequence[Label]) -> list[Span]:
    return [(label.start.timestamp(), label.end.timestamp()) for label in labels]
