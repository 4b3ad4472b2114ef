"""The numbers that a verdict sentence needs, measured over the spans that the verdict speaks of."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from keyheat.analysis.measures.measured import LEAST_WHOLE_S, whole_seconds
from keyheat.evidence.facts import partition_ceiling
from keyheat.pages.constraints import labels_of
from keyheat.pages.run.load import Run
from keyheat.pages.run.record import Record, rows_of
from keyheat.pages.run.timeline import by_minute, maximum, provisioned
from keyheat.runs.formats import HotKey, Label
from keyheat.words import WRITE, Resource

Spans = list[tuple[float, float]]  # of epoch seconds, in order, apart from each other
Moments = npt.NDArray[np.floating[Any]] | npt.NDArray[np.integer[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """One resource in one direction over the spans of the verdict. None is unknown."""

    resource: Resource
    start_s: float | None
    end_s: float | None
    consumed_per_s: float | None
    asked_per_s: float | None  # consumed and refused units together
    provisioned_per_s: float | None
    max_on_demand_per_s: float | None
    throttles: int  # in the whole run, whatever the constraint
    of_constraint: int  # those that carry the verdict's constraint
    attempts: int | None
    ceiling_per_s: float  # what one partition admits
    hot_key: HotKey | None
    units_hold: bool = True  # False: the endpoint counts units in its own way

    @property
    def used_share(self) -> float | None:
        """Consumed over provisioned."""
        if self.consumed_per_s is None or not self.provisioned_per_s or not self.units_hold:
            return None
        return self.consumed_per_s / self.provisioned_per_s

    @property
    def throttled_share(self) -> float | None:
        """Throttled attempts over all attempts."""
        return self.throttles / self.attempts if self.attempts else None


def facts_of(run: Run, record: Record) -> Facts:
    """The numbers behind the verdict of a run."""
    resource = verdict_resource(run, record)
    labels = [
        label
        for label in labels_of(run.diagnosis, resource)
        if label.constraint == run.diagnosis.verdict.constraint
    ]
    spans = _spans(run, record, labels)
    start_s, end_s = (spans[0][0], spans[-1][1]) if spans else (None, None)
    consumed = _consumed(run, record, resource, spans)
    attempts, throttled = _attempts(run, record, resource)
    keys = [key for key in run.diagnosis.hot_keys if key.direction in (None, resource.direction)]
    hot_keys = sorted(keys, key=lambda key: -key.units_per_s)
    return Facts(
        resource=resource,
        start_s=start_s,
        end_s=end_s,
        consumed_per_s=consumed,
        asked_per_s=_asked(record, resource, spans, consumed),
        provisioned_per_s=provisioned(run, resource).at(start_s or 0),
        max_on_demand_per_s=maximum(run, resource).at(start_s or 0),
        throttles=max(throttled, sum(label.throttles for label in labels_of(run.diagnosis, resource))),
        of_constraint=sum(label.throttles for label in labels),
        attempts=attempts,
        ceiling_per_s=partition_ceiling(resource.direction, run.scale),
        hot_key=hot_keys[0] if hot_keys else None,
        units_hold=run.units_hold,
    )


def verdict_resource(run: Run, record: Record) -> Resource:
    """The resource that the verdict speaks of; without one, the one that was asked for most."""
    verdict = run.diagnosis.verdict
    index = None if verdict.resource in (None, "table") else verdict.resource
    if verdict.direction is not None:
        return Resource(index, verdict.direction)
    if record.seconds is not None and len(record.seconds):
        consumed = {
            r: pc.sum(rows_of(record.seconds, r)["consumed"]).as_py() or 0 for r in record.resources()
        }
        return max(consumed, key=lambda resource: (resource.index is None, consumed[resource]))
    return Resource(index, WRITE)


def _spans(run: Run, record: Record, labels: list[Label]) -> Spans:
    """What the verdict speaks of: the spans of its labels, without the calm between them; else the load, of
    which the seconds in which it began and ended are no part."""
    if labels:
        return _joined((label.start.timestamp(), label.end.timestamp()) for label in labels)
    seconds = record.range()
    if seconds is not None and run.manifest is not None:
        whole = whole_seconds(run.manifest, seconds[1] - 1)
        if whole[1] - whole[0] >= LEAST_WHOLE_S:
            return [(float(whole[0]), float(whole[1]))]
    if seconds is not None:
        return [(float(seconds[0]), float(seconds[1]))]
    if run.evidence is not None:
        return [(run.evidence.window.start.timestamp(), run.evidence.window.end.timestamp())]
    return []


def _joined(spans: Iterable[tuple[float, float]]) -> Spans:
    """The same time in spans that do not overlap, in order."""
    joined: Spans = []
    for start_s, end_s in sorted(spans):
        if joined and start_s <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(end_s, joined[-1][1])
        else:
            joined.append((start_s, end_s))
    return joined


def _inside(moments: Moments, spans: Spans, width_s: float) -> npt.NDArray[np.bool_]:
    """Which steps of time, `width_s` long, have a part in one of the spans."""
    starts, ends = np.array(spans).T
    place = np.searchsorted(ends, moments, side="right")  # the first span that ends after a step begins
    begun: npt.NDArray[np.bool_] = starts[np.minimum(place, len(starts) - 1)] < moments + width_s
    return (place < len(starts)) & begun


def _consumed(run: Run, record: Record, resource: Resource, spans: Spans) -> float | None:
    """Mean consumed units per second within the spans: the client's record, else CloudWatch's minutes."""
    if not spans:
        return None
    if record.seconds is not None and len(mine := rows_of(record.seconds, resource)):
        second = mine["second"].to_numpy()
        first, last = float(second.min()), float(second.max()) + 1
        known_s = sum(max(0.0, min(end_s, last) - max(start_s, first)) for start_s, end_s in spans)
        consumed = mine["consumed"].to_numpy()[_inside(second, spans, 1.0)].sum()
        return float(consumed / known_s) if known_s else None
    minutes = by_minute(run, resource)
    if minutes is None or minutes.consumed is None:
        return None
    moments = np.array(minutes.moments())
    inside = _inside(moments, spans, minutes.step_s) & ~np.isnan(minutes.consumed)
    return float(minutes.consumed[inside].mean()) if inside.any() else None


def _attempts(run: Run, record: Record, resource: Resource) -> tuple[int | None, int]:
    """Attempts and throttles of the whole run."""
    if record.seconds is not None:
        mine = rows_of(record.seconds, resource)
        attempts, throttled = pc.sum(mine["attempts"]).as_py(), pc.sum(mine["throttled"]).as_py()
        return attempts or None, throttled or 0
    if run.totals.attempts:
        return run.totals.attempts, run.totals.throttled
    return None, sum(label.throttles for label in labels_of(run.diagnosis, resource))


def _asked(record: Record, resource: Resource, spans: Spans, consumed: float | None) -> float | None:
    """Units per second asked for: what was consumed, scaled up by attempts over accepted attempts."""
    if record.seconds is None or consumed is None or not spans:
        return None
    mine = rows_of(record.seconds, resource)
    inside = _inside(mine["second"].to_numpy(), spans, 1.0)
    attempts = mine["attempts"].to_numpy()[inside].sum()
    accepted = attempts - mine["throttled"].to_numpy()[inside].sum()
    return float(consumed * attempts / accepted) if accepted > 0 else None
