"""Merge metrics of GetMetricData responses and of files into series.

https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_GetMetricData.html
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta, tzinfo
from functools import reduce
from itertools import pairwise
from math import gcd, isfinite
from typing import Annotated, Any, Final, Literal, TypeVar

from pydantic import BeforeValidator, FailFast, Field, ValidationError, ValidationInfo

from keyheat.model.limits import MINUTE_S, SETTING_PERIOD_S
from keyheat.runs import metrics
from keyheat.runs.formats import Series, Window
from keyheat.runs.metrics import SeriesKey, carried_s
from keyheat.validation import LenientPart, Mistakes, path_of

Points = dict[SeriesKey, dict[datetime, float]]
COMPLETE: Final = "Complete"
UNFINISHED: Final = ("PartialData", "InternalError")
"""Statuses that a retry may complete, unlike `Forbidden`.
https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_MetricDataResult.html"""
KINDS: Final = {"missing": "missing", "list_type": "should be a list"}
CLOSE: Final = 1e-6
YEAR_2000_S, YEAR_2100_S = 946_684_800, 4_102_444_800
_RATE: Final = re.compile(r"(?i)count/sec|/\s?s(ec(ond)?)?\b|per[ _-]?s(ec(ond)?)?\b|\brate\b")


class NoZone(ValueError):
    """A time without a time zone."""


def parse_time(at: Any, zone: tzinfo | None = None) -> datetime:
    """Parse a time of boto3, of text, or of epoch seconds, milli-, micro- or nanoseconds to UTC.

    A number is in whichever unit falls in this century; `zone` applies to text without a zone. Raises
    `NoZone`, and `ValueError` for anything else.
    """
    if isinstance(at, str) and re.fullmatch(r"\d{9,19}(?:\.\d+)?", at):
        at = float(at)
    if isinstance(at, int | float) and not isinstance(at, bool):
        for per_s in (1, 10**3, 10**6, 10**9):
            if YEAR_2000_S * per_s <= at < YEAR_2100_S * per_s:
                return datetime.fromtimestamp(at / per_s, UTC)
    try:
        moment = _parse_text(at.strip()) if isinstance(at, str) else at
        if isinstance(moment, datetime) and (moment.tzinfo or zone):
            return (moment if moment.tzinfo else moment.replace(tzinfo=zone)).astimezone(UTC)
    except (ValueError, OverflowError):
        moment = None
    if isinstance(moment, datetime):
        raise NoZone(f"timestamp {str(at)[:40]} has no zone; give one, such as --zone UTC")
    raise ValueError(f"{str(at)[:40]!r} is not a timestamp")


def _parse_text(text: str) -> datetime:
    if text[2:3] == "/":
        return datetime.strptime(text, "%d/%b/%Y:%H:%M:%S %z")
    iso = text.replace(",", ".").replace(" UTC", "Z").replace("/", "-")
    return datetime.fromisoformat(iso.replace(" +", "+").replace(" -", "-"))


def _parse_in_zone(at: Any, info: ValidationInfo) -> datetime:
    return parse_time(at, (info.context or {}).get("zone"))


def _parse_quantity(value: Any) -> float:
    number = value if isinstance(value, int | float) and not isinstance(value, bool) else -1
    if not isfinite(number) or number < 0:
        raise ValueError(f"{value!r} is not a quantity")
    return float(number)


Item = TypeVar("Item")
Column = Annotated[list[Item], FailFast()]  # one error of each: a file may have millions of wrong points


class _Result(LenientPart):
    """One series of a response."""

    label: str = Field(alias="Label")
    times: Column[Annotated[datetime, BeforeValidator(_parse_in_zone)]] = Field(alias="Timestamps")
    values: Column[Annotated[float, BeforeValidator(_parse_quantity)]] = Field(alias="Values")
    status: str = Field(COMPLETE, alias="StatusCode")


Failure = Literal["throttled", "failed", "refused"]
"""`throttled`: slow down. `failed`: retry a few times. `refused`: a retry fails again."""


@dataclass(frozen=True, slots=True)
class MetricAnswer:
    """Metrics from CloudWatch or from files, and what is missing or was inferred.

    `failure` tells whether a retry helps; None: the response is complete.
    """

    points: Points
    problems: tuple[str, ...] = ()
    failure: Failure | None = None

    @property
    def count(self) -> int:
        """Number of points."""
        return sum(map(len, self.points.values()))

    @property
    def window(self) -> Window | None:
        """From the first point to the end of the last period; None without points.

        Settings outlast their points, so they count only if there is nothing else.
        """
        points = {key: values for key, values in self.points.items() if values}
        counted = {key: values for key, values in points.items() if key.metric not in metrics.SETTINGS}
        ends = [max(values) + timedelta(seconds=key.period_s) for key, values in (counted or points).items()]
        return Window(start=min(map(min, (counted or points).values())), end=max(ends)) if ends else None


@dataclass(slots=True)
class MetricPages:
    """Merged pages of a response: points and status of each series. `zone` applies to times without one."""

    zone: tzinfo | None = None
    points: Points = field(default_factory=dict)
    statuses: dict[SeriesKey, str] = field(default_factory=dict)
    messages: dict[str, None] = field(default_factory=dict)  # about the whole response, each once
    _without_zone: bool = False  # already reported: if one time has no zone, none has

    def add_page(self, page: object, mistakes: Mistakes, where: str = "") -> None:
        """Add one page; its errors go to `mistakes`, located below `where`."""
        results = page.get("MetricDataResults") if isinstance(page, Mapping) else None
        if not isinstance(page, Mapping) or not isinstance(results, list):
            message = "no list of MetricDataResults: this is not output of `aws cloudwatch get-metric-data`"
            mistakes.add(message, where)
            return
        for number, result in enumerate(results):
            self._add(result, mistakes, f"{where}.MetricDataResults[{number}]")
        messages = page.get("Messages")
        for message in messages if isinstance(messages, list) else ():
            if isinstance(message, Mapping):
                self.messages[f"CloudWatch: {message.get('Code')}: {message.get('Value')}"[:500]] = None

    @property
    def unfinished(self) -> bool:
        """Whether a retry may return more."""
        return bool(self.messages) or any(status in UNFINISHED for status in self.statuses.values())

    def problems(self) -> tuple[str, ...]:
        """What CloudWatch could not answer, or only partly."""
        partial = "is incomplete: follow NextToken"
        lines = {
            f"CloudWatch: {key.label} {partial}" if status == "PartialData" else
            f"CloudWatch: {status} for {key.label}"
            for key, status in self.statuses.items()
            if status != COMPLETE
        }  # fmt: skip
        return (*sorted(lines), *self.messages)

    def _add(self, raw: Any, mistakes: Mistakes, where: str) -> None:
        """Add one result; a requested series without points stays as an empty one."""
        try:
            result = _Result.model_validate(raw, context={"zone": self.zone})
        except ValidationError as error:
            for item in error.errors(include_url=False):
                no_zone = isinstance(item.get("ctx", {}).get("error"), NoZone)
                if not (no_zone and self._without_zone):
                    message = KINDS.get(item["type"], item["msg"].removeprefix("Value error, "))[:255]
                    mistakes.add(message, where + path_of(item["loc"]))
                self._without_zone |= no_zone
            return
        key = SeriesKey.of_label(result.label)
        if key is None:
            mistakes.add(f"label {result.label[:255]!r} is not one of `keyheat queries`", where)
            return
        if self.statuses.get(key) != COMPLETE:  # all pages of a series but the last are PartialData
            self.statuses[key] = result.status[:80]
        if len(result.times) != len(result.values):
            mistakes.add(f"{len(result.times)} timestamps for {len(result.values)} values", where)
            return
        points = self.points.setdefault(key, {})
        for number, (at, value) in enumerate(zip(result.times, result.values, strict=True)):
            if points.setdefault(at, value) != value:
                message = f"{value:g}, where {points[at]:g} was given for {at:%FT%TZ}"
                mistakes.add(message, f"{where}.Values[{number}]")


def answer_of(pages: Sequence[object], zone: tzinfo | None = None) -> MetricAnswer:
    """Read the output of `aws cloudwatch get-metric-data` for the queries of `request_for`.

    `pages` are the parsed files in any order: by default the CLI follows the pages itself, unless
    `--max-items` cuts it off. Raises `ValueError` with every mistake as `message @ $.path`.
    """
    merged, mistakes = MetricPages(zone), Mistakes()
    for number, page in enumerate(pages):
        merged.add_page(page, mistakes, f"[{number}]" if len(pages) > 1 else "")
    if mistakes:
        raise ValueError(f"the answer of CloudWatch has {mistakes}")
    problems = list(merged.problems())
    if pages and all(isinstance(page, Mapping) and page.get("NextToken") for page in pages):
        why = "it ends with a NextToken: leave out --max-items"
        problems.append(f"CloudWatch: the response is cut off, {why}")
    return MetricAnswer(merged.points, tuple(problems))


def series_of(points: Points, window: Window) -> tuple[Series, ...]:
    """Sort points and cut them to the window; a setting keeps one earlier point."""
    return tuple(
        Series(**asdict(key), points=tuple(_within(key, sorted(values.items()), window)))
        for key, values in points.items()
    )


def _within(
    key: SeriesKey, ordered: list[tuple[datetime, float]], window: Window
) -> list[tuple[datetime, float]]:
    period = timedelta(seconds=key.period_s)
    if key.metric not in metrics.SETTINGS:
        return [point for point in ordered if window.start - period < point[0] < window.end]
    earliest = window.start - timedelta(seconds=carried_s(key.period_s))
    before = [point for point in ordered if earliest <= point[0] < window.start]
    return [*before[-1:], *(point for point in ordered if window.start <= point[0] < window.end)]


@dataclass(slots=True)
class FileSeries:
    """A series in a file; `period_s` is 0 if not stated, `unit` is as stated."""

    where: str
    key: SeriesKey
    points: list[tuple[datetime, float]] = field(default_factory=list)
    unit: str | None = ""
    """Empty: not stated. None: CloudWatch's own sums."""


