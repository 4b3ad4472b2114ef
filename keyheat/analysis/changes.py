"""What is different while a table throttles from the time before, as far as CloudWatch holds it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, inf
from statistics import fmean
from typing import Final

from keyheat.analysis.timeline import timeline
from keyheat.numbers import span
from keyheat.runs import metrics
from keyheat.runs.formats import Evidence, Label
from keyheat.words import Direction, Resource

NOTABLE: Final = 0.2  # part by which a rate has to differ, so that it rose or fell
NOTABLE_SHARE: Final = 0.1  # of all requests, by which the part of an operation has to differ
LEAST_CALM: Final = 5  # cells before the first throttle from which they come before earlier windows
Span = tuple[float, float]
"""From an epoch second up to another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """What was asked of one resource in one direction over a time, and what it had. None is unknown."""

    name: str
    start_s: float
    end_s: float
    demand_per_s: float | None = (
        None  # units consumed and throttled, in the busiest throttled minute, else the median one
    )
    at_least: bool = False  # whether nobody knows how many units a throttled request asked for
    throttles: float | None = None
    provisioned_per_s: float | None = None
    maximum_per_s: float | None = None
    per_operation: Mapping[str, float]  # requests per second, of operations that were called
    indexes: frozenset[str] = frozenset()  # those that something was published of
    brief: bool = False  # whether it is too short to tell a new index or another mix of operations

    @property
    def is_known(self) -> bool:
        """Whether CloudWatch holds anything of the demand."""
        return self.demand_per_s is not None

    def share(self, operation: str) -> float | None:
        """The part of the requests that an operation has; None without requests."""
        total = sum(self.per_operation.values())
        return self.per_operation.get(operation, 0.0) / total if total else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """The time of the throttles beside the times before, the one that they are compared with first."""

    resource: Resource
    now: Period
    before: tuple[Period, ...]

    @property
    def reference(self) -> Period | None:
        """The nearest time before of which something is known."""
        return next((period for period in self.before if period.is_known), None)

    @property
    def new_indexes(self) -> tuple[str, ...]:
        """Indexes of which nothing was published at the time of the reference."""
        reference = self.reference
        if reference is None or reference.brief:
            return ()
        return tuple(sorted(self.now.indexes - reference.indexes))

    def shifted(self) -> Iterator[tuple[str, float, float]]:
        """Operations whose part of all requests is another one, with the parts before and now."""
        reference = self.reference
        if reference is None or reference.brief:
            return
        for operation in sorted({*self.now.per_operation, *reference.per_operation}):
            before, now = reference.share(operation), self.now.share(operation)
            if before is not None and now is not None and abs(now - before) >= NOTABLE_SHARE:
                yield operation, before, now


def changes(
    evidence: Evidence, labels: Sequence[Label], resource: Resource, earlier: Sequence[tuple[str, Evidence]]
) -> Changes | None:
    """The changes of a resource that throttled; None where nothing is known of its demand."""
    spans = [(label.start.timestamp(), label.end.timestamp()) for label in labels]
    now = _period("while throttled", evidence, resource, spans) if spans else None
    if now is None or not now.is_known:
        return None
    calm = _calm(evidence, resource, min(start for start, _end in spans))
    before = []
    for name, one in earlier:
        whole = [(one.window.start.timestamp(), one.window.end.timestamp())]
        if (period := _period(name, one, resource, whole)) is not None:
            before.append(period)
    if calm is not None:
        before.insert(len(before) if calm.brief else 0, calm)
    return Changes(resource=resource, now=now, before=tuple(before))


def _calm(evidence: Evidence, resource: Resource, first_s: float) -> Period | None:
    """The part of the window before the first throttle; None without a whole cell."""
    start_s, step_s = evidence.window.start.timestamp(), timeline(evidence).step_s
    first_s = first_s // step_s * step_s  # the period of the first throttle is no longer calm
    if first_s - start_s < step_s:
        return None
    brief = first_s - start_s < LEAST_CALM * step_s
    name = f"in the {span(first_s - start_s)} before" if brief else "just before"
    period = _period(name, evidence, resource, [(start_s, first_s)])
    return replace(period, brief=brief) if period is not None else None


def _period(name: str, evidence: Evidence, resource: Resource, spans: Sequence[Span]) -> Period | None:
    arranged = timeline(evidence)
    track = arranged.track(resource.index, resource.direction)
    if track is None:
        return None
    cells = [cell for cell in sorted(track.consumed or ()) if _within(cell, track.step_s, spans)]
    counted = {*(track.consumed or ()), *(track.events or ()), *map(track.cell_of, track.reasons)}
    throttles = sum(track.refused(cell) for cell in counted if _within(cell, track.step_s, spans))
    return Period(
        name=name,
        start_s=spans[0][0],
        end_s=spans[-1][1],
        demand_per_s=track.asked_per_s(cells),
        at_least=bool(throttles) and track.units_per_request is None,
        throttles=throttles if cells or throttles else None,
        provisioned_per_s=_mean([track.provisioned.at(cell) for cell in cells]),
        maximum_per_s=_mean([track.maximum.at(cell) for cell in cells]),
        per_operation=_per_operation(evidence, resource.direction, spans),
        indexes=frozenset(
            series.index for series in evidence.series
            if series.index and series.metric == metrics.consumed(resource.direction)
            and any(_within(at.timestamp(), series.period_s, spans) for at, _value in series.points)
        ),
    )  # fmt: skip


def _within(cell: float, step_s: float, spans: Sequence[Span]) -> bool:
    return any(start - step_s < cell < end for start, end in spans)


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None and value < inf]
    return fmean(known) if known else None


def _per_operation(evidence: Evidence, direction: Direction, spans: Sequence[Span]) -> dict[str, float]:
    """Requests per second by operation, of those that were called."""
    found: dict[str, float] = {}
    for series in evidence.series:
        kind = (series.metric, series.statistic)
        if kind != (metrics.LATENCY, "SampleCount") or series.operation is None:
            continue
        if metrics.direction_of(series.operation, series.dimension) != direction:
            continue
        count = sum(value for at, value in series.points if _within(at.timestamp(), series.period_s, spans))
        if count:
            per_s = count / _covered_s(spans, series.period_s)
            found[series.operation] = found.get(series.operation, 0.0) + per_s
    return found


def _covered_s(spans: Sequence[Span], period_s: int) -> int:
    """How long the periods are that overlap the spans; one that overlaps only in part counts whole."""
    periods = {at for start, end in spans for at in range(int(start // period_s), ceil(end / period_s))}
    return len(periods) * period_s
