"""Which partition keys are hot: a sketch over the run, and the hottest keys of every few seconds.

The sketch (frequent items, after Misra and Gries) holds a few thousand keys however many there are, merges,
and is off by at most a thousandth of all units. A window is exact while open and keeps its hottest keys when
it closes.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from heapq import nsmallest
from typing import Any, Literal

from keyheat.heavyhitters import HeavyHitters
from keyheat.scenario.keys import digest_of

WINDOW_S = 5
WINDOWS_KEPT = 720  # an hour of windows; a longer run gets longer ones
WINDOW_KEPT = 60  # keys kept of a closed window, three times what is shown, for merging with other workers
SETTLED_S = 60  # how far a window lies back of which no worker sends anything more

Count = Literal["units", "throttles", "consumed"]
Heat = list[float]  # [units asked for, throttles, units consumed] of one key in one window


@dataclass(slots=True)
class Sketch:
    """Units and throttles per key over a whole run, in bounded memory."""

    units: HeavyHitters[str] = field(default_factory=HeavyHitters)
    throttles: HeavyHitters[str] = field(default_factory=HeavyHitters)
    consumed: HeavyHitters[str] = field(default_factory=HeavyHitters)

    def add(self, name: str, heat: Heat) -> None:
        """Add what one key asked for, and what became of it."""
        for counts, weight in zip(self._all(), heat, strict=True):
            if weight:
                counts.add(name, weight)

    def merge(self, other: "Sketch") -> None:
        for counts, more in zip(self._all(), other._all(), strict=True):
            counts.merge(more)

    def to_wire(self) -> list[tuple[dict[str, float], float, float]]:
        return [(counts.weights, counts.taken, counts.total) for counts in self._all()]

    @classmethod
    def from_wire(cls, wire: list[tuple[dict[str, float], float, float]]) -> "Sketch":
        return cls(*(HeavyHitters(*counts) for counts in wire))

    def _all(self) -> tuple[HeavyHitters[str], ...]:
        return self.units, self.throttles, self.consumed

    def top(self, k: int, by: Count = "units") -> list[tuple[str, Heat]]:
        """The `k` keys that have most of something, most first; throttled attempts asked for units, too."""
        most: HeavyHitters[str] = getattr(self, by)
        return [(name, [counts.weight(name) for counts in self._all()]) for name in most.top(k)]


@dataclass(slots=True)
class KeyHeat:
    """The heat of keys in one direction. Names are digests unless `show_keys`.

    `open` counts by the key itself, exactly; `close_windows` names the keys and moves them into the sketch.
    """

    show_keys: bool = False
    sketch: Sketch = field(default_factory=Sketch)
    windows: dict[int, dict[str, Heat]] = field(default_factory=dict)  # by start second
    open: dict[int, dict[str, Heat]] = field(default_factory=dict)
    window_s: int = WINDOW_S  # length of a closed window
    _closing: dict[int, dict[str, Heat]] = field(default_factory=dict)  # named so far, of windows in `open`

    def add(self, key: str, second: int, units: float, throttled: bool) -> None:
        """Count one attempt that asked for `units`."""
        window = self.open.get(second - second % WINDOW_S)
        if window is None:
            window = self.open[second - second % WINDOW_S] = {}
        heat = window.get(key)
        if heat is None:
            window[key] = [units, throttled, 0.0 if throttled else units]
        else:
            heat[0] += units
            heat[1] += throttled
            if not throttled:
                heat[2] += units

    def close_windows(self, before_s: float) -> Iterator[None]:
        """Move the windows that ended before `before_s` into the sketch, yielding after each key.

        It is a generator so that the caller can let requests through in between. If it is left halfway, the
        next call goes on where this one stopped.
        """
        for start in [start for start in self.open if start + WINDOW_S <= before_s]:
            window, named = self.open[start], self._closing.setdefault(start, {})
            while window:
                key, heat = window.popitem()
                name = key if self.show_keys else digest_of(key)
                self.sketch.add(name, heat)
                _add_all(named, [(name, heat)])
                yield
            del self.open[start], self._closing[start]
            self._keep(self.windows, start, hottest(named, WINDOW_KEPT))
            if len(self.windows) > WINDOWS_KEPT:
                self._coarsen(2 * self.window_s)

    def _keep(
        self, windows: dict[int, dict[str, Heat]], start: int, heats: Iterable[tuple[str, Heat]]
    ) -> None:
        _add_all(windows.setdefault(start - start % self.window_s, {}), heats)

    def _coarsen(self, window_s: int) -> None:
        """Make windows longer, so that a run of days keeps no more of them than one of an hour."""
        self.window_s = window_s
        longer: dict[int, dict[str, Heat]] = {}
        for start, named in self.windows.items():
            self._keep(longer, start, named.items())
        self.windows = {start: dict(hottest(named, WINDOW_KEPT)) for start, named in longer.items()}

    def merge(self, other: "KeyHeat") -> None:
        """Add all that another one holds; what it kept of a window stays until the window has settled."""
        self.sketch.merge(other.sketch)
        if self.window_s < other.window_s:
            self._coarsen(other.window_s)
        for start, heats in other.windows.items():
            self._keep(self.windows, start, heats.items())
            self._settle(start)
        for start, heats in other.open.items():
            _add_all(self.open.setdefault(start, {}), heats.items())

    def _settle(self, newest: int) -> None:
        """Drop what many workers kept of a window beyond what one process keeps."""
        start = newest - newest % self.window_s
        start -= max(self.window_s, SETTLED_S - SETTLED_S % self.window_s)
        named = self.windows.get(start)
        if named is not None and len(named) > WINDOW_KEPT:
            self.windows[start] = dict(hottest(named, WINDOW_KEPT))

    def to_wire(self) -> dict[str, Any]:
        """The closed windows and the sketch as plain values, as they travel from a worker to the master."""
        return {
            "sketch": self.sketch.to_wire(),
            "windows": self.windows,
            "window_s": self.window_s,
        }

    @classmethod
    def from_wire(cls, wire: dict[str, Any]) -> "KeyHeat":
        sketch = Sketch.from_wire(wire["sketch"])
        return cls(sketch=sketch, windows=wire["windows"], window_s=wire["window_s"])


def hottest(named: dict[str, Heat], k: int) -> list[tuple[str, Heat]]:
    """The `k` keys of a window that asked for most, hottest first."""
    return nsmallest(k, named.items(), key=lambda item: (-item[1][0], item[0]))


def _add_all(window: dict[str, Heat], heats: Iterable[tuple[str, Heat]]) -> None:
    for name, heat in heats:
        kept = window.setdefault(name, [0.0, 0, 0.0])
        for column, amount in enumerate(heat):
            kept[column] += amount
