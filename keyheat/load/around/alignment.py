"""A load begins with a minute, for CloudWatch counts by the minute: none of its minutes is loaded in part.

12:00:00        12:00:37   12:01:00
|               |----------|=====================>     -: waited, =: loaded
"""

from collections.abc import Callable
from typing import Final

from keyheat.model.limits import MINUTE_S

AFTER_S: Final = 0.3
"""How long after the minute the load begins: the service's clock is known to a few tenths of a second."""
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
