"""The same flows sent to two tables: in waves, and request by request as an endpoint's clients would."""

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from keyheat.model.table import IndexWrite, Op, TableCapacity, TableModel
from keyheat.simulator.flow import Flow, FlowAnswer, sent_together
from keyheat.simulator.masses import PartitionShares
from keyheat.simulator.second import SimulatedTables
from keyheat.words import Direction

T0 = 1_800_000_000.0
WRITE, READ = Direction.WRITE, Direction.READ

Sent = Callable[[int], Sequence[Flow]]
Counts = dict[tuple[str | None, str, str], list[float]]
"""By (index, direction, accepted | units | a cause): a number for each minute."""


def always(*flows: Flow) -> Sent:
    return lambda _second: flows


def in_waves(
    capacity: TableCapacity, sent: Sent, *, seconds: int, scale: float = 1.0, seed: int = 1
) -> tuple[TableModel, list[list[FlowAnswer]]]:
    """Every second as a whole."""
    model = TableModel(capacity, now_s=T0, scale=scale, seed=seed)
    table = SimulatedTables({"t": model}, own_table="t", seed=seed, started_s=T0)
    return model, [table.second(sent(second), T0 + second) for second in range(seconds)]


def one_by_one(
    capacity: TableCapacity, sent: Sent, *, seconds: int, scale: float = 1.0, seed: int = 1
) -> TableModel:
    """Every request by itself, at a moment drawn evenly from its second."""
    model = TableModel(capacity, now_s=T0, scale=scale, seed=seed)
    rng, shares = np.random.default_rng(seed + 1_000), PartitionShares()
    due: Counter[int] = Counter()
    for second in range(seconds):
        requests: list[tuple[Flow, list[Op]]] = []
        flows = sent(second)
        for places in sent_together(flows):
            place, flow = places[0], flows[places[0]]
            due[place] += flow.requests  # type: ignore[assignment]
            count = int(rng.poisson(flow.requests)) if flow.poisson else int(due[place] + 1e-9)
            due[place] -= count
            kinds = [
                (one, drawn(shares, one, count * one.items, T0 + second, rng))
                for one in (flows[each] for each in places)
            ]
            requests += [
                (flow, [op for one, ops in kinds for op in ops[n * one.items : (n + 1) * one.items]])
                for n in range(count)
            ]
        moments_s = np.sort(rng.random(len(requests))) + T0 + second
        for number, at_s in zip(rng.permutation(len(requests)), moments_s.tolist(), strict=True):
            ask(model, *requests[number], at_s)
    return model


def drawn(
    shares: PartitionShares, flow: Flow, count: int, now_s: float, rng: np.random.Generator
) -> list[Op]:
    positions = shares.positions(flow.keys, None, count, now_s, rng)
    entries = [shares.positions(entry.keys, None, count, now_s, rng) for entry in flow.index_writes]
    units, parts = np.array(flow.sizes or [(flow.units, 1.0)]).T
    sizes = rng.choice(units, size=count, p=parts)
    return [
        Op(
            direction=flow.direction,
            position=positions[n],
            units=float(sizes[n]),
            index=flow.index,
            eventual=flow.eventual,
            index_writes=tuple(
                IndexWrite(entry.index, at[n], entry.units)
                for entry, at in zip(flow.index_writes, entries, strict=True)
            ),
        )
        for n in range(count)
    ]


def ask(model: TableModel, flow: Flow, ops: Sequence[Op], at_s: float) -> None:
    if flow.together:
        model.admit_together(ops, at_s)
        return
    for op in ops:
        if op.direction is READ:
            model.admit_read(op.position, op.units, at_s, index=op.index, eventual=op.eventual)
        else:
            model.admit_write(op.position, op.units, at_s, op.index_writes)


def by_minute(model: TableModel, seconds: int) -> Counts:
    """What a model decided."""
    minutes = -(-seconds // 60)
    counts: Counts = {}
    for row in model.decisions():
        for what, number in (
            ("accepted", row["accepted"]),
            ("units", row["consumed"]),
            *row["refused"].items(),
        ):
            each = counts.setdefault((row["index"], row["direction"], what), [0.0] * minutes)
            each[int(row["second"] - T0) // 60] += number
    return counts


def apart(one: Counts, other: Counts, *, share: float, units: float) -> list[str]:
    """Every number that differs by more than a share of it and by more than so many units."""
    found = []
    for key in sorted({*one, *other}, key=str):
        zeros = [0.0] * max(len(each) for each in (*one.values(), *other.values()))
        for minute, pair in enumerate(zip(one.get(key, zeros), other.get(key, zeros), strict=True)):
            if abs(pair[0] - pair[1]) > max(units, share * max(pair)):
                found.append(f"{key} in minute {minute}: {pair[0]:,.0f} one by one, {pair[1]:,.0f} in waves")
    return found
