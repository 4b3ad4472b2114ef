"""Did an index throttle the writes to its table? A write waits until every index has taken its entry.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/gsi-throttling.html
"""

from collections.abc import Iterator

from keyheat.analysis.timeline import timeline
from keyheat.analysis.track import EvidenceTrack
from keyheat.numbers import of_provisioned, some
from keyheat.runs.formats import Finding
from keyheat.runs.run import Run
from keyheat.words import WRITE


def analyze(run: Run) -> Iterator[Finding]:
    """Report each index that throttled writes."""
    if not run.evidence.table.indexes:
        return
    for track in timeline(run.evidence).indexes(WRITE):
        if throttles := _throttles(track):
            yield _finding(track, throttles)


def _finding(track: EvidenceTrack, throttles: int) -> Finding:
    because = [f"{some(throttles, 'throttled write')} to the table: index {track.index} could not keep up."]
    throttled = filter(track.refused, track.consumed or ())
    busiest = max(throttled, key=lambda cell: track.consumed_per_s(cell) or 0.0, default=0)
    rate, capacity = track.consumed_per_s(busiest), track.provisioned.at(busiest)
    if rate and capacity and not track.on_demand:
        because.append(
            f"Its busiest throttled {track.cell_name} consumed {of_provisioned(rate, capacity, 'write')}."
        )
    return Finding(
        label="back_pressure",
        because=tuple(because),
        numbers={"throttled": (throttles, "writes")},
        resource=track.resource,
        direction=WRITE,
    )


def _throttles(track: EvidenceTrack) -> int:
    """Return the client's count, else CloudWatch's."""
    seen = sum(sum(reasons.values()) for reasons in track.reasons.values())
    return seen or round(sum((track.events or {}).values()))
