"""Who gets what from a bucket that has too little for all: the odds of each size of request.

They are worked out from the rates at which the sizes arrive, and again only once those have changed.
"""

from collections.abc import Hashable
from typing import Final

import numpy as np

from keyheat.simulator.masses import Floats
from keyheat.simulator.sizes_law import Hovering, hovering

CHANGED: Final = 0.05
"""Part by which sizes or their demand may differ before the odds are worked out again."""
LEAST_ODDS: Final = 1e-9
SLOPE: Final = 1e-3  # large ones come last where the odds make no difference
NEWTON: Final = 60
EXACT: Final = 1e-6


class Odds:
    """The odds at the buckets of a table as they were last worked out, by who asks."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[Hashable, tuple[Floats, Floats, Hovering]] = {}

    def of(
        self, whose: Hashable, units: Floats, rates: Floats, rooms: Floats, earned: Floats
    ) -> tuple[Floats, Floats]:
        """The part of each size (rows) that each bucket (columns) serves in a second, and the room it uses.

        `rates` are requests per second in the mean, `rooms` what the buckets can serve in the second, and
        `earned` the part of it that they earn in it. What they hold above the level at which they hover
        serves all sizes alike, and the level stays.
        """
        found = self.hovering(whose, units, rates / earned)
        used = np.maximum(rooms - found.levels, 0.0)
        demand = units @ rates
        spare = np.divide(used - earned, demand - earned, out=np.ones_like(demand), where=demand > earned)
        alike = np.clip(spare, 0.0, 1.0)
        return alike + (1.0 - alike) * found.chances, used

    def hovering(self, whose: Hashable, units: Floats, rates: Floats) -> Hovering:
        """What is known of buckets that hover, of rates that are about these: per unit that is earned."""
        known = self._known.get(whose)
        if known is None or known[1].shape != rates.shape or not np.allclose(known[0], units, rtol=CHANGED):
            found = hovering(units, rates)
            self._known[whose] = units, rates, found
            return found
        _units, before, found = known
        moved = np.abs(rates - before) * units[:, None]
        stale = moved.sum(axis=0) > CHANGED * (units @ before)
        if stale.any():
            before, chances, levels = before.copy(), found.chances.copy(), found.levels.copy()
            before[:, stale] = rates[:, stale]
            newer = hovering(units, rates[:, stale])
            chances[:, stale], levels[stale] = newer.chances, newer.levels
            found = Hovering(chances, levels)
            self._known[whose] = units, before, found
        return found


def shared_out(units: Floats, odds: Floats, wanted: Floats, rooms: Floats) -> Floats:
    """The odds at each bucket raised to the power at which it serves exactly its room.

    `wanted` are units of each size (rows) at each bucket (columns), more in all than there is room for. More
    demand than usual is at the cost of the large ones: whoever is always served still is.
    """
    logs = np.log(np.maximum(odds, LEAST_ODDS)) - (units / units.max())[:, None] * SLOPE
    powers = np.zeros(len(rooms))
    for _ in range(NEWTON):  # the sum falls ever more slowly, so the steps never go too far
        served = wanted * np.exp(powers * logs)
        over = served.sum(axis=0) - rooms
        if (over <= EXACT * rooms + 1e-9).all():
            break
        powers += np.maximum(over, 0.0) / np.maximum(-(served * logs).sum(axis=0), 1e-300)
    return np.asarray(np.exp(powers * logs))
