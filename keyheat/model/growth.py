"""How an on-demand resource grows with its traffic, and its warm throughput: what it can serve at once.

An on-demand table serves up to twice its previous peak at once; a higher peak is followed, minutes later,
by partitions for twice that one. Until then DynamoDB refuses with key-range reasons. Warm throughput never
falls, not even when the billing mode changes. Sources:
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/on-demand-capacity-mode.html and
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/warm-throughput.html
"""

from dataclasses import dataclass, field
from math import inf
from random import Random

from keyheat.model import limits
from keyheat.model.behaviour import Behaviour
from keyheat.model.meter import Meter
from keyheat.model.resources import highest
from keyheat.words import Capacity


@dataclass(slots=True)
class Growth:
    """The warm throughput of one resource and the growth that is on its way; rates are before `scale`."""

    warm: Capacity
    behaviour: Behaviour
    rng: Random
    looked_s: float
    wanted: Capacity = field(default_factory=Capacity)
    due_s: float = inf

    def raise_to(self, warm: Capacity) -> None:
        """Raise the warm throughput; it never falls."""
        self.warm = highest(self.warm, warm)

    def due(self, meters: tuple[Meter, ...], scale: float, now_s: float) -> bool:
        """Look at the minutes closed since the last look; True when growth decided on earlier is complete."""
        first = int(self.looked_s // limits.MINUTE_S)
        past = int(now_s // limits.MINUTE_S)
        if past > first:
            self.looked_s = now_s
            wanted = Capacity(
                **{m.direction.value: _twice_peak(m, scale, range(first, past)) for m in meters}
            )
            self.wanted = highest(self.wanted, wanted)
            if self.due_s == inf and highest(self.warm, self.wanted) != self.warm:
                self.due_s = now_s + self.rng.uniform(*self.behaviour.growth_delay_s)
        if now_s < self.due_s:
            return False
        self.raise_to(self.wanted)
        self.due_s = inf
        return True


def _twice_peak(meter: Meter, scale: float, minutes: range) -> float:
    tallies = meter.consumed.tallies
    peak = max((tallies[minute].sum for minute in minutes if minute in tallies), default=0.0)
    return limits.ON_DEMAND_PEAK_FACTOR * peak / limits.MINUTE_S / scale
