"""Differences between the time of throttles and the time before, from CloudWatch."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from math import ceil, inf
from typing import Final

from keyheat.analysis.timeline import timeline
from keyheat.analysis.track import EvidenceTrack, Span, within
from keyheat.evidence.settings import Steps
from keyheat.numbers import span
from keyheat.runs import metrics
from keyheat.runs.formats import Evidence, Label
from keyheat.words import Direction, Resource

NOTABLE: Final = 0.2  # least relative change of a rate
NOTABLE_SHARE: Final = 0.1  # least change of an operation's share of all requests
NOT_PUBLISHED: Final = Steps((), (), None)  # what a description says of today was perhaps not in force then
LEAST_CALM: Final = 5  # cells before the first throttle that outrank earlier windows


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """Demand and capacity of one resource in one direction over a time; None is unknown."""

    name: str
    start_s: float
    end_s: float
    # Units consumed and throttled, in the busiest throttled minute, else in the median one.
    demand_per_s: float | None = None
    busiest_s: float | None = None  # when that minute began; None: nothing was throttled
    at_least: bool = False  # the units of throttled requests are unknown
    throttles: float | None = None
    provisioned_first_per_s: float | None = None
    provisioned_last_per_s: float | None = None
    maximum_per_s: float | None = None
    per_operation: Mapping[str, float]  # requests per second
    indexes: frozenset[str] = frozenset()  # with published metrics
    brief: bool = False  # too short to show a new index or another mix of operations

    @property
    def provisioned_per_s(self) -> float | None:
        """The capacity when throttles began, or at the end of a time without throttles."""
        return self.provisioned_first_per_s if self.throttles else self.provisioned_last_per_s

    @property
    def limit_last_per_s(self) -> float | None:
        """The capacity at the end of the time, else the on-demand maximum."""
        provisioned = self.provisioned_last_per_s
        return self.maximum_per_s if provisioned is None else provisioned

    @property
    def is_known(self) -> bool:
        """Whether CloudWatch has data on the demand."""
        return self.demand_per_s is not None

    def share(self, operation: str) -> float | None:
        """An operation's share of the requests; None without requests."""
        total = sum(self.per_operation.values())
        return self.per_operation.get(operation, 0.0) / total if total else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """The time of the throttles and the times before, the preferred one first."""

    resource: Resource
    now: Period
    before: tuple[Period, ...]
    rose_s: float  # when the demand of now began: burst capacity may have served it before the throttles
    unseen: bool = False  # whether CloudWatch has no point of some time between the rise and the throttles
    later: tuple[float, float] | None = None  # next other capacity or maximum, units/s, and when first seen

    @property
    def reference(self) -> Period | None:
        """The nearest earlier period with data."""
        return next((period for period in self.before if period.is_known), None)

    @property
    def new_indexes(self) -> tuple[str, ...]:
        """Indexes without published metrics in the reference period."""
        reference = self.reference
        if reference is None or reference.brief:
            return ()
        return tuple(sorted(self.now.indexes - reference.indexes))

    def shifted(self) -> Iterator[tuple[str, float, float]]:
        """Operations whose share of requests changed, with the shares before and now."""
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
    """Return the changes of a throttled resource; None if its demand is unknown."""
    spans = [(label.start.timestamp(), label.end.timestamp()) for label in labels]
    track = timeline(evidence).track(resource.index, resource.direction)
    now = _period("while throttled", evidence, resource, spans) if spans else None
    if track is None or now is None or not now.is_known:
        return None
    rose_s = _rose_s(evidence, track, min(start for start, _end in spans), now.demand_per_s or 0.0)
    calm = _calm(evidence, resource, rose_s)
    before = []
    for name, window_evidence in earlier:
        whole = [(window_evidence.window.start.timestamp(), window_evidence.window.end.timestamp())]
        if (period := _period(name, window_evidence, resource, whole)) is not None:
            before.append(period)
    if calm is not None:
        before.insert(len(before) if calm.brief else 0, calm)
    setting = track.maximum if now.provisioned_last_per_s is None else track.provisioned
    last = now.limit_last_per_s
    published = zip(setting.starts_s, setting.values, strict=True)
    following = ((units, at_s) for at_s, units in published if at_s >= now.end_s and units != last)
    return Changes(
        resource=resource,
        now=now,
        before=tuple(before),
        rose_s=rose_s,
        unseen=bool(track.consumed and track.unpublished(rose_s, now.start_s)),
        later=next(following, None) if last is not None else None,
    )


