"""The numbers behind the verdict of a run: one resource and direction, over the time that it speaks of."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import ceil
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from keyheat.analysis.advice.demand import demand
from keyheat.analysis.elsewhere import other_causes, throttled_elsewhere
from keyheat.analysis.report import ReportRun
from keyheat.analysis.rules import WHOSE
from keyheat.analysis.run_result import LEAST_WHOLE_S, busiest_per_s, whole_seconds
from keyheat.analysis.verdict import LEAST_UNSTATED
from keyheat.model.resources import partition_ceiling
from keyheat.numbers import UNITS, rate
from keyheat.runs.formats import BEYOND, Demand, HotKey, Label
from keyheat.words import LIMITS, TABLE, WRITE, Constraint, Direction, Resource, index_of, label_of, whose

MOST_BESIDE: Final = 2
NOTABLE_PART: Final = 0.1  # of what is labelled: from here on a second limit stands beside the first one
WHILE_THROTTLED: Final = "while throttled"
OVER_THE_LOAD: Final = "over the load"
Spans = list[tuple[float, float]]  # of epoch seconds, in order, apart from each other


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """One resource in one direction over the spans of the verdict. None is unknown."""

    resource: Resource
    consumed_per_s: float | None  # the mean, see `consumed_of`
    consumed_when: str = OVER_THE_LOAD
    asked_per_s: float | None  # by the load's schedule, else as it was measured while throttled
    at_least_per_s: float | None = None  # the same where a throttled request is taken for the smallest
    provisioned_per_s: float | None
    provisioned_last_per_s: float | None = None  # when the last throttle came
    max_on_demand_per_s: float | None
    throttles: int  # of the resource, in the whole run, whatever the constraint
    run_throttles: int  # of the table and its indexes, in both directions
    labelled: int  # those with a label: parts of batches and transactions carry no reason
    of_verdict: int = 0  # those of this resource in this direction whose label is the verdict's constraint
    run_attempts: int | None
    throttled_s: float  # how long anything was throttled: the client's seconds, else the spans of the labels
    ceiling_per_s: float  # what one partition admits
    hot_key: HotKey | None
    hot_beside: tuple[HotKey, ...] = ()  # other keys that asked for more than a partition admits, meanwhile
    units_hold: bool = True  # False: the endpoint counts units in its own way
    region: str | None = None  # of a global table
    carried: bool = False  # whether burst or a write buffer serves what the load asks for beyond a limit
    elsewhere: int = 0  # throttled requests that are no reads or writes of the table, such as its stream's
    other_causes: tuple[str, ...] = ()  # what else troubled the application, as clauses
    whose_unknown: bool = False  # whether the resource that throttled is unknown
    by_client: bool = False  # whether the client counted those, rather than CloudWatch
    busiest_per_s: float | None = None  # consumed in the busiest minute of the load, as the client counted
    beside: tuple[tuple[str, float], ...] = ()  # other limits in words, with their shares of what is labelled

    @property
    def used_share(self) -> float | None:
        """Consumed over provisioned."""
        if self.consumed_per_s is None or not self.provisioned_per_s or not self.units_hold:
            return None
        return self.consumed_per_s / self.provisioned_per_s

    @property
    def busiest_share(self) -> float | None:
        """Consumed in the busiest minute over provisioned."""
        if self.used_share is None or self.busiest_per_s is None or not self.provisioned_per_s:
            return self.used_share
        return max(self.used_share, self.busiest_per_s / self.provisioned_per_s)

    @property
    def on_burst(self) -> bool:
        """Whether burst, or the write buffer of an index, served what a limit does not."""
        return self.carried or self.is_beyond

    @property
    def is_beyond(self) -> bool:
        """Whether more was consumed than is provisioned, for a minute at least: burst served that."""
        return self.busiest_share is not None and self.busiest_share > 1 + BEYOND

    @property
    def all_labelled(self) -> bool:
        """Whether hardly a throttle is without a label."""
        return self.run_throttles - self.labelled < max(1, LEAST_UNSTATED * self.run_throttles)

    @property
    def throttled_share(self) -> float | None:
        """Throttled attempts over all attempts of the run."""
        return self.run_throttles / self.run_attempts if self.run_attempts else None


@lru_cache(maxsize=1)  # a page, its first screen and its exit code ask for those of one run in turn
def facts_of(run: ReportRun) -> Facts:
    """The numbers behind the verdict of a run."""
    resource = verdict_resource(run)
    mine, constraint = run.labels_of(resource), run.diagnosis.verdict.constraint
    decisive = [label for label in mine if label.constraint == constraint]
    spans = _spans(run, decisive)
    end_s = spans[-1][1] if spans else None
    when = WHILE_THROTTLED if decisive and constraint != "none" else OVER_THE_LOAD
    consumed, planned = _consumed(run, resource, spans, when), _scheduled(run, resource)
    labelled = sum(label.throttles for label in run.diagnosis.labels)
    attempts, throttled = _attempts(run)
    published = {} if attempts else _published(run)
    hot_keys = sorted(_keys_of(run, resource), key=lambda key: -key.units_per_s)
    track, rows = run.track(resource), run.record.of(resource)
    measured = demand(track, decisive) if track is not None else None
    demand_per_s, is_least = (measured.units_per_s, measured.by == "at_least") if measured else (None, False)
    throttles = 0 if rows is None else int(rows["throttled"].sum())  # that the client saw
    throttled_s = float(len(throttled_seconds(run)))
    if not throttled_s:  # or the client kept no seconds
        throttled_s = sum(end_s - start_s for start_s, end_s in throttled_spans(run.diagnosis.labels))
    # None where keys led one after the other: together they ask for no more than all keys do.
    over = [key for key in hot_keys if key.units_per_s > ceiling_of(run, resource)]
    together = sum(key.units_per_s for key in over)
    at_s = end_s or 0  # auto scaling may have followed the load
    if when == WHILE_THROTTLED:  # as in the advice
        at_s = max(decisive, key=lambda label: label.throttles).start.timestamp()
    return Facts(
        resource=resource,
        consumed_per_s=consumed,
        consumed_when=when,
        asked_per_s=planned.units_per_s if planned else None if is_least else demand_per_s,
        at_least_per_s=demand_per_s if is_least else None,
        provisioned_per_s=run.provisioned(resource).at(at_s),
        provisioned_last_per_s=run.provisioned(resource).at(end_s - 1) if end_s else None,
        max_on_demand_per_s=run.maximum(resource).at(at_s),
        throttles=max(throttles, sum(label.throttles for label in mine), published.get(resource, 0)),
        run_throttles=max(throttled, labelled, sum(published.values())),
        labelled=labelled,
        of_verdict=sum(label.throttles for label in decisive),
        run_attempts=attempts,
        throttled_s=throttled_s,
        ceiling_per_s=ceiling_of(run, resource),
        hot_key=hot_keys[0] if hot_keys else None,
        hot_beside=tuple(over[1:]) if demand_per_s and together <= (1 + BEYOND) * demand_per_s else (),
        units_hold=run.units_hold,
        region=run.diagnosis.region,
        carried=run.diagnosis.is_carried,
        elsewhere=sum(throttled_elsewhere(run.evidence).values()) if run.evidence else 0,
        other_causes=other_causes(run.evidence) if run.evidence else (),
        by_client=bool(run.evidence and (run.evidence.seconds or run.evidence.throttles)),
        whose_unknown=bool(mine) and max(mine, key=lambda label: label.throttles).rule == WHOSE,
        busiest_per_s=_busiest(run, resource, spans) if when == OVER_THE_LOAD else None,
        beside=tuple(_others(run)),
    )


def _keys_of(run: ReportRun, resource: Resource) -> Iterator[HotKey]:
    """The keys that were counted of a resource, in its direction.

    The table's say nothing of what met on one key of an index, and reads of an index are of its own keys.
    """
    diagnosis = run.diagnosis
    for key in diagnosis.hot_keys if resource.index is None else diagnosis.hot_index_keys:
        if key.index == resource.index and key.direction in (None, resource.direction):
            yield key


def _others(run: ReportRun) -> Iterator[tuple[str, float]]:
    """What else throttled a good part, the most first: which requests by which limit, and their share."""
    verdict, counts = run.diagnosis.verdict, Counter[tuple[str, Direction, Constraint]]()
    for label in run.diagnosis.labels:
        counts[label.resource, label.direction, label.constraint] += label.throttles
    main = counts.pop((verdict.resource or TABLE, verdict.direction or WRITE, verdict.constraint), 0)
    total = main + counts.total()
    for (resource, direction, constraint), count in counts.most_common(MOST_BESIDE) if main else ():
        if count >= NOTABLE_PART * total:
            yield f"were {direction}s of {whose(resource)}, throttled by {LIMITS[constraint]}", count / total


def verdict_resource(run: ReportRun) -> Resource:
    """The resource that the verdict speaks of; without one, the one that was asked for most."""
    verdict = run.diagnosis.verdict
    index = index_of(verdict.resource)
    if verdict.direction is not None:
        return Resource(index, verdict.direction)
    for advice in run.diagnosis.recommendations:  # what lives on burst, of a run in which nothing throttled
        if verdict.constraint == "none" and advice.resource and advice.direction:
            return Resource(index_of(advice.resource), advice.direction)
    consumed = {
        resource: float(rows["consumed_units"].sum())
        for resource in run.record.resources()
        if (rows := run.record.of(resource)) is not None
    }
    if consumed:
        return max(consumed, key=lambda resource: (resource.index is None, consumed[resource]))
    counted = {
        track.direction: sum(track.consumed.values())
        for track in run.tracks
        if not track.index and track.consumed
    }
    return Resource(index, max(counted, key=counted.__getitem__, default=WRITE))


def _spans(run: ReportRun, labels: list[Label]) -> Spans:
    """What the verdict speaks of: the spans of its labels, without the calm between them; else the load, of
    which the seconds in which it began and ended are no part."""
    if labels:
        return joined((label.start.timestamp(), label.end.timestamp()) for label in labels)
    seconds = run.record.range()
    if seconds is not None and run.manifest is not None:
        whole = whole_seconds(run.manifest, seconds[1] - 1)
        if whole[1] - whole[0] >= LEAST_WHOLE_S:
            return [(float(whole[0]), float(whole[1]))]
    if seconds is not None:
        return [(float(seconds[0]), float(seconds[1]))]
    if run.evidence is not None:
        return [(run.evidence.window.start.timestamp(), run.evidence.window.end.timestamp())]
    return []


def joined(spans: Iterable[tuple[float, float]]) -> Spans:
    """The same time in spans that do not overlap, in order."""
    joined: Spans = []
    for start_s, end_s in sorted(spans):
        if joined and start_s <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(end_s, joined[-1][1])
        else:
            joined.append((start_s, end_s))
    return joined


def _inside(moments: npt.NDArray[Any], spans: Spans, width_s: float) -> npt.NDArray[np.bool_]:
    """Which steps of time, `width_s` long, have a part in one of the spans."""
    starts, ends = np.array(spans).T
    first = np.searchsorted(ends, moments, side="right")  # the first span that ends after a step begins
    begun: npt.NDArray[np.bool_] = starts[np.minimum(first, len(starts) - 1)] < moments + width_s
    return (first < len(starts)) & begun


def consumed_of(run: ReportRun, facts: Facts, resource: Resource) -> str | None:
    """The rate that stands for the consumption of a resource, with its unit and its time; None: unknown.

    `1,170 WCU/s while throttled`, else `380 WCU/s over the load`.
    """
    per_s, when = facts.consumed_per_s, facts.consumed_when
    if resource != facts.resource:
        labels = [label for label in run.labels_of(resource) if label.constraint != "none"]
        when = WHILE_THROTTLED if labels else OVER_THE_LOAD
        per_s = _consumed(run, resource, _spans(run, labels), when)
    return None if per_s is None else f"{rate(per_s, UNITS[resource.direction])} {when}"


def _busiest(run: ReportRun, resource: Resource, spans: Spans) -> float | None:
    """Units per second of the busiest minute within the load, by the client's record.

    None without one, and where the capacity changed: the one of that minute may have been another.
    """
    rows, capacity = run.record.of(resource), run.provisioned(resource)
    if rows is None or not len(rows["second"]) or not spans:
        return None
    if capacity.at(spans[0][0]) != capacity.at(spans[-1][1]):
        return None
    per_s = np.zeros(ceil(spans[-1][1] - spans[0][0]) or 1)
    at = (rows["second"] - spans[0][0]).astype(int)
    inside = (at >= 0) & (at < len(per_s))
    np.add.at(per_s, at[inside], rows["consumed_units"][inside])
    return busiest_per_s(per_s)


def _consumed(run: ReportRun, resource: Resource, spans: Spans, when: str) -> float | None:
    """Mean consumed units per second within the spans: the client's record, else CloudWatch's minutes.

    While throttled, the client's throttled seconds alone count, where it knows them.
    """
    if not spans:
        return None
    rows, track = run.record.of(resource), run.track(resource)
    if rows is not None and len(rows["second"]):
        second, consumed = rows["second"], rows["consumed_units"]
        inside = _inside(second, spans, 1.0)
        if when == WHILE_THROTTLED and (throttled := inside & (rows["throttled"] > 0)).any():
            return float(consumed[throttled].mean())
        first, last = float(second.min()), float(second.max()) + 1
        known_s = sum(max(0.0, min(end_s, last) - max(start_s, first)) for start_s, end_s in spans)
        return float(consumed[inside].sum() / known_s) if known_s else None
    if track is None or not track.consumed:
        return None
    inside = _inside(np.array(list(track.consumed)), spans, track.step_s)
    units = np.array(list(track.consumed.values()))[inside]
    return float(units.mean() / track.step_s) if len(units) else None


def _attempts(run: ReportRun) -> tuple[int | None, int]:
    """Attempts and throttles of the whole run, of the table's rows: an index's repeat them."""
    if run.totals.attempts:
        return run.totals.attempts, run.totals.throttled
    rows = [rows for side in Direction if (rows := run.record.of(Resource(None, side))) is not None]
    attempts, throttled = (sum(int(each[name].sum()) for each in rows) for name in ("attempts", "throttled"))
    return attempts or None, throttled


def _published(run: ReportRun) -> dict[Resource, int]:
    """Throttles that CloudWatch counts of each resource that others load: their logs hold a part of them.

    A write that an index refused is not counted again where the table's events have it as well.
    """
    if run.arranged is None or not run.alone:
        return {}
    counts = {
        Resource(track.index, track.direction): track.published_throttles for track in run.arranged.tracks
    }
    if (table := run.arranged.track(None, WRITE)) is not None:
        events = (table.events or {}).items()
        twice = sum(min(count, run.arranged.refused_by_indexes(cell)) for cell, count in events)
        counts[Resource(None, WRITE)] -= round(twice)
    return counts


def throttled_seconds(run: ReportRun) -> npt.NDArray[np.float64]:
    """The seconds in which the client saw a throttle, in order; none where it kept no seconds."""
    rows = run.record.seconds
    none = np.empty(0)
    return none if rows is None else np.unique(rows["second"][rows["throttled"] > 0]).astype(float)


def throttled_spans(labels: Iterable[Label]) -> Spans:
    """The time that labels with throttles speak of, in order."""
    return joined((label.start.timestamp(), label.end.timestamp()) for label in labels if label.throttles)


def _scheduled(run: ReportRun, resource: Resource) -> Demand | None:
    """The demand at the load's peak, without retries; None if unknown."""
    about = label_of(resource.index), resource.direction
    return next((each for each in run.diagnosis.demands if (each.resource, each.direction) == about), None)


def ceiling_of(run: ReportRun, resource: Resource) -> float:
    """The partition limit for the planned requests; higher for eventually consistent reads.

    That of strongly consistent reads, or of writes, if the requests are unknown.
    """
    planned = _scheduled(run, resource)
    if planned is not None and planned.partition_per_s is not None:
        return planned.partition_per_s
    return partition_ceiling(resource.direction, run.scale)
