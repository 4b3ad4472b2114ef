"""Requests as discrete events, asked of a table one by one: their items, and what a client sees of each."""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from keyheat.model.keyspace import HASH_BYTES
from keyheat.model.resources import Cause, Refusal
from keyheat.model.table import IndexWrite, Op, TableModel
from keyheat.simulator.flow import Flow, FlowAnswer, KeyUses, sent_together
from keyheat.simulator.shares import TableShares
from keyheat.words import Direction

Outcome = tuple[Op, Refusal | None]
"""One item, and why it was refused; None: it was not."""


def ops_of(table: TableShares, flow: Flow, count: int, now_s: float, rng: np.random.Generator) -> list[Op]:
    """So many items of a flow, each with keys and a size of its own, in the order of their arrival."""
    positions = table.shares(flow.index).positions(flow.keys, None, count, now_s, rng)
    entries = [
        (entry, table.shares(entry.index).positions(entry.keys, None, count, now_s, rng))
        for entry in flow.index_writes
    ]
    units = _sizes(flow, count, rng)
    return [
        Op(
            direction=flow.direction,
            position=position,
            units=units[number],
            index=flow.index,
            index_writes=tuple(
                IndexWrite(entry.index, places[number], entry.units) for entry, places in entries
            ),
            eventual=flow.eventual,
        )
        for number, position in enumerate(positions)
    ]


def _sizes(flow: Flow, count: int, rng: np.random.Generator) -> list[float]:
    if not flow.sizes:
        return [flow.units] * count
    units, parts = (np.array(values) for values in zip(*flow.sizes, strict=True))
    drawn: list[float] = rng.choice(units, count, p=parts / parts.sum()).tolist()
    return drawn


def ask(model: TableModel, flow: Flow, ops: Sequence[Op], at_s: float) -> list[Refusal | None]:
    """One request with these items: an answer for each. A throttled request is one where none is left."""
    if flow.together:
        refusals = model.admit_together(ops, at_s)
    elif flow.direction is Direction.READ:
        refusals = [
            model.admit_read(op.position, op.units, at_s, index=op.index, eventual=op.eventual) for op in ops
        ]
    else:
        refusals = [model.admit_write(op.position, op.units, at_s, op.index_writes) for op in ops]
    if throttled(flow, refusals) is not None:
        model.minutes.throttled_request(flow.operation, at_s)
    return refusals


def throttled(flow: Flow, refusals: Sequence[Refusal | None]) -> Refusal | None:
    """Why a request as a whole was refused: a transaction for one of its items, others for all; else None."""
    whole = any(refusals) if flow.together else all(refusals)
    return next((refusal for refusal in refusals if refusal is not None), None) if whole else None


def outcomes_of(
    flow: Flow, ops: Sequence[Op], refusals: Sequence[Refusal | None]
) -> Iterator[tuple[int, Outcome]]:
    """What a client sees of the items, each with its place: of a cancelled transaction what was refused."""
    cancelled = flow.together and any(refusals)
    for place, (op, refusal) in enumerate(zip(ops, refusals, strict=True)):
        if refusal or not cancelled:
            yield place, (op, refusal)


def answer_of(table: TableShares, flow: Flow, outcomes: Sequence[Outcome]) -> FlowAnswer:
    """What became of the items of one flow."""
    refused: Counter[tuple[str | None, Cause]] = Counter(
        (refusal.index, refusal.cause) for _op, refusal in outcomes if refusal is not None
    )
    index_units: Counter[str] = Counter()
    for op, refusal in outcomes:
        for entry in op.index_writes if refusal is None else ():
            index_units[entry.index] += entry.units  # type: ignore[assignment]
    return FlowAnswer(
        flow=flow,
        attempts=len(outcomes),
        accepted=len(outcomes) - refused.total(),
        units=sum(op.units for op, refusal in outcomes if refusal is None),
        index_units=index_units,
        refused=refused,
        uses=_uses(table, flow, outcomes),
    )


def _uses(table: TableShares, flow: Flow, outcomes: Sequence[Outcome]) -> KeyUses | None:
    """What the most used keys asked for."""
    top = table.shares(flow.index).top(flow.keys) if table.names_keys else None
    if top is None:
        return None
    asked, by_partition, by_limits = Counter[bytes](), Counter[bytes](), Counter[bytes]()
    for op, refusal in outcomes:
        at = op.position[:HASH_BYTES]
        asked[at] += 1
        if refusal is not None:
            own = (refusal.index, refusal.cause) == (flow.index, Cause.KEY_RANGE)
            (by_partition if own else by_limits)[at] += 1
    return KeyUses(
        index=flow.index,
        names=top.names,
        **{
            name: np.array([counts[at] for at in top.points], np.float64)
            for name, counts in (("asked", asked), ("by_partition", by_partition), ("by_limits", by_limits))
        },
    )


def one_by_one(
    table: TableShares,
    flows: Sequence[Flow],
    requests: Sequence[int],
    now_s: float,
    rng: np.random.Generator,
) -> list[FlowAnswer]:
    """What becomes of so many requests of each flow, mixed at random, at moments drawn evenly."""
    kinds = sent_together(flows)
    of_kind = np.repeat(np.arange(len(kinds)), [requests[places[0]] for places in kinds])
    rng.shuffle(of_kind)
    outcomes: list[list[Outcome]] = [[] for _ in flows]
    moments_s = np.sort(rng.random(len(of_kind))) + now_s
    for at_s, number in zip(moments_s.tolist(), of_kind.tolist(), strict=True):
        items = [place for place in kinds[number] for _ in range(flows[place].items)]
        ops = [ops_of(table, flows[place], 1, at_s, rng)[0] for place in items]
        refusals = ask(table.model, flows[items[0]], ops, at_s)
        for place, outcome in outcomes_of(flows[items[0]], ops, refusals):
            outcomes[items[place]].append(outcome)
    return [answer_of(table, flow, found) for flow, found in zip(flows, outcomes, strict=True)]
