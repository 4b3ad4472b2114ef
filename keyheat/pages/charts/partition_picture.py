"""Partitions at one moment, as a picture: each as wide as its keys, as high as what it serves.

           ░░░░░              throttled: on top of what is served, in a scale of its own
     ─ ─ ─ ▓▓▓▓▓ ─ ┊ ─ ─ ─    the ceiling of one partition; where one has split, a cut
     ▂▂▂▂▂ ▓▓▓▓▓ ▂▂┊▂▂▂▂▂▂
    0 %                 100 % of all hashes of keys

The still of the worst moment is drawn here, so that a page has it without a script and on paper. Every other
moment is drawn by reports/templates/partitions.js in the same way, from the sheet of the chart. Widths are in
per cent and heights in pixels, so that it fits any width and stripes stay stripes.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from markupsafe import Markup

from keyheat.analysis.report.bins import Floats
from keyheat.numbers import UNITS, exact_percent, measured, some
from keyheat.pages.charts.partition_rates import PartitionRates, refused_column, units_column
from keyheat.words import Direction

TOP_PX, REFUSED_PX, SERVED_PX, KEYS_PX, NAMES_PX, STRIP_PX = 18, 56, 136, 8, 18, 44
MOST_BARS: Final = 128
"""Partitions drawn at a moment: of more, those that are asked for the most."""
MOST_COLUMNS: Final = 240
NAMED_SHARE: Final = 0.045  # of the width: there a partition's number has room
FRESH_PART: Final = 0.05  # of the run, for which a cut is said to be one
HOT, WARM = 0.9, 0.4  # of the ceiling


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A partition and its keys: hashes from `from_share` up to `to_share` of all."""

    number: int
    parent: int | None
    from_share: float
    to_share: float
    since_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """The still of one moment with its words, and what the script needs for the others."""

    still: Markup
    strip: Markup
    said: str
    value_said: str
    step: int
    steps: int
    known: Mapping[str, Any]
    height_px: int
    strip_px: int = STRIP_PX

    @property
    def needle(self) -> str:
        """Where the moment is in the strip."""
        return _share((self.step + 0.5) / self.steps)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Recorded:
    """What the partitions of a resource did in a run, all steps of it."""

    ones: Sequence[PartitionRates]
    direction: Direction
    ceiling_per_s: float
    start_s: float
    step_s: float

    @property
    def unit(self) -> str:
        """What is served: `WCU` or `RCU`."""
        return UNITS[self.direction]

    @property
    def steps(self) -> int:
        """How many steps the run has."""
        return len(self.ones[0].units_per_s)


def placed(ones: Sequence[PartitionRates]) -> dict[int, Placed]:
    """Partitions with their keys: up to where the next sibling begins, the last up to its parent's end."""
    siblings: dict[int | None, list[PartitionRates]] = {}
    for one in sorted(ones, key=lambda one: (one.from_share, one.number)):
        siblings.setdefault(one.parent, []).append(one)
    ends: dict[int, float] = {}

    def end(parent: int | None, until: float) -> None:
        mine = siblings.get(parent, [])
        for one, share in zip(mine, [*(after.from_share for after in mine[1:]), until], strict=False):
            ends[one.number] = share
            end(one.number, share)

    end(None, 1.0)
    return {
        one.number: Placed(
            number=one.number, parent=one.parent, from_share=one.from_share,
            to_share=ends[one.number], since_s=one.since_s,
        )
        for one in ones
        if one.number in ends
    }  # fmt: skip


def picture_of(recorded: Recorded, say: Callable[[float], str], picture_id: str) -> Picture | None:
    """The picture of a run at its worst moment: with the most throttles, else the hottest partition.

    None where no partition is known then. `say` tells a moment (epoch seconds).
    """
    places = placed(recorded.ones)
    units, refused = _drawn(recorded.ones, places)
    hottest, lost = np.nan_to_num(units).max(axis=0), np.nansum(refused, axis=0)
    step = int(np.argmax(lost if lost.any() else hottest))
    moment = _moment(recorded, places, units[:, step], refused[:, step], step)
    if not moment.bars:
        return None
    scale = _Scale(
        highest_per_s=max(float(hottest.max()), recorded.ceiling_per_s),
        most_refused=float(np.nan_to_num(refused).max()),
        ceiling_per_s=recorded.ceiling_per_s,
    )
    return Picture(
        still=_still(moment, scale, picture_id),
        strip=_strip(hottest, lost, recorded, _cuts(places, recorded)),
        said=_said(moment, recorded, say),
        value_said=_value_said(moment, recorded),
        step=step,
        steps=recorded.steps,
        height_px=scale.base_px + KEYS_PX + NAMES_PX,
        known=_known(recorded, places, scale, moment.at_s),
    )


