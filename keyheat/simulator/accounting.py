"""Putting a second down in the table's own books: buckets, meters, heat, and the answers to the flows."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from keyheat.model.resources import Cause, Refusal
from keyheat.model.table import TableModel
from keyheat.simulator.allocation import SECOND_S, Allocation, LaneDemand, SharedLimit, spend
from keyheat.simulator.demand import FlowDemand, rounded
from keyheat.simulator.flow import FlowAnswer, KeyUses
from keyheat.simulator.masses import Floats

Refused = Counter[tuple[str | None, Cause]]


def account(
    demand: LaneDemand, allocation: Allocation, now_s: float, rng: np.random.Generator
) -> dict[int, FlowAnswer]:
    """Spend what was allocated, meter it, and answer; the answers by the places of their flows."""
    accepted = _accepted(demand, allocation, rng)
    used = demand.weighted @ accepted
    totals = accepted.sum(axis=1)
    spend(demand.buckets, used, now_s)
    for limit in allocation.limits:
        spend(limit.buckets, limit.weights @ totals, now_s)
    missed = demand.cells * allocation.passed[:, None] * allocation.refused
    answers, by_partition = {}, np.zeros(len(demand.buckets))
    for flow, one in enumerate(demand.asked):
        rows = slice(demand.starts[flow], demand.starts[flow] + len(one.units))
        count, units = int(totals[rows].sum()), float(totals[rows] @ one.units)
        had = one.units[totals[rows] > 0.0]
        if count:
            demand.lane.meter.accepted_many(count, units, now_s, least=float(had[0]), most=float(had[-1]))
        of_flow = _OfFlow(
            one=one,
            cells=one.cells.sum(axis=0),
            missed=missed[rows].sum(axis=0),
            accepted=allocation.accepted[rows].sum(axis=0),
        )
        refused = _refused(demand, allocation, flow, of_flow, count, now_s, rng)
        by_partition += _by_partition(demand, of_flow, refused)
        answers[one.place] = _answer(one, count, units, refused, _uses(demand, of_flow))
        throttled = _throttled_requests(one, count, rng)
        demand.table.model.minutes.throttled_requests(one.flow.operation, throttled, now_s)
    demand.resource.partitions.missed(demand.lane.key_range.direction, by_partition.tolist())
    _heat_up(demand, demand.by_flow(missed), used, now_s, rng)
    return answers


@dataclass(frozen=True, slots=True, kw_only=True)
class _OfFlow:
    """One flow's items of all sizes by partition; what became of them, in the mean."""

    one: FlowDemand
    cells: Floats
    missed: Floats  # refused by the partition
    accepted: Floats


def _by_partition(demand: LaneDemand, of_flow: _OfFlow, refused: Refused) -> Floats:
    """The refusals of one flow that are its partitions' own, divided among these."""
    limit, total = demand.lane.key_range, float(of_flow.missed.sum())
    count = refused[limit.index, limit.cause]
    return of_flow.missed * (count / total) if count and total else np.zeros(len(demand.buckets))


def _accepted(demand: LaneDemand, allocation: Allocation, rng: np.random.Generator) -> Floats:
    """Whole accepted items of each row on each partition."""
    accepted = rounded(allocation.accepted, rng)
    for flow, one in enumerate(demand.asked):
        rows = slice(demand.starts[flow], demand.starts[flow] + len(one.units))
        if one.flow.together and one.flow.items > 1:
            accepted[rows] = _whole_requests(accepted[rows], one.flow.items, rng)
        if one.partner < 0:  # as many as of the flow before
            first = slice(demand.starts[flow - 1], demand.starts[flow])
            accepted[rows] = _so_many(allocation.accepted[rows], float(accepted[first].sum()), rng)
    return accepted


def _so_many(items: Floats, count: float, rng: np.random.Generator) -> Floats:
    """Whole items in proportion, so many in all."""
    ends = np.floor(np.cumsum(items) * (count / max(float(items.sum()), 1e-12)) + rng.random())
    return np.diff(ends, prepend=0.0).reshape(items.shape)


def _whole_requests(items: Floats, of: int, rng: np.random.Generator) -> Floats:
    """Items of whole requests, each of so many items, where so many `items` were accepted."""
    total = float(items.sum())
    requests = int(rounded(np.array([total / of]), rng)[0])
    if not requests:
        return items * 0.0
    drawn = rng.multinomial(requests * of, (items / total).ravel())
    return drawn.reshape(items.shape).astype(np.float64)


def _uses(demand: LaneDemand, of_flow: _OfFlow) -> KeyUses | None:
    """What the most used keys of one flow asked for: each as refused as everything on its partition."""
    one = of_flow.one
    top = demand.shares.top(one.flow.keys) if demand.table.names_keys else None
    if top is None:
        return None
    cells = np.maximum(of_flow.cells, 1.0)
    asked = one.items * top.shares
    by_partition = asked * np.clip(of_flow.missed / cells, 0.0, 1.0)[top.partitions]
    every = asked * np.clip((of_flow.cells - of_flow.accepted) / cells, 0.0, 1.0)[top.partitions]
    return KeyUses(
        index=one.flow.index,
        names=top.names,
        asked=asked,
        by_partition=by_partition,
        by_limits=np.maximum(every - by_partition, 0.0),
    )


def _answer(
    one: FlowDemand, accepted: int, units: float, refused: Refused, uses: KeyUses | None
) -> FlowAnswer:
    index_units: Counter[str] = Counter()
    for entry in one.flow.index_writes:
        index_units[entry.index] += entry.units * accepted  # type: ignore[assignment]
    return FlowAnswer(
        flow=one.flow,
        attempts=accepted + refused.total(),
        accepted=accepted,
        units=units,
        index_units=index_units,
        refused=refused,
        uses=uses,
    )


