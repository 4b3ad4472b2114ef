"""What the page's script needs to say the numbers of a chosen range: which columns it has to add up."""

from collections.abc import Sequence
from typing import Any

from keyheat.numbers import UNITS
from keyheat.pages.charts.figures import Chart, epoch
from keyheat.pages.run.record import Record
from keyheat.words import READ, WRITE


def whole_of(charts: Sequence[Chart], record: Record) -> tuple[float, float]:
    """The first and the last moment of a run: as the client recorded it, else as the charts show it."""
    recorded = record.range()
    if recorded is not None:
        return float(recorded[0]), float(recorded[1])
    timed = [chart.sheet for chart in charts if chart.sheet is not None and chart.sheet.step_s is not None]
    ends = [(sheet.start_s, sheet.end_s) for sheet in timed]
    ends = ends or [_drawn(chart) for chart in charts if _timed(chart)]
    return min((start for start, _ in ends), default=0.0), max((end for _, end in ends), default=0.0)


def numbers_of(charts: Sequence[Chart]) -> dict[str, Any]:
    """Requests, else units, accepted and throttled; and the columns of keys, with their names."""
    return {"counts": _counts(charts), "heat": [_heat(chart) for chart in charts if _is_of_keys(chart)]}


def _counts(charts: Sequence[Chart]) -> dict[str, Any] | None:
    for chart in charts:
        if chart.sheet is not None and chart.sheet.name == "generator":
            columns = [name for name in chart.sheet.columns if not name.startswith("error")]
            return {
                "sheet": chart.id,
                "name": "Accepted",
                "of_all": True,
                "accepted": [name for name in columns if name.startswith("accepted")],
                "throttled": [name for name in columns if name.startswith("throttled")],
            }
    for chart in charts:
        if chart.sheet is not None and chart.sheet.name.startswith(("seconds", "minutes")):
            columns = list(chart.sheet.columns)
            return {
                "sheet": chart.id,
                "name": "Units consumed",
                "of_all": False,
                "accepted": [name for name in columns if name.startswith("consumed")],
                "throttled": [name for name in columns if name.startswith("throttled")],
            }
    return None


def _is_of_keys(chart: Chart) -> bool:
    return chart.sheet is not None and chart.sheet.name.startswith("heat-of-keys")


def _heat(chart: Chart) -> dict[str, Any]:
    assert chart.sheet is not None
    direction = READ if chart.sheet.name.endswith("read") else WRITE
    return {
        "sheet": chart.id,
        "name": f"Hottest key, {direction}s",
        "unit": UNITS[direction],
        "keys": dict(chart.sheet.titles),
    }


def _timed(chart: Chart) -> bool:
    return chart.figure.layout.xaxis.type == "date" and bool(chart.figure.layout.xaxis.range)


def _drawn(chart: Chart) -> tuple[float, float]:
    start, end = chart.figure.layout.xaxis.range
    return epoch(start), epoch(end)
