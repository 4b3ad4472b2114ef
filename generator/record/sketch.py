"""Which partition keys are hot: a sketch over the run, and the hottest keys of every few seconds.

The sketch (DataSketches' frequent items) holds a few thousand keys however many there are, merges, and is off
by at most a thousandth of all units. A window is exact while open and keeps its hottest keys when it closes.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from datasketches import frequent_items_error_type, frequent_strings_sketch

SKETCH_LG_SIZE = 12  # 3,072 keys; error at most 3.5 / 4,096 of the total weight
WINDOW_S = 5
WINDOWS_KEPT = 720  # an hour of windows; a longer run gets longer ones
WINDOW_KEPT = 60  # keys kept of a closed window, three times what is shown, for merging with other workers
PER_UNIT = 2  # weights are whole numbers, units come in halves

Heat = list[float]  # [units asked for, throttles] of one key in one window


def digest_number(key: str) -> int:
    """The first 64 bits of the key's SHA-256."""
    return int.from_bytes(sha256(key.encode()).digest()[:8], "big")


def digest_of(key: str) -> str:
    """How a key is named in files that do not show keys."""
    return f"sha256:{digest_number(key):016x}"


@dataclass(slots=True)
class Sketch:
    """Units and throttles per key over a whole run, in bounded memory."""

    units: frequent_strings_sketch = field(default_factory=lambda: frequent_strings_sketch(SKETCH_LG_SIZE))
    throttles: frequent_strings_sketch = field(
        default_factory=lambda: frequent_strings_sketch(SKETCH_LG_SIZE)
    )

    def add(self, name: str, heat: Heat) -> None:
        """Add what one key asked for."""
        self.units.update(name, int(heat[0] * PER_UNIT))
        if heat[1]:
            self.throttles.update(name, int(heat[1]))

    def merge(self, other: "Sketch") -> None:
        """Add all that another one holds."""
        self.units.merge(other.units)
        self.throttles.merge(other.throttles)

    @property
    def total_units(self) -> float:
        return float(self.units.total_weight) / PER_UNIT

    def top(self, k: int) -> list[tuple[str, float, int]]:
        """The `k` hottest keys: name, units, throttles."""
        found = self.units.get_frequent_items(frequent_items_error_type.NO_FALSE_NEGATIVES)
        hottest = sorted(found, key=lambda item: (-item[1], item[0]))[:k]
        return [(name, units / PER_UNIT, self.throttles.get_estimate(name)) for name, units, *_ in hottest]


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
            window[key] = [units, throttled]
        else:
            heat[0] += units
            heat[1] += throttled

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
        """Add all that another one holds; nothing that it kept is dropped."""
        self.sketch.merge(other.sketch)
        if self.window_s < other.window_s:
            self._coarsen(other.window_s)
        for start, heats in other.windows.items():
            self._keep(self.windows, start, heats.items())
        for start, heats in other.open.items():
            _add_all(self.open.setdefault(start, {}), heats.items())

    def to_wire(self) -> dict[str, Any]:
        """The closed windows and the sketch as plain values, as they travel from a worker to the master."""
        return {
            "units": self.sketch.units.serialize(),
            "throttles": self.sketch.throttles.serialize(),
            "windows": self.windows,
            "window_s": self.window_s,
        }

    @classmethod
    def from_wire(cls, wire: dict[str, Any]) -> "KeyHeat":
        """What `to_wire` made."""
        units = frequent_strings_sketch.deserialize(wire["units"])
        throttles = frequent_strings_sketch.deserialize(wire["throttles"])
        return cls(sketch=Sketch(units, throttles), windows=wire["windows"], window_s=wire["window_s"])


def hottest(named: dict[str, Heat], k: int) -> list[tuple[str, Heat]]:
    """The `k` keys of a window that asked for most, hottest first."""
    return sorted(named.items(), key=lambda item: (-item[1][0], item[0]))[:k]


def _add_all(window: dict[str, Heat], heats: Iterable[tuple[str, Heat]]) -> None:
    for name, heat in heats:
        kept = window.setdefault(name, [0.0, 0])
        kept[0] += heat[0]
        kept[1] += heat[1]
