"""Merge GetMetricData responses, from boto3 or AWS CLI output, into series.

https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_GetMetricData.html
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from math import isfinite
from typing import Any, Final

from keyheat.runs import metrics
from keyheat.runs.formats import Series, Window
from keyheat.runs.metrics import SeriesKey, carried_s
from keyheat.validation import Mistakes

Points = dict[SeriesKey, dict[datetime, float]]
COMPLETE: Final = "Complete"
UNFINISHED: Final = ("PartialData", "InternalError")
"""Statuses that a retry may complete, unlike `Forbidden`.
https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_MetricDataResult.html"""


@dataclass(slots=True)
class MetricAnswers:
    """Merged pages of a response: points by series, and each series' status."""

    points: Points = field(default_factory=dict)
    statuses: dict[SeriesKey, str] = field(default_factory=dict)
    messages: dict[str, None] = field(default_factory=dict)  # about the whole response, each once
    _without_zone: bool = False  # already reported: if one time has no zone, none has

    def add_page(self, page: object, mistakes: Mistakes, where: str = "") -> None:
        """Add one page; its errors go to `mistakes`, located below `where`."""
        results = page.get("MetricDataResults") if isinstance(page, Mapping) else None
        if not isinstance(page, Mapping) or not isinstance(results, Sequence) or isinstance(results, str):
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

    def _add(self, result: Any, mistakes: Mistakes, where: str) -> None:
        """Add one result; a requested series without points stays as an empty one."""
        if not isinstance(result, Mapping):
            mistakes.add("is not a result", where)
            return
        missing = [name for name in ("Label", "Timestamps", "Values") if name not in result]
        if missing:
            mistakes.add(f"{missing[0]!r} is missing", where)
            return
        key = SeriesKey.of_label(str(result["Label"]))
        if key is None:
            label = str(result["Label"])[:255]
            mistakes.add(f"label {label!r} is not one of `keyheat queries`", where)
            return
        self._status(key, str(result.get("StatusCode", COMPLETE))[:80])
        times, values = result["Timestamps"], result["Values"]
        if not isinstance(times, list) or not isinstance(values, list):
            mistakes.add("Timestamps and Values must be lists", where)
        elif len(times) != len(values):
            mistakes.add(f"{len(times)} timestamps for {len(values)} values", where)
        else:
            self._add_points(self.points.setdefault(key, {}), times, values, mistakes, where)

    def _add_points(
        self,
        values_at: dict[datetime, float],
        times: list[Any],
        values: list[Any],
        mistakes: Mistakes,
        where: str,
    ) -> None:
        for position, (at, value) in enumerate(zip(times, values, strict=True)):
            name = "Timestamps"
            try:
                moment, name = _parse_time(at), "Values"
                number = _parse_quantity(value)
            except NoZone as error:
                if not self._without_zone:
                    mistakes.add(str(error), f"{where}.Timestamps[{position}]")
                self._without_zone = True
                continue
            except (ValueError, OverflowError, OSError) as error:
                mistakes.add(str(error)[:255], f"{where}.{name}[{position}]")
                continue
            if values_at.setdefault(moment, number) != number:
                message = f"{number:g}, where {values_at[moment]:g} was given for {moment:%FT%TZ}"
                mistakes.add(message, f"{where}.Values[{position}]")

    def _status(self, key: SeriesKey, status: str) -> None:
        """Keep the most complete status: all pages of a series but the last are PartialData."""
        if self.statuses.get(key) != COMPLETE:
            self.statuses[key] = status


class NoZone(ValueError):
    """A time without a time zone."""


def _parse_time(at: Any) -> datetime:
    """Parse a time from boto3, from text, or from the epoch seconds of older AWS CLIs."""
    if isinstance(at, int | float) and not isinstance(at, bool):
        return datetime.fromtimestamp(at, UTC)
    moment = datetime.fromisoformat(at) if isinstance(at, str) else at
    if not isinstance(moment, datetime):
        raise ValueError(f"{at!r} is not a timestamp")
    if moment.tzinfo is None:
        raise NoZone(f"timestamp {at} has no zone; give one, such as --zone UTC")
    return moment.astimezone(UTC)


def _parse_quantity(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{value!r} is not a quantity")
    number = float(value)
    if not isfinite(number) or number < 0:
        raise ValueError(f"{number} is not a quantity")
    return number


def series_of(points: Points, window: Window) -> tuple[Series, ...]:
    """Sort points and cut them to the window; a setting keeps one earlier point."""
    return tuple(
        Series(
            metric=key.metric,
            statistic=key.statistic,
            period_s=key.period_s,
            index=key.index,
            operation=key.operation,
            dimension=key.dimension,
            points=tuple(_within(key, sorted(values.items()), window)),
        )
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
