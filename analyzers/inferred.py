"""The inferred grade: what consumption says of a throttled cell where no cause was stated."""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from analyzers import burst, on_demand, provisioned
from analyzers.burst import Bank
from analyzers.formats import Constraint, SecondCount
from analyzers.numbers import percent
from analyzers.opinions import Opinion, decided, undecided
from analyzers.provisioned import Second
from analyzers.thresholds import Thresholds
from analyzers.timeline import Timeline, Track
from analyzers.words import LIMITS

NO_CLOUDWATCH = 0.95  # factor: nothing but the client's own record, and others may use the table too
LAST_S: Final = 2**53  # later than any evidence
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

    def opinion(self, cell: int, start_s: int = 0, end_s: int = LAST_S) -> Opinion:
        """What the evidence without stated causes says of one cell, or of the part within two seconds."""
        track = self.track
        seconds = self.seconds(cell)
        if track.on_demand:
            opinion = self._on_demand(cell)
        elif seconds is not None:
            opinion = self._majority([s for s in seconds if start_s <= s.second < end_s])
        else:
            opinion = provisioned.by_minutes(track, cell, self.bank_by_cell, self.numbers)
        return self.settled(opinion)

    def seconds(self, cell: int) -> list[Second] | None:
        """The client's throttled seconds in a cell; None where they do not speak for the resource."""
        track = self.track
        if track.on_demand or not self.throttled.get(cell) or not self._client_speaks(cell):
            return None
        rates = self._rates(self.throttled[cell])
        return [
            Second(second, count, rates[second], capacity, self.bank_by_second.get(second))
            for second, count in self.throttled[cell]
            if (capacity := track.provisioned.at(second)) is not None
        ]

    def settled(self, opinion: Opinion) -> Opinion:
        """The opinion after what is not known is taken off; `undetermined` where too little is left."""
        track = self.track
        if opinion.rule.startswith("seconds") and track.consumed is None:
            opinion = opinion.weaker(NO_CLOUDWATCH, "This rests on the client's own record alone.")
        # A write refused for an index looks like the table's unless CloudWatch counts events there.
        indexes = self.timeline.indexes(track.direction)
        if track.index is None and track.direction == "write" and indexes and track.events is None:
            opinion = opinion.weaker(
                MAYBE_INDEX, "An index may be the cause: its throttle events are not known."
            )
        return decided(opinion, self.numbers.inferred.decide_at)

    def _majority(self, seconds: Sequence[Second]) -> Opinion:
        if not seconds:
            return undecided("undetermined-no-provisioned", "What was provisioned is not known.")
        votes: Counter[Constraint] = Counter()
        for second in seconds:
            votes[second.says(self.numbers)] += second.throttles
        (constraint, most), total = votes.most_common(1)[0], votes.total()
        if most < self.numbers.inferred.majority * total:
            parts = ", ".join(
                f"{LIMITS[name]} {percent(count / total)}" for name, count in sorted(votes.items())
            )
            return undecided("undetermined-seconds", f"The client's throttled seconds do not agree: {parts}.")
        chosen = [second for second in seconds if second.says(self.numbers) == constraint]
        return provisioned.by_seconds(chosen, constraint, most / total, self.track.direction, self.numbers)

    def _on_demand(self, cell: int) -> Opinion:
        confidence = self.numbers.confidence
        rate, base = self.track.consumed_per_s(cell), confidence.minutes
        throttled = self.throttled.get(cell)
        if throttled and self._client_speaks(cell):
            rate, base = max(self._rates(throttled).values()), confidence.seconds
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
