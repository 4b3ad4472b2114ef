"""The hottest keys of a run, and whether the heat stays on one key or moves on, as it does with a date."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from statistics import median_high
from typing import Final

from keyheat.runs.formats import HotKey
from keyheat.runs.manifest import Keys, KeyWindow
from keyheat.words import Direction

LEADS: Final = 0.5  # share of the units of a window's top keys from which its first key leads alone
# A key must lead this many windows in a row before the heat is said to have been on it.
HELD_WINDOWS: Final = 2


@dataclass(frozen=True, slots=True)
class Heat:
    """Where the demand of one direction went."""

    direction: Direction
    hottest: tuple[HotKey, ...]
    moved_over: tuple[str, ...]  # the keys that led one after the other, where there were several

    @property
    def moves(self) -> bool:
        """Whether one key after the other was the hot one."""
        return len(self.moved_over) > 1

    def unscaled(self, scale: float) -> "Heat":
        """The same heat for a table at scale 1."""
        keys = (key.model_copy(update={"units_per_s": key.units_per_s / scale}) for key in self.hottest)
        return replace(self, hottest=tuple(keys))

    def per_s(self) -> float | None:
        """What the hottest key asked for while it was hot, units/s; None without keys."""
        return max((key.units_per_s for key in self.hottest), default=None)


def heat(keys: Keys, direction: Direction, duration_s: float) -> Heat:
    """The hottest keys of one direction. `duration_s`: length of the run, for keys that no window lists."""
    windows = [window for window in keys.windows if window.direction == direction]
    rates = _rates_while_hot(windows)
    hottest = tuple(
        HotKey(
            key=use.key,
            shown=use.shown,
            share=use.share,
            throttles=use.throttles,
            direction=direction,
            units_per_s=rates.get(use.key, use.units / max(duration_s, 1.0)),
        )
        for use in keys.overall.get(direction, ())
    )
    return Heat(direction, hottest, _leaders(windows))


def _rates_while_hot(windows: Sequence[KeyWindow]) -> dict[str, float]:
    """Units/s of each key: the median window of those in which it did at least half of its own best."""
    rates: defaultdict[str, list[float]] = defaultdict(list)
    for window in windows:
        for top in window.top:
            rates[top.key].append(top.units / window.seconds)
    hot = {key: [rate for rate in found if rate >= max(found) / 2] for key, found in rates.items()}
    return {key: median_high(found) for key, found in hot.items()}


def _leaders(windows: Sequence[KeyWindow]) -> tuple[str, ...]:
    """The keys that led for a while, in order of time."""
    led = [_leader(window) for window in sorted(windows, key=lambda w: w.start)]
    held = [key for key, run in groupby(led) if key is not None and len(list(run)) >= HELD_WINDOWS]
    return tuple(dict.fromkeys(held))


def _leader(window: KeyWindow) -> str | None:
    total = sum(top.units for top in window.top)
    first = max(window.top, key=lambda top: top.units, default=None)
    return first.key if first is not None and total and first.units >= LEADS * total else None
