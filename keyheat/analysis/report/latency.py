"""How long requests took, by operation and outcome: curves and percentiles, as a report shows them."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from keyheat.runfiles import US_PER_MS
from keyheat.terms import RESPONSE_TIME

if TYPE_CHECKING:
    from hdrh.histogram import HdrHistogram

ACCEPTED = "accepted"
SERVICE = frozenset({ACCEPTED, "throttled", "error"})
"""What the service time of one attempt is kept by; the other tags are durations of another kind."""
RESPONSE = "response"
IN_WORDS = {
    RESPONSE: RESPONSE_TIME,
    "backoff": "back-off",
    "logical": "as a whole",
}
TABLE_PERCENTILES = (50.0, 90.0, 95.0, 99.0, 99.9)
POINTS_PER_NINE = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationLatency:
    """One kind of duration of one operation, in milliseconds.

    `outcome` is the service time's (`accepted`, `throttled`, `error`), or says what else it is: `response`
    a request's response time, `backoff` between attempts, `logical` several requests.
    """

    operation: str
    outcome: str
    count: int
    max_ms: float
    curve: tuple[tuple[float, float], ...]  # (percentile, milliseconds)
    table: tuple[float, ...]  # milliseconds at TABLE_PERCENTILES

    @property
    def words(self) -> str:
        """The outcome, or the kind of duration, as a person reads it."""
        return IN_WORDS.get(self.outcome, self.outcome)

    @property
    def drawn(self) -> bool:
        """Whether its curve belongs beside those of single requests."""
        return self.outcome in SERVICE or self.outcome == RESPONSE


def read_latency(path: Path) -> tuple[OperationLatency, ...]:
    """Every operation and outcome of the file that has requests. Raises `FileProblem`."""
    from keyheat.runs.latencies import read_latencies

    found = sorted(read_latencies(path).items())
    return tuple(_latency(tag, histogram) for tag, histogram in found if histogram.get_total_count())


def percentile_grid(count: int) -> list[float]:
    """Percentiles worth drawing for `count` values: evenly spaced nines, no further than one value."""
    nines = math.log10(max(count, 10))
    steps = math.floor(nines * POINTS_PER_NINE)
    return [0.0] + [100 * (1 - 10 ** (-step / POINTS_PER_NINE)) for step in range(1, steps + 1)]


def _latency(tag: str, histogram: "HdrHistogram") -> OperationLatency:
    operation, _, outcome = tag.partition(".")
    grid = percentile_grid(histogram.get_total_count())
    at = histogram.get_percentile_to_value_dict([*grid, *TABLE_PERCENTILES])
    return OperationLatency(
        operation=operation,
        outcome=outcome or "all",
        count=histogram.get_total_count(),
        max_ms=histogram.get_max_value() / US_PER_MS,
        curve=(*((percentile, at[percentile] / US_PER_MS) for percentile in grid), _slowest(histogram)),
        table=tuple(at[percentile] / US_PER_MS for percentile in TABLE_PERCENTILES),
    )


def _slowest(histogram: "HdrHistogram") -> tuple[float, float]:
    """The end of the curve: the one slowest request."""
    return 100 * (1 - 1 / max(histogram.get_total_count(), 10)), histogram.get_max_value() / US_PER_MS
