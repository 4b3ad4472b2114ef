"""Rates over time of one resource: consumed, provisioned, and throttled by constraint, in equal steps."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from keyheat.analysis.report.bins import MOST_POINTS, Floats, joined_up, mean_rates, width_for
from keyheat.analysis.report.run import ReportRun
from keyheat.analysis.report.seconds import SecondsRecord, rows_of
from keyheat.analysis.timeline import Cells, EvidenceTrack
from keyheat.evidence.settings import Steps
from keyheat.runs import metrics
from keyheat.runs.formats import Label, TableFacts
from keyheat.words import Capacity, Constraint, Resource

MINUTE_S = 60
MOST_ROWS = 360  # of a table in the page


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RateTimeline:
    """Rates per second in steps of `step_s` from `start_s` (epoch); NaN is unknown, never zero.

    `throttled` has only the constraints that occurred; an array is None where nothing is known.
    """

    resource: Resource
    start_s: int
    end_s: int
    step_s: int
    consumed: Floats | None
    attempts: Floats | None
    provisioned: Floats | None
    throttled: Mapping[Constraint, Floats]

    @property
    def points(self) -> int:
        return -(-(self.end_s - self.start_s) // self.step_s)

    def moments(self) -> range:
        """The epoch second at which each step begins."""
        return range(self.start_s, self.start_s + self.points * self.step_s, self.step_s)

    def counted(self, rates: Floats) -> Floats:
        """What happened in each step, of which `rates` are the means; the last step may be shorter."""
        lengths = np.full(self.points, self.step_s, dtype=np.float64)
        lengths[-1] = self.end_s - self.moments()[-1]
        return np.asarray(rates * lengths, dtype=np.float64)

    def all_throttled(self) -> Floats:
        """Throttles per second, whatever the constraint."""
        total: Floats = np.sum([np.zeros(self.points), *self.throttled.values()], axis=0)
        return total

    def in_steps_of(self, step_s: int) -> "RateTimeline":
        """The same in longer steps; `step_s` is a multiple of what they are."""
        if step_s <= self.step_s:
            return self
        each = step_s // self.step_s

        def joined(values: Floats | None) -> Floats | None:
            return None if values is None else joined_up(values, each)

        return replace(
            self,
            step_s=each * self.step_s,
            consumed=joined(self.consumed),
            attempts=joined(self.attempts),
            provisioned=joined(self.provisioned),
            throttled={name: joined_up(values, each) for name, values in self.throttled.items()},
        )


def table_facts(run: ReportRun) -> TableFacts | None:
    """What is known of the table, as the evidence has it or else the manifest."""
    if run.evidence is not None:
        return run.evidence.table
    return run.manifest.table if run.manifest is not None else None


def provisioned(run: ReportRun, resource: Resource) -> Steps:
    """Units per second that are provisioned over time: as published and carried on, else as described."""
    track = _track(run, resource)
    return track.provisioned if track else Steps((), (), _described(run, resource, "provisioned"))


def maximum(run: ReportRun, resource: Resource) -> Steps:
    """The maximum that the owner of an on-demand table has set, over time."""
    track = _track(run, resource)
    return track.maximum if track else Steps((), (), _described(run, resource, "max_on_demand"))


def _track(run: ReportRun, resource: Resource) -> EvidenceTrack | None:
    return run.arranged.track(resource.index, resource.direction) if run.arranged else None


def _described(run: ReportRun, resource: Resource, kind: str) -> float | None:
    """What the manifest says; DynamoDB states 0 for a mode that is not in force."""
    facts = table_facts(run)
    if facts is None:
        return None
    owners = [facts] if resource.index is None else [i for i in facts.indexes if i.name == resource.index]
    pair: Capacity | None = getattr(owners[0], kind) if owners else None
    rate = pair.of(resource.direction) if pair is not None else None
    return rate * run.scale if rate else None


def by_second(
    run: ReportRun, record: SecondsRecord, resource: Resource, *, most: int = MOST_POINTS
) -> RateTimeline | None:
    """What the client saw of one resource, in steps of whole seconds; None where it kept no record."""
    limits = record.range()
    if limits is None:
        return None
    start_s, end_s = limits
    step_s = width_for(end_s - start_s, most)
    return _client_timeline(run, record, resource, start_s, end_s, step_s)


def by_client_minute(run: ReportRun, record: SecondsRecord, resource: Resource) -> RateTimeline | None:
    """What the client saw of one resource, minute by minute."""
    limits = record.range()
    if limits is None:
        return None
    start_s = limits[0] // MINUTE_S * MINUTE_S
    step_s = max(MINUTE_S, width_for(limits[1] - start_s, most=MOST_ROWS))
    return _client_timeline(run, record, resource, start_s, limits[1], step_s)


def _client_timeline(
    run: ReportRun, record: SecondsRecord, resource: Resource, start_s: int, end_s: int, step_s: int
) -> RateTimeline:
    def rates(table_name: str, column: str) -> Floats | None:
        table = getattr(record, table_name)
        if table is None:
            return None
        mine = rows_of(table, resource)
        if not len(mine["second"]):  # throttles alone speak of it
            return None
        return mean_rates(mine["second"], mine[column], start_s=start_s, end_s=end_s, width_s=step_s)

    timeline = RateTimeline(
        resource=resource,
        start_s=start_s,
        end_s=end_s,
        step_s=step_s,
        consumed=rates("seconds", "consumed"),
        attempts=rates("seconds", "attempts"),
        provisioned=None,
        throttled=_client_throttles(run, record, resource, start_s, end_s, step_s),
    )
    return _with_provisioned(timeline, run)


def _client_throttles(
    run: ReportRun, record: SecondsRecord, resource: Resource, start_s: int, end_s: int, step_s: int
) -> dict[Constraint, Floats]:
    """Throttles by constraint; those without a reason take the label of their second."""
    labels = run.labels_of(resource)
    if record.throttles is not None:
        mine = rows_of(record.throttles, resource)
        reasons, counts = mine["reason"].tolist(), mine["count"]
    elif record.seconds is not None:
        mine = rows_of(record.seconds, resource)
        counts = mine["throttled"]
        reasons = [None] * len(counts)
    else:
        return {}
    second = mine["second"]
    said = {reason: metrics.constraint_of(reason) for reason in set(reasons)}
    found = np.array(
        [said[r] or _labelled_at(labels, s) for r, s in zip(reasons, second.tolist(), strict=True)],
        dtype=object,
    )
    return {
        constraint: mean_rates(
            second[found == constraint],
            counts[found == constraint],
            start_s=start_s,
            end_s=end_s,
            width_s=step_s,
        )
        for constraint in sorted(set(found[counts > 0].tolist()))
    }


def _labelled_at(labels: Iterable[Label], epoch_s: float) -> Constraint:
    """What throttles without a reason are put down to at a moment: the label of that span."""
    for label in labels:
        if label.start.timestamp() <= epoch_s < label.end.timestamp() and label.constraint != "none":
            return label.constraint
    return "undetermined"


def by_minute(run: ReportRun, resource: Resource) -> RateTimeline | None:
    """What CloudWatch published of one resource; None where it published nothing of it."""
    track = _track(run, resource)
    if run.evidence is None or track is None or not track.consumed:
        return None
    start_s = int(run.evidence.window.start.timestamp()) // MINUTE_S * MINUTE_S
    end_s = -(-int(run.evidence.window.end.timestamp()) // MINUTE_S) * MINUTE_S
    step_s = max(track.step_s, width_for(end_s - start_s, most=1_440), MINUTE_S)
    timeline = RateTimeline(
        resource=resource,
        start_s=start_s,
        end_s=end_s,
        step_s=step_s,
        consumed=_placed(track.consumed, start_s, end_s, step_s),
        attempts=None,
        provisioned=None,
        throttled=_published_throttles(track, start_s, end_s, step_s),
    )
    return _with_provisioned(timeline, run)


def published_resources(run: ReportRun) -> list[Resource]:
    """Every resource of which CloudWatch published consumption above zero, or throttles."""
    found = [
        Resource(track.index, track.direction)
        for track in (run.arranged.tracks if run.arranged else ())
        for counted in (track.consumed, track.events, *track.causes.values())
        if counted and any(counted.values())
    ]
    return sorted(set(found), key=lambda resource: (resource.index or "", resource.direction != "write"))


def _published_throttles(
    track: EvidenceTrack, start_s: int, end_s: int, step_s: int
) -> dict[Constraint, Floats]:
    """Throttle events by the cause that a metric names; the rest are undetermined."""
    by_cause = {
        constraint: np.nan_to_num(_placed(cells, start_s, end_s, step_s))
        for constraint, cells in track.causes.items()
        if any(cells.values())
    }
    if track.events:
        total = np.nan_to_num(_placed(track.events, start_s, end_s, step_s))
        rest = np.clip(total - np.sum([np.zeros_like(total), *by_cause.values()], axis=0), 0, None)
        if rest.sum() * step_s >= 1:
            by_cause["undetermined"] = rest
    return by_cause


def _with_provisioned(timeline: RateTimeline, run: ReportRun) -> RateTimeline:
    """The timeline with the capacity that held at each step."""
    steps = provisioned(run, timeline.resource)
    rates = [steps.at(moment) for moment in timeline.moments()]
    if not any(rates):
        return timeline
    return replace(timeline, provisioned=np.array([rate or np.nan for rate in rates]))


def _placed(cells: Cells, start_s: int, end_s: int, step_s: int) -> Floats:
    """Sums as rates in each step, NaN in the steps without a point."""
    moments = np.fromiter(cells, dtype=np.int64, count=len(cells))
    values = np.fromiter(cells.values(), dtype=np.float64, count=len(cells))
    rates = mean_rates(moments, values, start_s=start_s, end_s=end_s, width_s=step_s)
    seen = mean_rates(moments, np.ones(len(cells)), start_s=start_s, end_s=end_s, width_s=step_s)
    rates[seen == 0] = np.nan
    return rates
