"""Contiguous spans: throttled moments that lie close together are one event in the life of a table."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of time from `start_s` up to `end_s` (epoch seconds) and the throttles in it."""

    start_s: int
    end_s: int
    throttles: int

    def overlaps(self, start_s: float, end_s: float) -> bool:
        """Whether the span and [start_s, end_s) share a moment."""
        return self.start_s < end_s and start_s < self.end_s


def spans(moments: Iterable[tuple[int, int]], *, width_s: int, gap_s: float) -> tuple[Span, ...]:
    """Spans from (epoch second at which a moment begins, throttles in it), in any order.

    A moment lasts `width_s`; moments with at most `gap_s` between the end of one and the start of the next
    are one span. Moments without throttles make no span.

        ..xx.x......xxx...        x: throttled
          <-->      <->           gap_s = 2
    """
    found: list[Span] = []
    for start_s, throttles in sorted(moments):
        if throttles <= 0:
            continue
        end_s = start_s + width_s
        if found and start_s - found[-1].end_s <= gap_s:
            last = found.pop()
            found.append(Span(last.start_s, max(end_s, last.end_s), last.throttles + throttles))
        else:
            found.append(Span(start_s, end_s, throttles))
    return tuple(found)
