"""The few requests of a quiet second, asked one by one as an endpoint would: averages say little of them."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from keyheat.model.resources import Cause, Refusal
from keyheat.model.table import IndexWrite, Op
from keyheat.simulator.asked import Ground
from keyheat.simulator.flow import Answer, Flow
from keyheat.simulator.keyuses import KeyUses
from keyheat.words import Direction


def one_by_one(
    ground: Ground, flows: Sequence[Flow], requests: Sequence[int], now_s: float, rng: np.random.Generator
) -> list[Answer]:
    """What becomes of so many requests of each flow, mixed at random, at moments drawn evenly."""
    of_flow = np.repeat(np.arange(len(flows)), requests)
    rng.shuffle(of_flow)
    outcomes: list[list[Refusal | None]] = [[] for _ in flows]
    moments_s = np.sort(rng.random(len(of_flow))) + now_s
    for at_s, number in zip(moments_s.tolist(), of_flow.tolist(), strict=True):
        flow = flows[number]
        refusals = _ask(ground, flow, at_s, rng)
        outcomes[number] += refusals
        if all(refusals) or (flow.together and any(refusals)):
            ground.model.minutes.throttled_request(flow.operation, at_s)
    return [_answer(ground, flow, found) for flow, found in zip(flows, outcomes, strict=True)]


def _ask(ground: Ground, flow: Flow, at_s: float, rng: np.random.Generator) -> list[Refusal | None]:
    """One request: an answer for each item that was asked for; of a cancelled one, for those to blame."""
    model = ground.model
    ops = [_op(ground, flow, at_s, rng) for _ in range(flow.items)]
    if flow.together:
        answers = model.admit_together(ops, at_s)
        return [answer for answer in answers if answer] or answers
    if flow.direction is Direction.READ:
        return [
            model.admit_read(op.position, op.units, at_s, index=op.index, eventual=op.eventual) for op in ops
        ]
    return [model.admit_write(op.position, op.units, at_s, op.index_writes) for op in ops]


def _op(ground: Ground, flow: Flow, at_s: float, rng: np.random.Generator) -> Op:
    (position,) = ground.shares(flow.index).positions(flow.keys, None, 1, at_s, rng)
    entries = tuple(
        IndexWrite(
            entry.index,
            ground.shares(entry.index).positions(entry.keys, None, 1, at_s, rng)[0],
            entry.units,
        )
        for entry in flow.index_writes
    )
    return Op(
        direction=flow.direction,
        position=position,
        units=flow.units,
        index=flow.index,
        index_writes=entries,
        eventual=flow.eventual,
    )


def _uses(
    ground: Ground, flow: Flow, items: int, refused: Counter[tuple[str | None, Cause]]
) -> KeyUses | None:
    """What the most used keys asked for, in the mean: which keys the requests had is not kept."""
    top = ground.shares(flow.index).top(flow.keys)
    if top is None:
        return None
    own = refused[flow.index, Cause.KEY_RANGE]
    return KeyUses(
        index=flow.index,
        names=top.names,
        asked=items * top.shares,
        by_partition=own * top.shares,
        by_limits=(refused.total() - own) * top.shares,
    )


def _answer(ground: Ground, flow: Flow, outcomes: Sequence[Refusal | None]) -> Answer:
    refused: Counter[tuple[str | None, Cause]] = Counter(
        (refusal.index, refusal.cause) for refusal in outcomes if refusal is not None
    )
    accepted = len(outcomes) - refused.total()
    index_units: Counter[str] = Counter()
    for entry in flow.index_writes:
        index_units[entry.index] += entry.units * accepted  # type: ignore[assignment]
    return Answer(
        flow=flow,
        attempts=len(outcomes),
        accepted=accepted,
        units=accepted * flow.units,
        index_units=index_units,
        refused=refused,
        uses=_uses(ground, flow, len(outcomes), refused),
    )
