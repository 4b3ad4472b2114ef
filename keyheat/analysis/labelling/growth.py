"""On-demand tables that have not grown yet: DynamoDB names a key range, but no key is to blame.

A new on-demand table absorbs 4,000 write and 12,000 read units/s at once and grows with its peaks. Above that
its partitions throttle although the keys are even; pre-warming or a ramp helps, sharding does not.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/on-demand-capacity-mode.html
"""

from bisect import bisect_left
from collections.abc import Sequence

from keyheat.analysis.labelling.heat import Heat
from keyheat.analysis.thresholds import Thresholds
from keyheat.analysis.timeline import Track, timeline
from keyheat.evidence.facts import partition_ceiling
from keyheat.numbers import percent, units, whole
from keyheat.runs.formats import Evidence, Label

RULE = "on-demand-not-grown"


def with_growth(
    labels: Sequence[Label], evidence: Evidence, heats: Sequence[Heat], numbers: Thresholds
) -> tuple[Label, ...]:
    """The labels; those of partitions that are still to be made get the rule and the numbers that show it."""
    arranged = timeline(evidence)
    recorded = {(t.resource, t.direction): sorted(t.seconds or ()) for t in arranged.tracks}
    made = []
    for label in labels:
        track = arranged.track(None if label.resource == "table" else label.resource, label.direction)
        shown = (
            _shown(label, track, recorded[track.resource, track.direction], heats, arranged.scale, numbers)
            if track
            else None
        )
        made.append(
            label.model_copy(update={"rule": RULE, "because": (*label.because, shown)}) if shown else label
        )
    return tuple(made)


def _shown(
    label: Label,
    track: Track,
    seconds: Sequence[int],
    heats: Sequence[Heat],
    scale: float,
    numbers: Thresholds,
) -> str | None:
    """Why the table is taken not to have grown yet; None where it has, or where a key is hot."""
    if label.constraint != "partition" or not track.on_demand or not track.warm:
        return None
    peak = _peak(label, track, seconds)
    heat = next((one for one in heats if one.direction == label.direction), None)
    hottest = heat.per_s() if heat and track.index is None else None
    ceiling = partition_ceiling(label.direction, scale)
    if peak is None or peak < numbers.inferred.warm_share * track.warm:
        return None
    if hottest is not None and hottest >= numbers.inferred.at_limit * ceiling:
        return None
    share = percent(peak / track.warm)
    used = f"The load consumed {units(peak, label.direction)}, {share} of the warm throughput of "
    keys = "it reaches every partition"
    if hottest is not None:
        keys = f"the hottest key asked for {units(hottest, label.direction)} only"
    return f"{used}{whole(track.warm)}, and {keys}: the table has not grown yet."


def _peak(label: Label, track: Track, seconds: Sequence[int]) -> float | None:
    """The most units/s within the label's span, by second where the client kept them."""
    start_s, end_s = label.start.timestamp(), label.end.timestamp()
    first, after = bisect_left(seconds, start_s), bisect_left(seconds, end_s)
    if track.seconds and first < after:
        return max(track.seconds[second].consumed for second in seconds[first:after])
    cells = range(track.cell_of(start_s), int(end_s), track.step_s)
    known = (rate for cell in cells if (rate := track.consumed_per_s(cell)) is not None)
    return max(known, default=None)
