"""Blind spans: time in which attempts failed before they reached the table's limits.

Expired credentials, refused connections or timeouts make a table look calm. A verdict covers the observed
time only, and is not `none` if a blind span could hide throttles that no other time shows.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from keyheat.analysis.rules import Failures
from keyheat.analysis.timeline import EvidenceTimeline, timeline
from keyheat.evidence.settings import partition_ceiling
from keyheat.numbers import percent, some
from keyheat.numbers import span as duration
from keyheat.runs.client import ClientFiles
from keyheat.runs.formats import BEYOND, Evidence, SecondCount, Verdict
from keyheat.runs.manifest import Keys
from keyheat.words import CONTENTION_ERRORS, Direction, whose

NEIGHBOURS_S: Final = 10
"""Seconds before and after a blind span whose load must be level."""
LEVEL: Final = 0.25
"""Greatest relative difference of a level load around a span."""
LEAST_S: Final = 2
"""Least blind seconds of a run to mention."""

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
            yield _span(direction, start_s, second, blind)
            blind = []
    if blind:
        yield _span(direction, start_s, last_s + 1, blind)


def _span(direction: Direction, start_s: int, end_s: int, blind: Sequence[SecondCount]) -> BlindSpan:
    attempts, unmet = sum(row.attempts for row in blind), sum(row.unmet for row in blind)
    return BlindSpan(direction, start_s, end_s, attempts, unmet)


def with_blind_spans(
    verdict: Verdict, evidence: Evidence, client: ClientFiles | None, numbers: Failures
) -> Verdict:
    """Add the blind time; `none` becomes undetermined if a blind span could hide throttles.

    Failed attempts outside blind spans are mentioned from `mention_share` of all attempts on.
    """
    seen = _seconds(evidence)
    spans = [
        span for direction in seen for span in blind_spans(direction, seen[direction], numbers.blind_share)
    ]
    loaded_s = len({second for rows in seen.values() for second in rows})
    if _blind_s(spans) < max(LEAST_S, numbers.mention_share * loaded_s):
        failed = _failed(seen, numbers.mention_share)
        return verdict.model_copy(update={"because": (*verdict.because, *failed)})
    blind = _describe(spans, client)
    why = _could_hide(spans, seen, timeline(evidence), client) if verdict.constraint == "none" else None
    if why is None:
        return verdict.model_copy(update={"because": (*verdict.because, blind)})
    unsafe = f"{blind} Throttles in that time would not have been seen: {why}."
    unknown = {"constraint": "undetermined", "confidence": 0.0, "valid": False}
    return verdict.model_copy(update={**unknown, "because": (unsafe, *verdict.because)})


def _seconds(evidence: Evidence) -> dict[Direction, dict[int, SecondCount]]:
    by_direction: dict[Direction, dict[int, SecondCount]] = {}
    for row in evidence.seconds or ():
        if row.index is None:
            by_direction.setdefault(row.direction, {})[int(row.second.timestamp())] = row
    return by_direction


def _failed(seen: Mapping[Direction, Seconds], mention_share: float) -> tuple[str, ...]:
    rows = [row for seconds in seen.values() for row in seconds.values()]
    attempts, unmet = sum(row.attempts for row in rows), sum(row.unmet for row in rows)
    if not unmet or unmet < mention_share * attempts:
        return ()
    return (f"{percent(unmet / attempts)} of all attempts failed without a throttle.",)


def _blind_s(spans: Sequence[BlindSpan]) -> int:
    """Seconds in which any direction was blind."""
    return len({second for span in spans for second in span.seconds})


def _describe(spans: Sequence[BlindSpan], client: ClientFiles | None) -> str:
    """Describe when the run was blind, and its most frequent error."""
    start_s, end_s = min(span.start_s for span in spans), max(span.end_s for span in spans)
    attempts, unmet = sum(span.attempts for span in spans), sum(span.unmet for span in spans)
    blind_s = _blind_s(spans)
    within = "" if blind_s == end_s - start_s else f"for {duration(blind_s)} "
    manifest = client.manifest if client else None
    kinds = Counter(manifest.totals.errors_by_kind if manifest and manifest.totals else {})
    named = [kind for kind, _count in kinds.most_common() if kind not in CONTENTION_ERRORS]
    most = f", most with {named[0]}" if named else ""
    return (
        f"Blind {within}from {_clock(start_s)} to {_clock(end_s)} UTC: {percent(unmet / attempts)} of "
        f"{some(attempts, 'attempt')} failed before they reached the table's limits{most}."
    )


def _clock(second: int) -> str:
    return f"{datetime.fromtimestamp(second, UTC):%H:%M:%S}"


def _could_hide(
    spans: Sequence[BlindSpan],
    seen: Mapping[Direction, Seconds],
    arranged: EvidenceTimeline,
    client: ClientFiles | None,
) -> str | None:
    """Say why throttles could lie in a blind span only; None if the time around represents it."""
    for direction, seconds in seen.items():
        within = [span for span in spans if span.direction == direction]
        blind = {second for span in within for second in span.seconds}
        attempts = {at: row.attempts for at, row in seconds.items() if at not in blind}
        if within and (why := _load_differs(within, attempts)):
            return why
    if any(len(set(track.provisioned.values)) > 1 for track in arranged.tracks):
        return "capacity changed during the run"
    return _runs_on_burst(arranged, client.keys if client else None)


def _load_differs(spans: Sequence[BlindSpan], attempts: Mapping[int, int]) -> str | None:
    for span in spans:
        before = [attempts[at] for at in range(span.start_s - NEIGHBOURS_S, span.start_s) if at in attempts]
        after = [attempts[at] for at in range(span.end_s, span.end_s + NEIGHBOURS_S) if at in attempts]
        if not after:
            return "the load ended in it"
        if not before:
            return "the load began in it"
        low, high = sorted(sum(counts) / len(counts) for counts in (before, after))
        if max(high, span.attempts / len(span.seconds)) > (1 + LEVEL) * low:
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
