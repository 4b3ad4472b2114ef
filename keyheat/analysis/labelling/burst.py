"""How much burst a table or index had in hand: unused capacity of the last five minutes.

Nobody publishes it, so it is followed from both ends, stretch by stretch:

    likely   full to begin with; what is provisioned comes in, up to a full bucket; what is consumed goes out
    least    nothing to begin with; the same, and never less than what was later spent beyond what came in

Where there was some at least, the provisioned throughput cannot have been the limit. Burst is best effort.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/burst-adaptive-capacity.html
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from keyheat.evidence.settings import Steps
from keyheat.model import limits

OVERDRAWN: Final = 0.01  # of a full bucket: by so much an estimate may miss


@dataclass(frozen=True, slots=True)
class Extra:
    """Depth that a bucket has beyond 300 s of its rate: unpublished, as observed."""

    floor_units: float = 0.0  # the least depth of any table's bucket
    buffer_units: float = 0.0  # entries that may wait for an index

    def depth(self, rate: float) -> float:
        """Units that a full bucket holds, for a rate in units/s."""
        return max(rate * limits.BURST_S, self.floor_units) + self.buffer_units


NO_EXTRA = Extra()


@dataclass(frozen=True, slots=True)
class Bank:
    """Units of burst in hand before and after a stretch of time, at least and likely; a full bucket's."""

    least: float
    likely: float
    least_after: float
    likely_after: float
    depth: float
    rate: float  # at which it is refilled
    overdrawn: bool = False  # whether more was consumed than can have been there: the reading is wrong

    def spent_before(self, share: float) -> bool:
        """Whether likely at most `share` of a full bucket was left when the stretch began."""
        return self.likely <= share * self.depth

    def spent_after(self, share: float) -> bool:
        """Whether likely at most `share` of a full bucket was left when the stretch ended."""
        return self.likely_after <= share * self.depth


def banks(
    used: Iterable[tuple[int, float]], provisioned: Steps, *, step_s: int, extra: Extra = NO_EXTRA
) -> Mapping[int, Bank]:
    """The bank around each stretch of `step_s` seconds in `used` ((epoch second, units consumed), any order).

    A pause between two stretches refills. Stretches whose provisioned capacity is unknown have no bank.
    """
    ordered = sorted(used)
    rates = [provisioned.at(start_s) for start_s, _ in ordered]
    needed = _needed(ordered, rates, step_s=step_s, extra=extra)
    found: dict[int, Bank] = {}
    held: tuple[float, float] | None = None
    reached_s = 0
    for (start_s, units), rate, (need, need_after) in zip(ordered, rates, needed, strict=True):
        if rate is None:
            held = None
            continue
        depth = extra.depth(rate)
        least, likely = held or (0.0, depth)
        earned = rate * max(0, start_s - reached_s) if held else 0.0
        likely = min(depth, likely + earned)
        least = min(likely, max(need, least + earned))
        # Refilled first, so that a full bucket spills: load that begins within a stretch found it full.
        # Of a stretch longer than what is saved up, the last part counts: it is taken to be like the others.
        last_s = min(step_s, limits.BURST_S)
        likely_after = max(0.0, min(depth, likely + rate * last_s) - units * last_s / step_s)
        least_after = min(likely_after, max(need_after, min(depth, least + rate * step_s) - units))
        most = max(min(depth, likely + rate * step_s), rate * step_s)
        overdrawn = units > most + OVERDRAWN * max(depth, units)
        found[start_s] = Bank(least, likely, least_after, likely_after, depth, rate, overdrawn)
        held, reached_s = (least_after, likely_after), start_s + step_s
    return found


def _needed(
    ordered: Sequence[tuple[int, float]], rates: Sequence[float | None], *, step_s: int, extra: Extra
) -> list[tuple[float, float]]:
    """What must have been in hand before and after each stretch, by what was spent from then on."""
    found: list[tuple[float, float]] = []
    need, next_s = 0.0, 0
    for (start_s, units), rate in zip(reversed(ordered), reversed(rates), strict=True):
        if rate is None:
            need, after = 0.0, 0.0
        else:
            after = max(0.0, need - rate * max(0, next_s - start_s - step_s))
            need = min(extra.depth(rate), max(0.0, after + units - rate * step_s))
        found.append((need, after))
        next_s = start_s
    return found[::-1]