def _rose_s(evidence: Evidence, track: EvidenceTrack, first_s: float, now_per_s: float) -> float:
    """Return the start of the last cells before the first throttle with about the demand of now.

    Cells that spent burst capacity belong to it, though retries make the demand of now larger.
    """
    cells = [cell for cell in track.consumed or () if cell + track.step_s <= first_s]
    rates = [
        (cell, (track.consumed_per_s(cell) or 0.0) + track.buffered.get(cell, 0.0) / track.step_s)
        for cell in sorted(cells, reverse=True)
    ]
    alike = []
    for cell, per_s in rates:
        if (1 + NOTABLE) * per_s <= now_per_s and per_s <= (track.provisioned.at(cell) or inf):
            break
        alike.append(cell)
    calm = _calm(evidence, Resource(track.index, track.direction), min([*alike, first_s]))
    if calm is None or now_per_s <= (1 + NOTABLE) * (before_per_s := calm.demand_per_s or 0.0):
        return first_s
    risen = takewhile(lambda at: abs(at[1] - now_per_s) < abs(at[1] - before_per_s), rates)
    return min([*alike, *(cell for cell, _ in risen), first_s])


def _calm(evidence: Evidence, resource: Resource, first_s: float) -> Period | None:
    """Return the window's part before the demand rose; None without a whole cell."""
    start_s, step_s = evidence.window.start.timestamp(), timeline(evidence).step_s
    first_s = first_s // step_s * step_s  # the period of the first throttle is no longer calm
    if first_s - start_s < step_s:
        return None
    brief = first_s - start_s < LEAST_CALM * step_s
    period = _period(f"in the {span(first_s - start_s)} before", evidence, resource, [(start_s, first_s)])
    return replace(period, brief=brief) if period is not None else None


def _period(name: str, evidence: Evidence, resource: Resource, spans: Sequence[Span]) -> Period | None:
    arranged = timeline(evidence)
    track = arranged.track(resource.index, resource.direction)
    if track is None:
        return None
    cells = track.consumed_cells(spans)
    capacity = track.provisioned if track.provisioned.starts_s else NOT_PUBLISHED
    counted = {*(track.consumed or ()), *(track.events or ()), *map(track.cell_of, track.reasons)}
    throttles = sum(track.refused(cell) for cell in counted if within(cell, track.step_s, spans))
    return Period(
        name=name,
        start_s=spans[0][0],
        end_s=spans[-1][1],
        demand_per_s=track.asked_per_s(cells),
        busiest_s=track.busiest(cells),
        at_least=bool(throttles) and track.asked_at_least(cells),
        throttles=throttles if cells or throttles else None,
        provisioned_first_per_s=_nearest(capacity, cells, first=True),
        provisioned_last_per_s=_nearest(capacity, cells),
        maximum_per_s=_nearest(track.maximum, cells, first=bool(throttles)),
        per_operation=_per_operation(evidence, resource.direction, spans),
        indexes=frozenset(
            series.index for series in evidence.series
            if series.index and series.metric == metrics.consumed(resource.direction)
            and any(within(at.timestamp(), series.period_s, spans) for at, _value in series.points)
        ),
    )  # fmt: skip


def _nearest(setting: Steps, cells: Sequence[int], *, first: bool = False) -> float | None:
    """The setting in force at the end of some cells, or at their beginning."""
    values = [value for cell in cells if (value := setting.at(cell)) is not None and value < inf]
    return values[0 if first else -1] if values else None


def _per_operation(evidence: Evidence, direction: Direction, spans: Sequence[Span]) -> dict[str, float]:
    """Requests per second by operation."""
    rates: dict[str, float] = {}
    for series in evidence.series:
        kind = (series.metric, series.statistic)
        if kind != (metrics.LATENCY, "SampleCount") or series.operation is None:
            continue
        if metrics.direction_of(series.operation, series.dimension) != direction:
            continue
        count = sum(value for at, value in series.points if within(at.timestamp(), series.period_s, spans))
        if count:
            step_s = series.period_s
            periods = {at for start, end in spans for at in range(int(start // step_s), ceil(end / step_s))}
            per_s = count / (len(periods) * step_s)
            rates[series.operation] = rates.get(series.operation, 0.0) + per_s
    return rates
