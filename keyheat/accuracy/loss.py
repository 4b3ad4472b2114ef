"""What of the evidence never arrived: the beginning, minutes, the end, whole series."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import Final, TypeVar

from keyheat.model import limits
from keyheat.runs import metrics
from keyheat.runs.formats import Evidence, SecondCount, Series, ThrottleCount, Window
from keyheat.words import Direction

Row = TypeVar("Row", SecondCount, ThrottleCount)
MINUTE: Final = timedelta(minutes=1)
CHANCES: Final = {"beginning": 0.08, "minutes": 0.04, "end": 0.03, "series": 0.03}
SHORT_MINUTES: Final = 5
LOSABLE: Final = tuple(
    name(direction) for direction in Direction for name in (metrics.provisioned, metrics.on_demand_maximum)
)
"""Series whose loss leaves the question open, but not without an answer: the table's description is there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """What is lost. Minutes are counted from the first one of the window."""

    first: int = 0  # minutes at the beginning, the load's own history: the window starts after them
    minutes: frozenset[int] = frozenset()  # of CloudWatch, within the window
    late: int = 0  # minutes of CloudWatch at the end that are not published yet
    series: str | None = None

    @property
    def words(self) -> tuple[str, ...]:
        """The loss for a person."""
        found = []
        if self.first:
            found.append(f"the window begins {self.first} min into the load")
        if self.minutes:
            found.append(f"CloudWatch lacks {len(self.minutes)} min within")
        if self.late:
            found.append(f"CloudWatch lacks the last {self.late} min")
        if self.series:
            found.append(f"{self.series} never arrived")
        return tuple(found)

    def of(self, evidence: Evidence) -> Evidence:
        """The evidence without what is lost."""
        window = evidence.window
        start = window.start + self.first * MINUTE
        lost = self._lost(window)

        def kept(at: datetime, period_s: int) -> bool:
            setting = period_s == limits.SETTING_PERIOD_S  # asked for from before the window on
            return at not in lost and (at >= start or setting)

        series = tuple(
            _without(one, kept if one.metric != self.series else _nothing) for one in evidence.series
        )
        return evidence.model_copy(
            update={
                "window": Window(start=start, end=window.end),
                "series": series,
                "throttles": _since(evidence.throttles, start),
                "seconds": _since(evidence.seconds, start),
            }
        )

    def seen(self, window: Window) -> Callable[[int], bool]:
        """Whether a second of the whole window is in the evidence, in all of it."""
        start_s = (window.start + self.first * MINUTE).timestamp()
        lost = {int(at.timestamp()) for at in self._lost(window)}
        return lambda second: second >= start_s and second // limits.MINUTE_S * limits.MINUTE_S not in lost

    def _lost(self, window: Window) -> set[datetime]:
        published = window.end - self.late * MINUTE
        total = round((window.end - window.start) / MINUTE)
        every = [window.start + number * MINUTE for number in range(total)]
        return {at for number, at in enumerate(every) if number in self.minutes or at >= published}


def _nothing(_at: datetime, _period_s: int) -> bool:
    return False


def _without(series: Series, kept: Callable[[datetime, int], bool]) -> Series:
    points = tuple(point for point in series.points if kept(point[0], series.period_s))
    return series.model_copy(update={"points": points})


def _since(rows: Sequence[Row] | None, start: datetime) -> tuple[Row, ...] | None:
    return None if rows is None else tuple(row for row in rows if row.second >= start)


def a_loss(rng: Random, minutes: int) -> Loss:
    """Mostly nothing; else one thing, and never all there is: short loads lose no minutes."""
    kind = rng.choices(("nothing", *CHANCES), weights=(1 - sum(CHANCES.values()), *CHANCES.values()))[0]
    if minutes >= SHORT_MINUTES:
        if kind == "beginning":
            return Loss(first=rng.randint(1, minutes // 2))
        if kind == "minutes":
            lost = rng.sample(range(1, minutes - 1), rng.randint(1, max(1, minutes // 6)))
            return Loss(minutes=frozenset(lost))
        if kind == "end":
            return Loss(late=rng.randint(1, 2))
    return Loss(series=rng.choice(LOSABLE)) if kind == "series" else Loss()
