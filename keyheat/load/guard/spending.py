"""One budget for all runs of a process: whoever starts a load from a page can start the next one, too."""

from dataclasses import dataclass, field, replace

from keyheat.load.guard.budget import MINUTE_S, Caps
from keyheat.load.record.consumed import Consumed
from keyheat.runs.manifest import STOP_AMOUNTS, Stop


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What one run, or several together, have used up."""

    units: float = 0.0
    dollars: float = 0.0
    seconds: float = 0.0

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(
            units=self.units + other.units,
            dollars=self.dollars + other.dollars,
            seconds=self.seconds + other.seconds,
        )


@dataclass(slots=True)
class Spending:
    """What the runs of one process have used up of the budget that they share. `note` is its only mutator."""

    caps: Caps  # on all of them together
    _of: dict[str, Spent] = field(default_factory=dict)
    _ended_by: Stop | None = None  # the cap that ended a run: what is left of it is too little to go on

    def note(self, run_id: str, consumed: Consumed, elapsed_s: float, stopped: Stop | None = None) -> None:
        """What a run has used up by now; what was known of it before is replaced."""
        dollars = self.caps.spent_dollars(consumed, elapsed_s)
        self._of[run_id] = Spent(units=consumed.units, dollars=dollars, seconds=elapsed_s)
        if stopped is not None and stopped.rule in STOP_AMOUNTS:
            self._ended_by = stopped

    def left(self) -> Caps:
        """What the next run may use up."""
        caps, spent = self.caps, self._all()
        return replace(
            caps,
            units=None if caps.units is None else caps.units - spent.units,
            dollars=None if caps.dollars is None else caps.dollars - spent.dollars,
            seconds=None if caps.seconds is None else caps.seconds - spent.seconds,
        )

    def shown(self) -> str | None:
        """What is left for the next run, in words; None where there was no run before it, or is no cap."""
        left = self.left()
        parts = [
            *([f"{left.dollars:,.2f} dollars"] if left.dollars is not None else ()),
            *([f"{left.units:,.0f} units"] if left.units is not None else ()),
            *([f"{left.seconds / MINUTE_S:,.1f} minutes"] if left.seconds is not None else ()),
        ]
        if not self._of or not parts:
            return None
        return f"of the budget that all starts of one process share, {' and '.join(parts)} are left"

    def refusal(self) -> str | None:
        """Why no further run may start: the budget is spent. None while it is not."""
        stop = self._ended_by or (self.left().exceeded(Consumed(), 0.0) if self._of else None)
        if stop is None:
            return None
        caps, spent = self.caps, self._all()
        limit, seen = {
            "max_units": (caps.units, spent.units),
            "max_dollars": (caps.dollars, spent.dollars),
            "max_minutes": (caps.seconds and caps.seconds / MINUTE_S, spent.seconds / MINUTE_S),
        }[stop.rule]
        whole = replace(stop, limit=limit or 0.0, seen=seen)
        option = f"--{stop.rule.replace('_', '-')}"
        return (
            f"nothing was started: the budget that all starts of one process share is spent, {whole.amount}: "
            f"start Locust again for a new one, {option} says how large"
        )

    def _all(self) -> Spent:
        return sum(self._of.values(), start=Spent())
