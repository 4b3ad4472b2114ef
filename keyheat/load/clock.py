"""The clock of a run: the service's, by which CloudWatch counts minutes. A load begins with such a minute:

12:00:00        12:00:37   12:01:00
|               |----------|=====================>     -: waited, =: loaded
"""

from collections.abc import Callable
from time import monotonic, time
from typing import Final

from keyheat.model.limits import MINUTE_S


class SteadyClock:
    """The service's clock as of the start of a run, advanced by the monotonic clock, which is never set.

    It is `ahead_s` ahead of the wall clock of this machine. Only signatures take the wall clock's time.
    """

    def __init__(
        self,
        ahead_s: float = 0.0,
        wall: Callable[[], float] = time,
        monotonic: Callable[[], float] = monotonic,
    ) -> None:
        self.ahead_s, self._monotonic = ahead_s, monotonic
        self._apart_s = wall() + ahead_s - monotonic()

    def __call__(self) -> float:
        return self._apart_s + self._monotonic()


AFTER_S: Final = 0.7
"""How long after the minute the load begins: the service's clock is known to half a second and an answer."""
TOLD_EVERY_S: Final = 10


def align(
    *, clock: Callable[[], float], sleep: Callable[[float], None], tell: Callable[[float], None]
) -> None:
    """Sleep until the next minute begins.

    `tell` gets the seconds that are left, at once and then at every tenth.
    """
    until_s = -(-clock() // MINUTE_S) * MINUTE_S + AFTER_S
    next_told_s = float("inf")
    while (left_s := until_s - clock()) > 0:
        if round(left_s) <= next_told_s:
            tell(left_s)
            next_told_s = (round(left_s) - 1) // TOLD_EVERY_S * TOLD_EVERY_S or -1
        sleep(min(1.0, left_s))
