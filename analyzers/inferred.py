"""The inferred grade: what consumption says of a throttled cell where no cause was stated."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from analyzers import burst, on_demand, provisioned
from analyzers.burst import Bank
from analyzers.formats import SecondCount
from analyzers.opinions import Opinion, decided, undecided
from analyzers.thresholds import Thresholds
from analyzers.timeline import Timeline, Track

NO_CLOUDWATCH = 0.95  # factor: nothing but the client's own record, and others may use the table too
MAYBE_INDEX = 0.8  # factor: a write may have been refused for an index that nobody asked about


@dataclass(frozen=True, slots=True)
class Inference:
    """One track made ready: the burst by cell and by second, the client's throttles by cell."""

    timeline: Timeline
    track: Track
    numbers: Thresholds
    bank_by_cell: Mapping[int, Bank]
    bank_by_second: Mapping[int, Bank]
    recorded: Sequence[int]  # the client's seconds, in order
    throttled: Mapping[int, Sequence[tuple[int, int]]]  # by cell: (second, throttles)

    def opinion(self, cell: int) -> Opinion:
        """What the evidence without stated causes says of one cell."""
        track = self.track
        throttled = self.throttled.get(cell, ()) if self._client_speaks(cell) else ()
        if track.on_demand:
            opinion = self._on_demand(cell, throttled)
        elif throttled:
            opinion = self._by_seconds(cell, throttled)
        else:
            opinion = provisioned.by_minutes(track, cell, self.bank_by_cell, self.numbers)
        return decided(self._index_unless_known(opinion), self.numbers.inferred.decide_at)

    def _by_seconds(self, cell: int, throttled: Sequence[tuple[int, int]]) -> Opinion:
        rates = self._rates(throttled)
        if all(self.track.provisioned.at(second) is None for second, _ in throttled):
            return undecided("undetermined-no-provisioned", "throttled, but what is provisioned is not known")
        opinion = provisioned.by_seconds(self.track, throttled, rates, self.bank_by_second, self.numbers)
        if self.track.consumed is None:
            return opinion.weaker(NO_CLOUDWATCH, "the client's own record alone")
        return opinion

    def _on_demand(self, cell: int, throttled: Sequence[tuple[int, int]]) -> Opinion:
        confidence = self.numbers.confidence
        rate, base = self.track.consumed_per_s(cell), confidence.minutes
        if throttled:
            rates = self._rates(throttled)
            rate, base = max(rates.values()), confidence.seconds
        return on_demand.on_demand(
            self.timeline, self.track, cell, rate=rate, base=base, numbers=self.numbers
        )

    def _rates(self, throttled: Sequence[tuple[int, int]]) -> dict[int, float]:
        """Units/s that the client consumed around each throttled second; an unrecorded second was idle."""
        seconds = self.track.seconds or {}
        half = self.numbers.inferred.smoothing_s // 2
        first, last = self.recorded[0], self.recorded[-1]
        rates = {}
        for second, _ in throttled:
            around = range(max(first, second - half), min(last, second + half) + 1)
            rates[second] = sum(_units(seconds.get(s)) for s in around) / max(1, len(around))
        return rates

    def _client_speaks(self, cell: int) -> bool:
        """Whether the client's seconds hold most of what the resource consumed in the cell."""
        if not self.recorded or self.track.seconds is None:
            return False
        total = self.track.consumed.get(cell) if self.track.consumed else None
        if not total:
            return True
        first = bisect_left(self.recorded, cell)
        after = bisect_left(self.recorded, cell + self.track.step_s)
        own = sum(self.track.seconds[second].consumed for second in self.recorded[first:after])
        return own >= self.numbers.inferred.client_share * total

    def _index_unless_known(self, opinion: Opinion) -> Opinion:
        """A write refused for an index looks like the table's unless CloudWatch counts events there."""
        track = self.track
        indexes = self.timeline.indexes(track.direction)
        if track.index is None and track.direction == "write" and indexes and track.events is None:
            return opinion.weaker(MAYBE_INDEX, "an index may be the cause: its throttle events are not known")
        return opinion


def inference(timeline: Timeline, track: Track, numbers: Thresholds) -> Inference:
    """Make a track ready for opinions."""
    seconds = track.seconds or {}
    throttled: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for second, reasons in sorted(track.reasons.items()):
        throttled[track.cell_of(second)].append((second, sum(reasons.values())))
    by_second = ((second, _units(row)) for second, row in seconds.items())
    by_cell = (track.consumed or {}).items()
    return Inference(
        timeline=timeline,
        track=track,
        numbers=numbers,
        bank_by_cell=burst.banks(by_cell, track.provisioned, step_s=track.step_s),
        bank_by_second=burst.banks(by_second, track.provisioned, step_s=1),
        recorded=sorted(seconds),
        throttled=throttled,
    )


def _units(row: SecondCount | None) -> float:
    return 0.0 if row is None else row.consumed
