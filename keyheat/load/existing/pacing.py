"""Units per second at most: what was consumed is paid for in time before the next request."""

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from time import monotonic, sleep


@dataclass(slots=True, kw_only=True)
class UnitPace:
    """Keeps several threads together below a rate; None: there is none.

    What a request consumes is known when it is answered, so it is the next ones that wait.
    """

    units_per_s: float | None
    clock: Callable[[], float] = monotonic
    sleep: Callable[[float], None] = sleep
    _paid_s: float = 0.0  # when everything that was consumed so far is paid for
    _lock: Lock = field(default_factory=Lock)

    def wait(self) -> None:
        """Wait until what was consumed is paid for."""
        left_s = self._paid_s - self.clock()
        if left_s > 0:
            self.sleep(left_s)

    def pay(self, units: float) -> None:
        """A request has consumed so much."""
        if self.units_per_s is None:
            return
        with self._lock:
            self._paid_s = max(self._paid_s, self.clock()) + units / self.units_per_s
