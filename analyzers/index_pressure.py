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
    """Report each index that throttled writes, by the client's count, else by CloudWatch's."""
    if not run.evidence.table.indexes:
        return
    for track in timeline(run.evidence).indexes(WRITE):
        by_client = sum(sum(reasons.values()) for reasons in track.reasons.values())
        if throttles := by_client or round(sum((track.events or {}).values())):
            yield Finding(
                label="back_pressure",
                because=tuple(_because(track, throttles)),
                numbers={"throttled": (throttles, "writes")},
                resource=track.resource,
                direction=WRITE,
            )


def _because(track: EvidenceTrack, throttles: int) -> Iterator[str]:
    yield f"{some(throttles, 'throttled write')} to the table: index {track.index} could not keep up."
    throttled = filter(track.refused, track.consumed or ())
    busiest = max(throttled, key=lambda cell: track.consumed_per_s(cell) or 0.0, default=0)
    rate, capacity = track.consumed_per_s(busiest), track.provisioned.at(busiest)
    if rate and capacity and not track.on_demand:
        used = of_provisioned(rate, capacity, WRITE)
        yield f"Its busiest throttled {track.cell_name} consumed {used}."
