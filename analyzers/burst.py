"""How much burst a table or index can still have: unused capacity of the last five minutes.

The bank is taken to be full at the first known consumption, as a new or idle table's is, and each cell to be
refilled before it is spent, as when load begins. It is an estimate: burst is best effort.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/burst-adaptive-capacity.html

    bank after = min(300 s x provisioned, bank before + refill) - consumed, never below zero
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from analyzers.timeline import Steps
from tablemodel import limits


@dataclass(frozen=True, slots=True)
class Bank:
    """Units of burst in hand before and after a stretch of time, and the most there can be."""

    before: float
    after: float
    most: float

    def spent_before(self, share: float) -> bool:
        """Whether at most `share` of a full bank was left when the stretch began."""
        return self.before <= share * self.most

    def spent_after(self, share: float) -> bool:
        """Whether at most `share` of a full bank was left when the stretch ended."""
        return self.after <= share * self.most


def banks(used: Iterable[tuple[int, float]], provisioned: Steps, *, step_s: int) -> Mapping[int, Bank]:
    """The bank around each stretch of `step_s` seconds in `used` ((epoch second, units consumed), any order).

    A pause between two stretches refills. Stretches whose provisioned capacity is unknown have no bank.
    """
    found: dict[int, Bank] = {}
    held: float | None = None
    reached_s = 0
    for start_s, units in sorted(used):
        rate = provisioned.at(start_s)
        if rate is None:
            held = None
            continue
        most = rate * limits.BURST_S
        before = most if held is None else min(most, held + rate * max(0, start_s - reached_s))
        held = max(0.0, min(most, before + rate * step_s) - units)
        reached_s = start_s + step_s
        found[start_s] = Bank(before, held, most)
    return found
