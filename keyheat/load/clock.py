"""The clock of a run, which nobody sets, and the minute with which a load begins.

CloudWatch's minutes are of the service's clock, so that each is loaded as a whole or not at all:

    12:00:00        12:00:37   12:01:00
    |               |----------|=====================>     -: waited, =: loaded
"""

from collections.abc import Callable
from time import monotonic, time
from typing import Final

from keyheat.model.limits import MINUTE_S

NOTABLE_JUMP_S: Final = 1.0
"""Less is what two readings, or a clock that is slewed, differ by."""


class SteadyClock:
    """The wall clock as it was when the run began, moved on by the monotonic one: nobody sets it.

    Rates, durations and seconds of a run are of it. Signatures need the wall clock's, and take it.
    """

    def __init__(self, wall: Callable[[], float] = time, monotonic: Callable[[], float] = monotonic) -> None:
        self._wall, self._monotonic = wall, monotonic
        self._apart_s = wall() - monotonic()

    def __call__(self) -> float:
        return self._apart_s + self._monotonic()

    @property
    def jump_s(self) -> float:
        """By how much the wall clock is now ahead of where it would be; 0.0 where that is nothing."""
        ahead_s = self._wall() - self()
        return ahead_s if abs(ahead_s) >= NOTABLE_JUMP_S else 0.0


def jump_words(jump_s: float) -> str:
    """What a person should know of a wall clock that was set while a load was under way."""
    way = "forward" if jump_s > 0 else "back"
    return (
        f"the wall clock jumped {way} by {abs(jump_s):,.0f} s during the load: the run's rates and times are "
        "those of the clock as it was before, and may not fit what others measured"
    )


AFTER_S: Final = 0.7
"""How long after the minute the load begins: the service's clock is known to half a second and an answer."""
TOLD_EVERY_S: Final = 10


def align(
    ahead_s: float,
    *,
    clock: Callable[[], float],
    sleep: Callable[[float], None],
    tell: Callable[[float], None],
) -> None:
    """Sleep until a minute of the service's clock begins, which is `ahead_s` ahead of ours.

    `tell` gets the seconds that are left, at once and then at every tenth.
    """
    now_s = clock() + ahead_s
    until_s = -(-now_s // MINUTE_S) * MINUTE_S + AFTER_S
    next_told_s = float("inf")
    while (left_s := until_s - (clock() + ahead_s)) > 0:
        if round(left_s) <= next_told_s:
            tell(left_s)
            next_told_s = (round(left_s) - 1) // TOLD_EVERY_S * TOLD_EVERY_S or -1
        sleep(min(1.0, left_s))