def _known(
    recorded: Recorded, places: Mapping[int, Placed], scale: "_Scale", worst_s: float
) -> dict[str, Any]:
    """What the script draws with, beside the sheet; its columns are said of partition 0."""
    return {
        "unit": recorded.unit,
        "base_px": scale.base_px,
        "highest": scale.highest_per_s,
        "refused": scale.most_refused,
        "ceiling": scale.ceiling_per_s,
        "worst_s": worst_s,
        "columns": [column(0, recorded.direction) for column in (units_column, refused_column)],
        "partitions": [
            [one.number, round(one.from_share, 6), round(one.to_share, 6), one.parent, one.since_s]
            for one in places.values()
        ],
    }


def _drawn(ones: Sequence[PartitionRates], places: Mapping[int, Placed]) -> tuple[Floats, Floats]:
    """Rates by partition and step, NaN where it is not there, or has split in that step."""
    units = np.array([one.units_per_s for one in ones])
    refused = np.array([one.refused_per_s for one in ones])
    for place in places.values():
        if place.parent is not None:
            there = np.isfinite(ones[place.number].units_per_s)
            units[place.parent, there] = refused[place.parent, there] = np.nan
    return units, refused


@dataclass(frozen=True, slots=True)
class _Bar:
    """A partition at a moment."""

    place: Placed
    units_per_s: float
    refused_per_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Moment:
    """The partitions that there are at a moment, and the splits up to it."""

    at_s: float
    elapsed_s: float
    bars: list[_Bar]
    cuts: list[tuple[Placed, bool]]  # the partition that begins at the cut; whether that is new
    split: list[Placed]  # those that came to be in this very step

    @property
    def hottest(self) -> _Bar:
        return max(self.bars, key=lambda bar: (bar.units_per_s + bar.refused_per_s, -bar.place.number))


def _moment(
    recorded: Recorded, places: Mapping[int, Placed], units: Floats, refused: Floats, step: int
) -> _Moment:
    at_s = recorded.start_s + step * recorded.step_s
    past_s = at_s + recorded.step_s
    fresh_s = max(recorded.step_s, FRESH_PART * recorded.steps * recorded.step_s)
    return _Moment(
        at_s=at_s,
        elapsed_s=at_s - recorded.start_s,
        bars=[
            _Bar(place, float(units[place.number]), float(refused[place.number]))
            for place in places.values()
            if np.isfinite(units[place.number])
        ],
        cuts=[
            (one, past_s - one.since_s <= fresh_s) for one in _cuts(places, recorded) if one.since_s < past_s
        ],
        split=[one for one in places.values() if one.parent is not None and at_s <= one.since_s < past_s],
    )


