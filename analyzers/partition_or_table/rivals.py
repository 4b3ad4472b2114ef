"""What would have to be true for another constraint than the one that was inferred, and what would settle it.

A rule weighs; what it weighed against is said here, in numbers of the heaviest minute, so that who knows the
load better than its counters do can say at once that it was not so.
"""

from collections.abc import Iterator
from typing import Final

from keyheat.analysis.rules import WHOSE
from keyheat.evidence.settings import QUOTAS, partition_ceiling
from keyheat.numbers import measured, units, whole
from keyheat.runs.formats import Evidence, Rival
from keyheat.words import Constraint

from .bounds import PROVED
from .consumption import Consumption
from .ladder import LabelCandidate, heaviest_cell

EXCLUDED: Final = "nothing that is not known would do: what was consumed excludes it"
AT: Final = frozenset({"seconds-at-provisioned", "seconds-burst-spent", "minutes-at-provisioned"})


def rivals(candidate: LabelCandidate, ready: Consumption) -> tuple[Rival, ...]:
    """Every other constraint that there is for this resource, and what it takes; none for a stated cause."""
    if candidate.opinion is None or candidate.opinion.rule == WHOSE:
        return ()
    rule = candidate.opinion.rule
    cell = heaviest_cell(candidate, ready)
    found = dict(
        _on_demand(ready, cell) if ready.track.on_demand_at(cell) else _provisioned(ready, cell, rule)
    )
    found.pop(candidate.constraint, None)
    return tuple(
        Rival(constraint=constraint, needs=EXCLUDED if constraint in PROVED.get(rule, ()) else needs)
        for constraint, needs in found.items()
    )


def settled_by(candidate: LabelCandidate, ready: Consumption, evidence: Evidence) -> str:
    """The piece of evidence that would decide, and how to get it; empty for a stated cause."""
    if candidate.opinion is None:
        return ""
    table, window = evidence.table.name, evidence.window
    times = f"--start {window.start:%Y-%m-%dT%H:%MZ} --end {window.end:%Y-%m-%dT%H:%MZ}"
    if candidate.opinion.rule == WHOSE:
        named = [f"--index {one.index}" for one in ready.timeline.indexes(ready.track.direction)]
        asked = f"keyheat collect --table {table} {' '.join(named) or '--index NAME'} {times}"
        settled = f"The throttle events of each index would settle it: `{asked}`"
        logged = "; else the service, operation and table of each exception that the client logged"
        return f"{settled}{logged if ready.track.reasons else ''}."
    if not ready.track.causes:
        asked = f"keyheat collect --table {table} {times}"
        return f"CloudWatch's cause metrics, one for each constraint, would settle it: `{asked}`."
    if evidence.throttles is None and evidence.seconds is None:
        return (
            "The client's own throttles would settle it: log `error.response['ThrottlingReasons']` of each "
            "exception, with its second."
        )
    return (
        "The reasons of the client's exceptions would settle it: AWS SDKs of 2025-08 and later give "
        "`error.response['ThrottlingReasons']`."
    )


def _provisioned(ready: Consumption, cell: int, rule: str) -> Iterator[tuple[Constraint, str]]:
    track, step_s = ready.track, ready.track.step_s
    rate, capacity = track.consumed_per_s(cell), track.provisioned.at(cell)
    yield "partition", _of_partition(ready, rate, by_chance=rule in AT)
    if rate is None or not capacity:
        yield "table", "what is provisioned was used up"
    elif rate < capacity:
        bank = ready.ways[0].by_minute.banks.get(cell)
        saved = f", though {whole(bank.likely)} units were saved by estimate" if bank else ""
        spikes = f"{units(capacity, track.direction)} {_at_most(rate / capacity, step_s)}"
        yield "table", f"no burst came{saved}, and the load came in spikes: {spikes}"
    else:
        yield "table", "the burst ran out at each of these moments, and some was there again before the next"


def _on_demand(ready: Consumption, cell: int) -> Iterator[tuple[Constraint, str]]:
    track, step_s = ready.track, ready.track.step_s
    rate, maximum = track.consumed_per_s(cell), track.maximum.at(cell)
    yield "partition", _of_partition(ready, rate, by_chance=False)
    if maximum:
        seconds = f" {_at_most(rate / maximum, step_s)}" if rate is not None else ""
        yield "max_on_demand", f"the load came in spikes: {units(maximum, track.direction)}{seconds}"
    elif not track.maximum_asked:
        yield "max_on_demand", "a maximum is set that nobody asked about"
    quota = ready.timeline.quota.of(track.direction) or QUOTAS[track.direction] * ready.timeline.scale
    yield "account", f"the table with its indexes came to {units(quota, track.direction)} within a second"


def _of_partition(ready: Consumption, rate: float | None, *, by_chance: bool) -> str:
    track = ready.track
    ceiling = partition_ceiling(track.direction, ready.timeline.scale)
    needs = f"one key range took {units(ceiling, track.direction)} for a second or more"
    if rate is not None:
        needs += f", and {_at_most(rate / ceiling, track.step_s)}"
    return f"{needs}, and all together came to what is provisioned by chance" if by_chance else needs


def _at_most(share: float, step_s: int) -> str:
    """How long a rate can have lasted within a period: a mean of `share` times that rate allows no longer."""
    lasted = f"{measured(share * step_s)} s of {step_s}" if share < 1 else f"all {step_s} s"
    return f"for {lasted} at most"
