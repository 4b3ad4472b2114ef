"""The axes of a figure of plotly's, laid out for a picture: where values lie, and what stands beside them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import ceil, floor, log10
from typing import Any, Final

import numpy as np

from keyheat.analysis.report.bins import Floats
from keyheat.pages.charts.figures import epoch

WIDTH: Final = 720
RIGHT: Final = 14
TOP: Final = 26
BOTTOM: Final = 24
SIGN: Final = 6.6  # the width of a letter of 12 px
TICKS_S: Final = (
    1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200, 86_400,
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """From values to pixels: `first` and `last` lie at the ends of its line."""

    first: float
    last: float
    at_first: float
    at_last: float
    log: bool = False

    def at(self, value: float) -> float:
        shown = log10(value) if self.log else value
        part = (shown - self.first) / ((self.last - self.first) or 1.0)
        return round(self.at_first + part * (self.at_last - self.at_first), 1)


class Axes:
    """The axes of one figure, in pixels of its picture, which is `height` high."""

    def __init__(self, traces: Sequence[Any], layout: Any, height: int) -> None:
        self._traces, self._layout = traces, layout
        self.timed = layout["xaxis"].get("type") == "date"
        names = [name for name in ("yaxis", "yaxis2") if name in layout]
        ranges = {name: self._range(name) for name in names}
        self.ticks = {name: self._ticks(name, *ranges[name]) for name in names}
        words = [len(line) for name in names for _, text in self.ticks[name] for line in text.split("<br>")]
        self.left = 10 + SIGN * max(words, default=0)
        self.top = TOP if layout.get("annotations") else 6
        self.bottom = height - BOTTOM - (18 if "title" in layout["xaxis"] else 0)
        first, last = self._times() if self.timed else self._range("xaxis")
        self.x = Axis(first=first, last=last, at_first=self.left, at_last=WIDTH - RIGHT)
        self.y = {name: self._upright(name, *ranges[name]) for name in names}

    def ticks_below(self) -> Sequence[tuple[float, str]]:
        """The values that are named along the lower edge, and their names."""
        return list(self._time_ticks()) if self.timed else self._ticks("xaxis", self.x.first, self.x.last)

    def _times(self) -> tuple[float, float]:
        first, last = self._layout["xaxis"]["range"]
        return epoch(first), epoch(last)

    def _range(self, name: str) -> tuple[float, float]:
        """As it is given, else around all that is drawn along it; of a logarithmic axis, its powers."""
        axis = self._layout[name]
        if axis.get("range") is not None:
            return float(axis["range"][0]), float(axis["range"][1])
        known = self._along(name)
        low, high = float(known.min(initial=np.inf)), float(known.max(initial=-np.inf))
        if low > high:
            return 0.0, 1.0
        if axis.get("type") == "log":
            return floor(log10(low) * 4) / 4, log10(high) + 0.05
        if axis.get("autorange") == "reversed":
            return high + 0.5, low - 0.5
        return min(0.0, low), (high * 1.06 or 1.0)

    def _along(self, name: str) -> Floats:
        which = "x" if name == "xaxis" else "y"
        stacked: dict[str, Floats] = {}
        found = [np.empty(0)]
        for trace in self._traces:
            if which == "y" and axis_of(trace) != name:
                continue
            values = floats(trace[which])
            if trace.get("stackgroup") or self._layout.get("barmode") == "stack":
                values = np.nan_to_num(values) + stacked.get(name, 0.0)
                stacked[name] = values
            found.append(values)
        every = np.concatenate(found)
        every = every[np.isfinite(every)]
        return every[every > 0] if self._layout[name].get("type") == "log" else every

    def _upright(self, name: str, first: float, last: float) -> Axis:
        low, high = self._layout[name].get("domain") or (0.0, 1.0)
        tall = self.bottom - self.top
        is_log = self._layout[name].get("type") == "log"
        return Axis(
            first=first, last=last, at_first=self.bottom - low * tall, at_last=self.bottom - high * tall,
            log=is_log,
        )  # fmt: skip

    def _ticks(self, name: str, first: float, last: float) -> list[tuple[float, str]]:
        axis = self._layout[name]
        if axis.get("visible") is False:
            return []
        if axis.get("tickvals") is not None:
            pairs = zip(axis["tickvals"], axis["ticktext"], strict=True)
            return [(float(value), str(text)) for value, text in pairs]
        low, high = min(first, last), max(first, last)
        if axis.get("type") == "log":
            every = [
                10.0**power * digit for power in range(floor(low), ceil(high) + 1) for digit in (1, 2, 5)
            ]
            return [(value, f"{value:,.4g}") for value in every if low <= log10(value) <= high]
        step = _round_step((high - low) / (axis.get("nticks") or 6))
        count = floor(high / step + 1e-9) - ceil(low / step - 1e-9) + 1
        values = [round((ceil(low / step - 1e-9) + place) * step, 9) for place in range(count)]
        return [(value, f"{value:,.10g}") for value in values]

    def _time_ticks(self) -> Iterator[tuple[float, str]]:
        first, last = self.x.first, self.x.last
        step: float = next((each for each in TICKS_S if (last - first) / each <= 7), 86_400)
        form = "%H:%M:%S" if last - first < 600 else "%H:%M" if step < 86_400 else "%m-%d"
        at = float(ceil(first / step) * step)
        while at <= last:
            yield at, datetime.fromtimestamp(at, UTC).strftime(form)
            at += step


def axis_of(trace: Any) -> str:
    """The upright axis of a trace, as a layout names it."""
    return f"yaxis{(trace.get('yaxis') or 'y')[1:]}"


def floats(values: Any) -> Floats:
    """Numbers of a figure; NaN where there is none."""
    return np.array([np.nan if value is None else value for value in values], np.float64)


def _round_step(least: float) -> float:
    """The first of 1, 2 and 5 times a power of ten that is no smaller."""
    power: float = 10.0 ** floor(log10(least or 1.0))
    return next(digit * power for digit in (1, 2, 5, 10) if digit * power >= least * 0.999)
