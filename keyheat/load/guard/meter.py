"""How much has been consumed by now, from pieces that are up to a second old when they are looked at.

Every process that sends is a source. After its last piece it is taken to consume as it did before that, and
more where it was about to consume more:

    consumed
      |            . '   expected
      |        o '       piece, some tenths of a second ago
      |    . '
      |  o               piece before
      +----------------- time
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from keyheat.load.record.consumed import Consumed

OVER_S: Final = 1.0  # how long a rate is measured over, at least: shorter is chance
MOST_GROWTH: Final = 2.0
LOST_S: Final = 12.0
"""A source that is silent for longer does not consume any more: a worker that hears nothing of its master
stops by itself before that (`guardian.py`)."""


@dataclass(frozen=True, slots=True)
class Source:
    """What one process has consumed in all at some time, and how many of its requests were in flight then."""

    name: str
    at_s: float
    consumed: Consumed
    in_flight: int
    done: bool = False  # it sends no more


@dataclass(slots=True)
class Meter:
    """The sources of one run, and what can be expected of them."""

    _seen: dict[str, deque[Source]] = field(default_factory=dict)

    def read(self, sources: Iterable[Source]) -> None:
        """Take what is known now; what was known already changes nothing."""
        for source in sources:
            seen = self._seen.setdefault(source.name, deque())
            if seen and source.at_s <= seen[-1].at_s and source.done == seen[-1].done:
                continue
            seen.append(source)
            while len(seen) > 3 and seen[1].at_s <= source.at_s - 2 * OVER_S:
                seen.popleft()

    def expected(self, at_s: float) -> Consumed:
        """What will have come back in the end if nothing is sent after a time: seen, since, and in flight."""
        total = Consumed()
        for seen in self._seen.values():
            total = total.plus(_expected(seen, at_s))
        return total


def _expected(seen: deque[Source], at_s: float) -> Consumed:
    """The newest piece, what has been consumed since at the newest rate, and what was in flight."""
    last = seen[-1]
    middle = next((one for one in reversed(seen) if one.at_s <= last.at_s - OVER_S), seen[0])
    if middle is last:  # the first piece of a worker, which tells of its first second or less
        middle = Source(last.name, last.at_s - OVER_S, Consumed(), 0)
    silent_s, over_s = max(0.0, at_s - last.at_s), last.at_s - middle.at_s
    if last.done or silent_s > LOST_S:
        return last.consumed
    recent = last.consumed.after(middle.consumed)
    per_s = recent.times(1 / over_s)
    since = per_s.times(silent_s * _growth(seen[0], middle, per_s.units))
    answered = recent if recent.answers else last.consumed
    each = answered.times(1 / answered.answers) if answered.answers else Consumed()
    return last.consumed.plus(since).plus(each.times(last.in_flight))


def _growth(first: Source, middle: Source, per_s: float) -> float:
    """By how much a rate that has grown is taken to grow within another second; at least 1."""
    before_s = middle.at_s - first.at_s
    before_per_s = middle.consumed.after(first.consumed).units / before_s if before_s > 0 else 0.0
    return min(MOST_GROWTH, max(1.0, per_s / before_per_s)) if before_per_s else 1.0