def _refused(
    demand: LaneDemand,
    allocation: Allocation,
    flow: int,
    of_flow: _OfFlow,
    accepted: int,
    now_s: float,
    rng: np.random.Generator,
) -> Refused:
    """Throttled items of one flow by what the client is told; every resource that refuses counts an event."""
    one, missed = of_flow.one, float(of_flow.missed.sum())
    if one.flow.together:
        count, shared = _cancelled(demand, allocation, flow, of_flow, accepted, rng)
    else:
        count = one.items - accepted
        wanting = max(1e-12, float((of_flow.cells - of_flow.accepted).sum()))
        shared = min(1.0, max(0.0, 1.0 - missed / wanting))
    by_shared = int(rng.binomial(count, shared)) if allocation.reached else 0
    refused: Refused = Counter()
    if count > by_shared:
        refused[demand.lane.key_range.index, demand.lane.key_range.cause] += count - by_shared
        demand.lane.meter.refused_many(demand.lane.key_range.cause, count - by_shared, now_s)
    if by_shared:
        refused += _by_limits(demand.table.model, allocation.reached, flow, by_shared, now_s, rng)
    return refused


def _cancelled(
    demand: LaneDemand,
    allocation: Allocation,
    flow: int,
    of_flow: _OfFlow,
    accepted: int,
    rng: np.random.Generator,
) -> tuple[int, float]:
    """Items of cancelled transactions that were throttled themselves, and the part of them by shared limits.

    The others were not to blame. A gate has room for the first items of a transaction, for half of them in
    the mean; an index has room for none.
    """
    one, items, whole = of_flow.one, of_flow.one.flow.items, of_flow.one.of_request
    requests = one.requests - accepted // items
    if requests <= 0:
        return 0, 0.0
    total = max(float(of_flow.cells.sum()), 1.0)
    rows = slice(demand.starts[flow], demand.starts[flow] + len(one.units))
    passed = float(one.cells.sum(axis=1) @ allocation.passed[rows]) / total
    accepted_part = float(of_flow.accepted.sum()) / total
    by_partitions = items * float(of_flow.missed.sum()) / total
    by_gate = (1.0 - passed) * (whole + 1) / 2 * items / whole
    served = float((one.cells * allocation.served[rows] * allocation.others[rows]).sum()) / total
    by_index = max(0.0, passed * served - accepted_part) * items if allocation.reached else 0.0
    throttled = by_partitions + by_gate + by_index
    each = throttled / max(1.0 - accepted_part, 1e-12)
    least = 0 if one.partner else requests  # the other item may be to blame
    count = max(least, int(rounded(np.array([requests * each]), rng)[0]))
    return count, (by_gate + by_index) / throttled if throttled else 0.0


def _by_limits(
    model: TableModel,
    reached: Sequence[tuple[SharedLimit, int]],
    flow: int,
    count: int,
    now_s: float,
    rng: np.random.Generator,
) -> Refused:
    """Put refusals down to the first limit; of several indexes that hold back, each counts its events."""
    first = reached[0][0]
    told: Refused = Counter()
    parts = np.array([weights[flow] for _refusal, weights in first.refusals])
    for (refusal, _weights), some in zip(first.refusals, rng.multinomial(count, parts).tolist(), strict=True):
        told[refusal.index, refusal.cause] += some
        _record(model, refusal, some, now_s)
    counted = {refusal.index for refusal, _weights in first.refusals}
    if not first.before_partitions:
        for limit, _bucket in reached[1:]:
            refusal = limit.refusals[0][0]
            if refusal.index not in counted:
                counted.add(refusal.index)
                _record(model, refusal, count, now_s)
    return +told


def _record(model: TableModel, refusal: Refusal, count: int, now_s: float) -> None:
    resource = model.resource(refusal.index)
    lane = resource.read if refusal.direction is resource.read.key_range.direction else resource.write
    lane.meter.refused_many(refusal.cause, count, now_s)


def _throttled_requests(one: FlowDemand, accepted: int, rng: np.random.Generator) -> int:
    """API calls that count as throttled: of batches only those whose every item was."""
    items = one.flow.items
    if one.partner < 0:
        return 0  # they are those of the flow before
    if items == 1 or one.flow.together:
        return one.requests - accepted // items
    chance = (1.0 - accepted / one.items) ** items if one.items else 0.0
    return int(rng.binomial(one.requests, chance))


def _heat_up(
    demand: LaneDemand, missed: Floats, used: Floats, now_s: float, rng: np.random.Generator
) -> None:
    """Tell every partition that refused something in this second, or was near its ceiling; those hot for long
    enough split.
    """
    refused = missed.sum(axis=0)
    asked = demand.by_flow(demand.cells)
    share = demand.resource.around.behaviour.split_busy_share
    busy = used >= share * np.array([bucket.rate * SECOND_S for bucket in demand.buckets])
    hot = np.flatnonzero((rng.random(len(refused)) < refused) | busy)
    for number in hot[::-1].tolist():  # from above, so that a split moves none that is still to be told
        sample = missed[:, number] if refused[number] > 0.0 else asked[:, number]
        drawn = partial(_drawn, demand, sample, number, now_s, rng)
        demand.resource.partitions.throttled(number, drawn, now_s)


def _drawn(
    demand: LaneDemand, missed: Floats, number: int, now_s: float, rng: np.random.Generator, count: int
) -> list[bytes]:
    """Positions of refused requests on one partition, of all flows in proportion."""
    counts = rng.multinomial(count, missed / missed.sum())
    return [
        at
        for one, some in zip(demand.asked, counts.tolist(), strict=True)
        for at in demand.shares.positions(one.flow.keys, number, some, now_s, rng)
    ]
