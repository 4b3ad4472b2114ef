"""Problems of an application beside the throttles of its reads and writes.

Attempts that failed before they reached the table's limits (expired credentials, refused connections,
timeouts) make a table look calm: a verdict covers the observed time only, and is not `none` if such a blind
span could hide throttles that no other time shows. CloudWatch counts throttled requests of other operations,
errors inside DynamoDB, and slow responses:
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/metrics-dimensions.html
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from statistics import fmean, median
from typing import Final

from keyheat.analysis.rules import Failures
from keyheat.analysis.timeline import EvidenceTimeline, timeline
from keyheat.model.resources import partition_ceiling
from keyheat.numbers import milliseconds, percent, some, span
from keyheat.runs.client import ClientFiles
from keyheat.runs.formats import BEYOND, Evidence, SecondCount, Series, Verdict
from keyheat.runs.manifest import Keys
from keyheat.runs.metrics import GET_RECORDS, LATENCY, OPERATIONS, SYSTEM_ERRORS, THROTTLED_REQUESTS
from keyheat.words import CONTENTION_ERRORS, Direction, whose

SLOW_RATIO: Final = 3.0  # least ratio of a slow minute's mean latency to the median minute's
SLOW_MS: Final = 20.0  # and least difference
LEAST_SLOW: Final = 3  # minutes in a row
NEIGHBOURS_S: Final = 10  # seconds before and after a blind span whose load must be level
LEVEL: Final = 0.25  # greatest relative difference of a level load around a span
LEAST_S: Final = 2  # least blind seconds of a run to mention

Seconds = Mapping[int, SecondCount]
"""The client's counts on the table, by epoch second."""


@dataclass(frozen=True, slots=True)
class BlindSpan:
    """Seconds from `start_s` up to `end_s` (epoch) in which one direction was not observed."""

    direction: Direction
    start_s: int
    end_s: int
    attempts: int
    unmet: int

    @classmethod
    def of(cls, direction: Direction, start_s: int, end_s: int, rows: Sequence[SecondCount]) -> "BlindSpan":
        """The span of some blind seconds."""
        return cls(
            direction, start_s, end_s, sum(row.attempts for row in rows), sum(row.unmet for row in rows)
        )

    @property
    def seconds(self) -> range:
        return range(self.start_s, self.end_s)


def blind_spans(direction: Direction, seconds: Seconds, blind_share: float) -> Iterator[BlindSpan]:
    """Yield the blind spans of one direction, in order.

    A second is blind if at least `blind_share` of its attempts failed before the table. A span lasts until
    the next second that is not blind: while all users wait for a timeout, no attempt begins.
    """
    blind: list[SecondCount] = []
    start_s = last_s = 0
    for second, row in sorted(seconds.items()):
        if row.unmet and row.unmet >= blind_share * row.attempts:
            start_s, last_s = start_s if blind else second, second
            blind.append(row)
        elif blind and row.attempts:
            yield BlindSpan.of(direction, start_s, second, blind)
            blind = []
    if blind:
        yield BlindSpan.of(direction, start_s, last_s + 1, blind)


def with_blind_spans(
    verdict: Verdict, evidence: Evidence, client: ClientFiles | None, numbers: Failures
) -> Verdict:
    """Add the blind time; `none` becomes undetermined if a blind span could hide throttles.

    Failed attempts outside blind spans are mentioned from `mention_share` of all attempts on.
    """
    seen: dict[Direction, dict[int, SecondCount]] = {}
    for row in evidence.seconds or ():
        if row.index is None:
            seen.setdefault(row.direction, {})[int(row.second.timestamp())] = row
    spans = [each for side, rows in seen.items() for each in blind_spans(side, rows, numbers.blind_share)]
    blind_s = len({second for each in spans for second in each.seconds})
    if blind_s < max(
        LEAST_S, numbers.mention_share * len({second for rows in seen.values() for second in rows})
    ):
        rows = [row for seconds in seen.values() for row in seconds.values()]
        attempts, unmet = sum(row.attempts for row in rows), sum(row.unmet for row in rows)
        if not unmet or unmet < numbers.mention_share * attempts:
            return verdict
        failed = f"{percent(unmet / attempts)} of all attempts failed without a throttle."
        return verdict.model_copy(update={"because": (*verdict.because, failed)})
    blind = _describe(spans, blind_s, client)
    why = _could_hide(spans, seen, timeline(evidence), client) if verdict.constraint == "none" else None
    if why is None:
        return verdict.model_copy(update={"because": (*verdict.because, blind)})
    unsafe = f"{blind} Throttles in that time would not have been seen: {why}."
    unknown = {"constraint": "undetermined", "confidence": 0.0, "valid": False}
    return verdict.model_copy(update={**unknown, "because": (unsafe, *verdict.because)})


def _describe(spans: Sequence[BlindSpan], blind_s: int, client: ClientFiles | None) -> str:
    """Describe when the run was blind, and its most frequent error."""
    start_s, end_s = min(each.start_s for each in spans), max(each.end_s for each in spans)
    attempts, unmet = sum(each.attempts for each in spans), sum(each.unmet for each in spans)
    within = "" if blind_s == end_s - start_s else f"for {span(blind_s)} "
    manifest = client.manifest if client else None
    kinds = Counter(manifest.totals.errors_by_kind if manifest and manifest.totals else {})
    named = [kind for kind, _count in kinds.most_common() if kind not in CONTENTION_ERRORS]
    most = f", most with {named[0]}" if named else ""
    first, last = (f"{datetime.fromtimestamp(at_s, UTC):%H:%M:%S}" for at_s in (start_s, end_s))
    return (
        f"Blind {within}from {first} to {last} UTC: {percent(unmet / attempts)} of "
        f"{some(attempts, 'attempt')} failed before they reached the table's limits{most}."
    )