def _cuts(places: Mapping[int, Placed], recorded: Recorded) -> list[Placed]:
    """Partitions that begin where one was cut during the run."""
    return [
        one
        for one in places.values()
        if one.parent is not None
        and one.from_share > places[one.parent].from_share
        and one.since_s >= recorded.start_s
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scale:
    """What the heights stand for."""

    highest_per_s: float
    most_refused: float
    ceiling_per_s: float

    @property
    def base_px(self) -> int:
        """Where bars stand, from above; nothing is kept free for throttles where there are none."""
        return TOP_PX + (REFUSED_PX if self.most_refused else 0) + SERVED_PX

    def served_px(self, units_per_s: float) -> float:
        return SERVED_PX * units_per_s / self.highest_per_s

    def refused_px(self, refused_per_s: float) -> float:
        return REFUSED_PX * refused_per_s / self.most_refused if refused_per_s > 0 else 0.0

    def heat(self, units_per_s: float) -> str:
        share = units_per_s / self.ceiling_per_s
        return "hot" if share >= HOT else "warm" if share >= WARM else "mild"


def _still(moment: _Moment, scale: _Scale, picture_id: str) -> Markup:
    ceiling_px = scale.base_px - scale.served_px(scale.ceiling_per_s)
    busiest = sorted(moment.bars, key=lambda bar: -(bar.units_per_s + bar.refused_per_s))[:MOST_BARS]
    parts = [
        f'<defs><pattern id="{picture_id}-stripes" width="6" height="6" patternUnits="userSpaceOnUse"'
        ' patternTransform="rotate(45)"><rect class="stripe" width="4" height="6"/></pattern></defs>',
        '<g class="moment">',
        *(_bar(bar, scale, picture_id) for bar in sorted(busiest, key=lambda bar: bar.place.from_share)),
        *(_cut(one.from_share, scale.base_px, fresh) for one, fresh in moment.cuts),
        "</g>",
        f'<line class="ceiling" x1="0" x2="100%" y1="{_px(ceiling_px)}" y2="{_px(ceiling_px)}"/>',
    ]
    return Markup("".join(parts))


def _bar(bar: _Bar, scale: _Scale, picture_id: str) -> str:
    place, base_px = bar.place, scale.base_px
    served_px, refused_px = scale.served_px(bar.units_per_s), scale.refused_px(bar.refused_per_s)
    width = place.to_share - place.from_share
    across = f'x="{_share(place.from_share)}" width="{_share(width)}"'
    parts = [
        f'<rect class="keys" {across} y="{base_px}" height="{KEYS_PX}"/>',
        f'<rect class="served {scale.heat(bar.units_per_s)}" {across}'
        f' y="{_px(base_px - served_px)}" height="{_px(served_px)}"/>',
    ]
    if refused_px:
        parts.append(
            f'<rect class="refused" {across} y="{_px(base_px - served_px - refused_px)}"'
            f' height="{_px(refused_px)}" fill="url(#{picture_id}-stripes)"/>'
        )
    if width >= NAMED_SHARE:
        middle, line_px = _share(place.from_share + width / 2), base_px + KEYS_PX + NAMES_PX - 4
        parts.append(f'<text x="{middle}" y="{line_px}">{place.number}</text>')
    return f'<g data-partition="{place.number}">{"".join(parts)}</g>'


def _cut(share: float, base_px: int, fresh: bool) -> str:
    at = _share(share)
    line = f'<line x1="{at}" x2="{at}" y1="{TOP_PX}" y2="{base_px + KEYS_PX}"/>'
    word = f'<text x="{at}" y="{TOP_PX - 6}">split</text>' if fresh else ""
    return f'<g class="{"cut fresh" if fresh else "cut"}">{line}{word}</g>'


def _strip(hottest: Floats, lost: Floats, recorded: Recorded, cuts: Iterable[Placed]) -> Markup:
    """The whole run: what its hottest partition serves, below all throttles; a tick where one has split."""
    each = -(-recorded.steps // MOST_COLUMNS)
    served, refused = _most_of(hottest, each), _most_of(lost, each)
    highest, most = max(float(served.max()), recorded.ceiling_per_s), max(float(refused.max()), 1e-9)
    length_s = recorded.steps * recorded.step_s
    moments = sorted({(one.since_s - recorded.start_s) / length_s for one in cuts})
    split = Markup('<line class="split" x1="{0}" x2="{0}" y1="0" y2="100%"/>')
    return Markup("").join(
        [
            _columns("served", served / highest * 60, 100, recorded.steps / each),
            _columns("refused", refused / most * 36, 38, recorded.steps / each),
            *(split.format(_share(at)) for at in moments),
        ]
    )


def _columns(name: str, heights: Floats, base: int, across: float) -> Markup:
    """Steps of some heights over a base, `across` of them in the width, as one path."""
    path = "".join(f"V{base - height:.3g}H{place + 1}" for place, height in enumerate(heights.tolist()))
    box = '<svg x="0" y="0" width="100%" height="100%" viewBox="0 0 {} 100" preserveAspectRatio="none">'
    shape = '<path class="{}" d="M0 {}{}V{}Z"/></svg>'
    return Markup(box).format(f"{across:.6g}") + Markup(shape).format(name, base, path, base)


def _most_of(values: Floats, each: int) -> Floats:
    """The highest of every `each` values, so that no bad second is hidden by its neighbours."""
    padded = np.zeros(-(-len(values) // each) * each)
    padded[: len(values)] = values
    return np.asarray(padded.reshape(-1, each).max(axis=1), np.float64)


def _said(moment: _Moment, recorded: Recorded, say: Callable[[float], str]) -> str:
    """What is seen at a moment, as a sentence or three."""
    bar, when = moment.hottest, f"{_elapsed(moment)}, at {say(moment.at_s)} UTC"
    keys = f"{exact_percent(bar.place.from_share)} to {exact_percent(bar.place.to_share)} of all hashes"
    said = [f"{when}: the hottest is partition {bar.place.number} ({keys}), {_value(bar, recorded)}."]
    if len(moment.bars) > 1:
        units, refused = sum(b.units_per_s for b in moment.bars), sum(b.refused_per_s for b in moment.bars)
        said.append(
            f"All {some(len(moment.bars), 'partition')} together: "
            f"{measured(units)} {recorded.unit}/s, {_throttled(refused)}."
        )
    for parent in sorted({one.parent for one in moment.split if one.parent is not None}):
        into = " and ".join(str(one.number) for one in moment.split if one.parent == parent)
        said.append(f"Partition {parent} has just split into {into}.")
    return " ".join(said)


def _value_said(moment: _Moment, recorded: Recorded) -> str:
    return f"{_elapsed(moment)}: hottest partition {_value(moment.hottest, recorded)}"


def _elapsed(moment: _Moment) -> str:
    return f"{round(moment.elapsed_s):,} s"


def _value(bar: _Bar, recorded: Recorded) -> str:
    served, ceiling = measured(bar.units_per_s), measured(recorded.ceiling_per_s)
    return f"{served} of {ceiling} {recorded.unit}/s, {_throttled(bar.refused_per_s)}"


def _throttled(refused_per_s: float) -> str:
    return f"{measured(refused_per_s)} throttled/s" if refused_per_s > 0 else "none throttled"


def _share(share: float) -> str:
    return f"{_px(100 * share)}%"


def _px(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
