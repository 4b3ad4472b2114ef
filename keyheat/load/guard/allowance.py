"""What one process may still use up of a run's budget: no request is sent for which nothing is left.

The watch looks at what has come back, now and then; before its first look a fast load may have consumed a
small budget many times over. So each request sets aside what it is taken to cost before it is sent, and
returns what it did not need. One process has the whole budget, each of several a share of it, and asks for
more before it stops.
"""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from keyheat.load.guard.budget import Caps
from keyheat.load.record.consumed import Consumed
from keyheat.words import DirectionName

ROUNDING = 1e-9


class Reservation(NamedTuple):
    """What is set aside for one request."""

    operation: str
    stated: float  # what the load test takes it to cost, as a share of the run's budget

    @property
    def free(self) -> bool:
        """Whether no cap is on units or dollars, and nothing is to be settled."""
        return self is FREE


FREE: Final = Reservation("", 0.0)
"""What is set aside where no cap is on units or dollars; nothing is settled for it."""


@dataclass(slots=True)
class _Costs:
    """Requests of one operation: what those in flight were stated to cost, and those that were answered."""

    in_flight: float = 0.0
    stated: float = 0.0
    spent: float = 0.0

    def taken(self, more: float) -> float:
        """What those in flight and one more are taken to cost, by what others did: a statement leaves out
        the entries of indexes, for one."""
        dearer = max(1.0, self.spent / self.stated) if self.stated else 1.0
        return dearer * (self.in_flight + more)


@dataclass(slots=True)
class Allowance:
    """The budget of one process during one run, as a share of the whole run's."""

    caps: Caps
    share: float = 1.0
    ask: Callable[[], bool] = lambda: False  # for more; whether there is some now
    _used: float = 0.0
    _costs: defaultdict[str, _Costs] = field(default_factory=lambda: defaultdict(_Costs))
    _of_unit: dict[str, float] = field(init=False)
    _unlimited: bool = field(init=False)

    def __post_init__(self) -> None:
        self._unlimited = self.caps.units is None and self.caps.dollars is None
        self._of_unit = {
            "write": self.caps.share_of(Consumed(write_units=1.0)),
            "read": self.caps.share_of(Consumed(read_units=1.0)),
        }

    def hold(self, operation: str, direction: DirectionName, units: float) -> Reservation | None:
        """Set aside what a request is taken to cost; None: the budget has no room for it."""
        if self._unlimited:
            return FREE
        stated = units * self._of_unit[direction]
        while not self._has_room(operation, stated):
            if not self.ask():
                return None
        self._costs[operation].in_flight += stated
        return Reservation(operation, stated)

    def settle(self, held: Reservation, spent: Consumed) -> None:
        """The request has come back, and has consumed so much."""
        share = spent.write_units * self._of_unit["write"] + spent.read_units * self._of_unit["read"]
        self._used += share
        costs = self._costs[held.operation]
        costs.in_flight -= held.stated
        if share:  # what was refused cost nothing, and says nothing of what others cost
            costs.stated += held.stated
            costs.spent += share

    def _has_room(self, operation: str, stated: float) -> bool:
        wanted = self._costs[operation]
        taken = sum(costs.taken(stated if costs is wanted else 0.0) for costs in self._costs.values())
        return self._used + taken <= self.share + ROUNDING