def _could_hide(
    spans: Sequence[BlindSpan],
    seen: Mapping[Direction, Seconds],
    arranged: EvidenceTimeline,
    client: ClientFiles | None,
) -> str | None:
    """Say why throttles could lie in a blind span only; None if the time around represents it."""
    for direction, seconds in seen.items():
        within = [each for each in spans if each.direction == direction]
        blind = {second for each in within for second in each.seconds}
        attempts = {at: row.attempts for at, row in seconds.items() if at not in blind}
        if within and (why := _load_differs(within, attempts)):
            return why
    if any(len(set(track.provisioned.values)) > 1 for track in arranged.tracks):
        return "capacity changed during the run"
    return _runs_on_burst(arranged, client.keys if client else None)


def _load_differs(spans: Sequence[BlindSpan], attempts: Mapping[int, int]) -> str | None:
    for each in spans:
        around = (
            range(each.start_s - NEIGHBOURS_S, each.start_s),
            range(each.end_s, each.end_s + NEIGHBOURS_S),
        )
        before, after = ([attempts[at] for at in seconds if at in attempts] for seconds in around)
        if not after:
            return "the load ended in it"
        if not before:
            return "the load began in it"
        low, high = sorted(fmean(counts) for counts in (before, after))
        if max(high, each.attempts / len(each.seconds)) > (1 + LEVEL) * low:
            return "the load was not level"
    return None


def _runs_on_burst(arranged: EvidenceTimeline, keys: Keys | None) -> str | None:
    """Name a table, index or key whose consumption only burst could serve."""
    for track in arranged.tracks:
        for second, row in (track.seconds or {}).items():
            capacity = track.provisioned.at(second)
            if capacity is not None and row.consumed > (1 + BEYOND) * capacity:
                return f"{whose(track.resource)} ran on burst capacity"
    for window in keys.windows if keys else ():
        hottest = max((key.units for key in window.top), default=0.0)
        if hottest > (1 + BEYOND) * partition_ceiling(window.direction, arranged.scale) * window.seconds:
            return "the partition of the hottest key ran on burst capacity"
    return None


def throttled_elsewhere(evidence: Evidence) -> dict[str, int]:
    """Count throttled requests by operation that neither read nor write the table, such as GetRecords."""
    counts = Counter[str]()
    for series in evidence.series:
        if series.metric == THROTTLED_REQUESTS and series.operation and series.operation not in OPERATIONS:
            counts[series.operation] += round(sum(value for _at, value in series.points))
    return dict(+counts)


def other_causes(evidence: Evidence) -> tuple[str, ...]:
    """Return clauses that follow `Nothing was throttled, but`, the gravest first."""
    return (*_streams(evidence), *_errors(evidence), *_late(evidence))


def has_errors(evidence: Evidence) -> bool:
    """Whether requests failed inside DynamoDB."""
    return any(_errors(evidence))


def _streams(evidence: Evidence) -> Iterator[str]:
    for operation, count in throttled_elsewhere(evidence).items():
        look = "; look at the readers of its stream" if operation == GET_RECORDS else ""
        yield f"{some(count, f'{operation} request')} {'was' if count == 1 else 'were'}{look}"


def _errors(evidence: Evidence) -> Iterator[str]:
    for series in evidence.series:
        failed = [(at, count) for at, count in series.points if count]
        if series.metric == SYSTEM_ERRORS and failed:
            count = round(sum(count for _at, count in failed))
            when = _from_to([at for at, _count in failed], series.period_s)
            yield (
                f"{some(count, f'{series.operation} request')} failed inside DynamoDB (SystemErrors) {when}; "
                "retry them, and look at the AWS Health Dashboard"
            )


def _late(evidence: Evidence) -> Iterator[str]:
    for series in _latencies(evidence):
        usual_ms = median(value for _at, value in series.points)
        slow = _longest(series, max(SLOW_RATIO * usual_ms, usual_ms + SLOW_MS))
        if len(slow) >= LEAST_SLOW:
            worst_ms = median(value for _at, value in slow)
            when = _from_to([at for at, _value in slow], series.period_s)
            yield (
                f"DynamoDB took {milliseconds(worst_ms)} for a {series.operation} {when}, and "
                f"{milliseconds(usual_ms)} otherwise; look at item sizes and at the AWS Health Dashboard"
            )


def usual_latency_ms(evidence: Evidence) -> float | None:
    """Return the highest mean latency of an operation; None if unknown, or slow at some time."""
    values = [value for series in _latencies(evidence) for _at, value in series.points]
    return None if any(_late(evidence)) else max(values, default=None)


def _latencies(evidence: Evidence) -> Iterator[Series]:
    for series in evidence.series:
        if (series.metric, series.statistic) == (LATENCY, "Average") and series.points:
            yield series


def _longest(series: Series, beyond_ms: float) -> Sequence[tuple[datetime, float]]:
    """Return the longest run of periods whose mean exceeds a limit."""
    best: list[tuple[datetime, float]] = []
    run: list[tuple[datetime, float]] = []
    for at, value in series.points:
        follows = not run or at - run[-1][0] == timedelta(seconds=series.period_s)
        run = [*(run if follows else ()), (at, value)] if value > beyond_ms else []
        best = max(best, run, key=len)
    return best


def _from_to(moments: Sequence[datetime], period_s: int) -> str:
    end = max(moments) + timedelta(seconds=period_s)
    return f"from {min(moments):%H:%M} to {end:%H:%M} UTC"
