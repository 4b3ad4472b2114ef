"""The reads of one second: of the table and of each index, which share nothing but the account's quota."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from keyheat.model.resources import Cause
from keyheat.simulator.asked import Asked, Ground
from keyheat.simulator.fill import fill
from keyheat.simulator.flow import Answer
from keyheat.simulator.front import SECOND_S, Filled, Front, Limit, room
from keyheat.simulator.masses import Floats
from keyheat.simulator.odds import shared_out
from keyheat.simulator.settle import settle

NEARLY: Final = 1e-6  # share of the quota by which the sum of its parts may miss it


def serve_reads(
    ground: Ground, asked: Sequence[Asked], now_s: float, rng: np.random.Generator
) -> dict[int, Answer]:
    """What becomes of the reads, by the places of their flows."""
    by_index: dict[str | None, list[Asked]] = {}
    for one in asked:
        by_index.setdefault(one.flow.index, []).append(one)
    fronts = [Front.of(ground, index, some, now_s) for index, some in by_index.items()]
    answers: dict[int, Answer] = {}
    for front, filled in zip(fronts, _filled(fronts, now_s), strict=True):
        answers |= settle(front, filled, now_s, rng)
    return answers


def _filled(fronts: Sequence[Front], now_s: float) -> list[Filled]:
    """Each resource by itself; where together they are over the quota that they share, each gets its part."""
    alone = [front.filled(_limits(front, now_s)) for front in fronts]
    quotas = (
        [gate.bucket for gate in fronts[0].lane.gates if gate.refusal.cause is Cause.ACCOUNT]
        if fronts
        else []
    )
    if len(fronts) < 2 or not quotas:
        return alone
    left = float(room(quotas, now_s)[0])
    parts = _parts(fronts, alone, left)
    if sum(parts) < left * (1 - NEARLY):  # the quota refuses nobody: each has its own limits only
        return alone
    return [front.filled(_limits(front, now_s, part)) for front, part in zip(fronts, parts, strict=True)]


def _parts(fronts: Sequence[Front], alone: Sequence[Filled], quota: float) -> list[float]:
    """How much of the quota each resource uses. It is asked first, by all alike; small reads find enough more
    often than large ones."""
    units = [np.repeat(front.units, front.cells.shape[1]) for front in fronts]
    wanted = [front.cells.ravel() * each for front, each in zip(fronts, units, strict=True)]
    most = [
        np.divide(filled.accepted, front.cells, out=np.ones_like(front.cells), where=front.cells > 0).ravel()
        for front, filled in zip(fronts, alone, strict=True)
    ]
    shape = _shape(fronts, alone, quota)
    shapes = [shape[np.searchsorted(shape[:, 0], each), 1] for each in units]
    thinned = np.concatenate([asked * part for asked, part in zip(wanted, shapes, strict=True)])
    limits = np.concatenate(most) / np.maximum(np.concatenate(shapes), 1e-12)
    found = fill(thinned[None, :], limits, np.ones((1, 1)), np.array([quota]))
    return [
        float(asked @ np.minimum(part, found.x * by_size))
        for asked, part, by_size in zip(wanted, most, shapes, strict=True)
    ]


def _shape(fronts: Sequence[Front], alone: Sequence[Filled], quota: float) -> Floats:
    """How much better small reads pass the quota: each size, and its part of the smallest one's chance."""
    sizes = np.unique(np.concatenate([front.units for front in fronts]))
    bucket = next(gate.bucket for gate in fronts[0].lane.gates if gate.refusal.cause is Cause.ACCOUNT)
    asked, rates = np.zeros(len(sizes)), np.zeros(len(sizes))
    for front, filled in zip(fronts, alone, strict=True):
        kept = np.divide(filled.accepted, front.cells, out=np.ones_like(front.cells), where=front.cells > 0)
        places = np.searchsorted(sizes, front.units)
        np.add.at(asked, places, filled.accepted.sum(axis=1))
        np.add.at(rates, places, (front.mean * kept).sum(axis=1))
    odds, used = fronts[0].ground.odds.of(
        "quota of reads", sizes, rates[:, None], np.array([quota]), np.array([bucket.rate * SECOND_S])
    )
    if sizes @ asked > used[0] > 0.0:
        odds = shared_out(sizes, odds, (asked * sizes)[:, None], used)
    return np.column_stack([sizes, odds[:, 0] / odds.max()])


def _limits(front: Front, now_s: float, quota: float | None = None) -> list[Limit]:
    """The gates of the lane; `quota` is the part of the account's that is this resource's."""
    return [
        Limit(
            buckets=[gate.bucket],
            rooms=(
                room([gate.bucket], now_s)
                if quota is None or gate.refusal.cause is not Cause.ACCOUNT
                else np.array([quota])
            ),
            weights=front.units[None, :],
            refusals=((gate.refusal, np.ones(len(front.asked))),),
            before_partitions=True,
        )
        for gate in front.lane.gates
    ]
