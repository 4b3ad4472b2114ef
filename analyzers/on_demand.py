"""The inferred grade for on-demand capacity: consumed against the limits that such a table has.

An on-demand table has no provisioned throughput. What is left to throttle it: the maximum that its owner set,
the quota of the account for one table with its indexes, and its partitions.
"""

from analyzers.facts import QUOTAS
from analyzers.numbers import units, whole
from analyzers.opinions import Opinion, undecided
from analyzers.thresholds import Thresholds
from analyzers.timeline import Timeline, Track


def on_demand(
    timeline: Timeline, track: Track, cell: int, *, rate: float | None, base: float, numbers: Thresholds
) -> Opinion:
    """What consumption says of one cell. `rate`: units/s while throttled; `base`: how sure that is."""
    if rate is None:
        return undecided(
            "undetermined-no-consumed", "The consumed units of the throttled time are not known."
        )
    maximum, side = track.maximum.at(cell), track.direction
    if maximum and rate >= numbers.inferred.at_limit * maximum:
        because = f"{whole(rate)} of the {units(maximum, side)} set as the on-demand maximum were consumed."
        return Opinion(
            rule="on-demand-at-maximum", constraint="max_on_demand", confidence=base, because=because
        )
    total = max(rate, _with_indexes(timeline, track, cell))
    quota = timeline.quota.of(track.direction)
    bound = quota or QUOTAS[track.direction] * timeline.scale
    if total >= numbers.inferred.at_limit * bound:
        because = (
            f"{whole(total)} of the {units(bound, side)} that the account allows one table with its indexes "
            "were consumed."
        )
        opinion = Opinion(rule="on-demand-at-quota", constraint="account", confidence=base, because=because)
        return (
            opinion
            if quota
            else opinion.weaker(0.85, "The account's own quota is not known; this is the default.")
        )
    return _below(track, rate, maximum, base)


def _below(track: Track, rate: float, maximum: float | None, base: float) -> Opinion:
    cap = f"below its maximum of {units(maximum, track.direction)}" if maximum else "with no maximum set"
    used = f"The on-demand {_kind(track)} consumed {units(rate, track.direction)}"
    because = f"{used}, {cap} and below the account's quota."
    opinion = Opinion(rule="on-demand-below-limits", constraint="partition", confidence=base, because=because)
    if maximum is None and not track.maximum_asked:
        opinion = opinion.weaker(0.85, "Whether a maximum is set is not known.")
    return opinion


def _kind(track: Track) -> str:
    return "table" if track.index is None else "index"


def _with_indexes(timeline: Timeline, track: Track, cell: int) -> float:
    """Units/s of the table and all its indexes together, as far as they are known."""
    tracks = [t for t in timeline.tracks if t.direction == track.direction]
    return sum(t.consumed_per_s(cell) or 0.0 for t in tracks)
