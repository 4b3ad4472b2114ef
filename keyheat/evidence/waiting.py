"""Waiting for CloudWatch to publish: a countdown that is seen, on a clock that is given."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

Clock = Callable[[], float]
Sleep = Callable[[float], None]
Progress = Callable[[str, float], None]
"""Told what is waited for, and how many seconds are left at most."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How often to look whether the minutes are published, and for how long after the last one closed."""

    poll_s: float
    limit_s: float


LOCAL: Final = Pace(poll_s=1, limit_s=20)
# AWS publishes no figure for the delay; minutes usually follow within two or three, those of an index later.
CLOUD: Final = Pace(poll_s=15, limit_s=600)


def silent(_what: str, _left_s: float) -> None:
    """A progress that tells nobody."""


def countdown(
    until_s: float,
    what: str,
    *,
    clock: Clock,
    sleep: Sleep,
    progress: Progress,
    limit_s: float | None = None,
) -> None:
    """Sleep until `until_s` (epoch seconds) in steps of a second, telling what is left before each.

    What is left is counted to `limit_s`, where what is waited for may take longer than this sleep.
    """
    last_s = until_s if limit_s is None else limit_s
    while (left_s := until_s - (now_s := clock())) > 0:
        progress(what, last_s - now_s)
        sleep(min(1.0, left_s))