def is_rate(unit: str) -> bool:
    """Whether a unit or name means a rate per second."""
    return _RATE.search(unit) is not None


def infer_periods(all_series: Sequence[FileSeries]) -> Iterator[str]:
    """Infer missing periods from the distances between points; yields what was inferred."""
    for settings, usual_s in ((False, MINUTE_S), (True, SETTING_PERIOD_S)):
        without = [
            series
            for series in all_series
            if (series.key.metric in metrics.SETTINGS) == settings and not series.key.period_s
        ]
        times = (sorted({at for at, _value in series.points}) for series in without)
        gaps = [int((after - before).total_seconds()) for at in times for before, after in pairwise(at)]
        period_s = reduce(gcd, gaps) if gaps else usual_s
        for series in without:
            series.key = replace(series.key, period_s=period_s)
        if without and period_s != usual_s:
            yield f"metrics: periods of {period_s} s, by the distance of points; --metric sets another"


def convert_to_sums(all_series: Sequence[FileSeries]) -> Iterator[str]:
    """Convert rates per second to sums per period; yields what was inferred.

    Raises `ValueError` for values that are stated as sums and cannot be: events are whole, units halves.
    """
    for series in all_series:
        if series.unit is None or series.key.metric in (*metrics.SETTINGS, *metrics.DURATIONS):
            continue
        parts, whole = (2, "half units") if "CapacityUnits" in series.key.metric else (1, "whole events")
        counts = ((value, value * parts) for _at, value in series.points)
        odd = next((v for v, n in counts if abs(n - round(n)) > CLOSE * max(1.0, n)), None)
        why = "" if odd is None else f"{odd:g} is not a sum of {whole}"
        rates = is_rate(series.unit)
        if why and series.unit and not rates:
            raise ValueError(f"{series.where}: {series.key.metric} has no sums per period: {why}")
        if why or rates:
            series.points = [(at, value * series.key.period_s) for at, value in series.points]
        if not series.unit and why:
            yield f"metrics: {series.key.metric} is read as rates per second: {why}"
        elif not series.unit:
            yield "metrics: values without a unit are read as sums per period"
