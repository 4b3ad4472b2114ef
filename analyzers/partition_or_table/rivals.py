"""What another constraint than the inferred one would need, and which evidence would decide.

The numbers are those of the heaviest minute, so that a reader who knows the load can rule a constraint out.
"""

from collections.abc import Iterator
from typing import Final

from keyheat.analysis.advice.more_evidence import collect_command
from keyheat.analysis.rules import WHOSE
from keyheat.numbers import measured, units, whole
from keyheat.runs.formats import Evidence, Rival
from keyheat.words import Constraint, capital

from .bounds import PROVED
from .consumption import Consumption
from .ladder import LabelCandidate, cells_of, heaviest_cell
from .unconfirmed import indexes_are_calm

EXCLUDED: Final = "ruled out by consumption, whatever is unknown"
AT: Final = frozenset({"seconds-at-provisioned", "seconds-burst-spent", "minutes-at-provisioned"})


def rivals(candidate: LabelCandidate, ready: Consumption) -> tuple[Rival, ...]:
    """List the resource's other constraints with what each would need; none for a stated cause."""
    if candidate.opinion is None or candidate.opinion.rule == WHOSE:
        return ()
    rule, cell = candidate.opinion.rule, heaviest_cell(candidate, ready)
    track, rate = ready.track, ready.track.consumed_per_s(cell)
    needs = f"one key range took {units(track.ceiling, track.direction)} for a second or more"
    if rate is not None:
        needs += f", and {_at_most(rate / track.ceiling, track.step_s)}"
    if rule in AT:
        needs += ", and the sum of all equals the provisioned throughput by chance"
    of_all = _on_demand(ready, cell, rate) if track.on_demand_at(cell) else [_provisioned(ready, cell, rate)]
    return tuple(
        Rival(constraint=constraint, needs=EXCLUDED if constraint == PROVED.get(rule) else needs)
        for constraint, needs in [("partition", needs), *of_all]
        if constraint != candidate.constraint
    )


def settled_by(candidate: LabelCandidate, ready: Consumption, evidence: Evidence) -> str:
    """Name the evidence that would decide, and how to get it; empty for a stated cause."""
    if candidate.opinion is None:
        return ""
    if candidate.opinion.rule == WHOSE:
        logged = (
            "the `ThrottlingReasons` of the client's exceptions, with the ARN of the table "
            "(AWS SDKs of 2025-08 and later)"
        )
        cells = cells_of(candidate, ready.track)
        if ready.track.reasons and indexes_are_calm(ready.timeline, ready.track.direction, cells):
            return f"{capital(logged)} would settle it."
        indexes = [str(track.index) for track in ready.timeline.indexes(ready.track.direction)]
        command = collect_command(evidence, *(indexes or ["NAME"]))
        whose = "each index" if ready.track.events is not None else "the table and of each index"
        events = f"The throttle events of {whose} would settle it: `{command}`"
        return f"{events}{f'; else {logged}' if ready.track.reasons else ''}."
    if not ready.track.causes:
        command = collect_command(evidence)
        return f"CloudWatch's cause metrics, one for each constraint, would settle it: `{command}`."
    if evidence.throttles is None and evidence.seconds is None:
        return (
            "The client's own throttles would settle it: log `error.response['ThrottlingReasons']` of each "
            "exception, with its second."
        )
    return (
        "The reasons of the client's exceptions would settle it: AWS SDKs of 2025-08 and later give "
        "`error.response['ThrottlingReasons']`."
    )


def _provisioned(ready: Consumption, cell: int, rate: float | None) -> tuple[Constraint, str]:
    track, capacity = ready.track, ready.track.provisioned.at(cell)
    if rate is None or not capacity:
        return "table", "the provisioned throughput was used up"
    if rate >= capacity:
        return "table", "the burst ran out at each of these moments, and was partly refilled before the next"
    bank = ready.readings[0].banks.get(cell)
    saved = f", despite an estimated {whole(bank.likely)} units" if bank else ""
    spikes = f"{units(capacity, track.direction)} {_at_most(rate / capacity, track.step_s)}"
    return "table", f"no burst was granted{saved}, and the load came in spikes: {spikes}"


def _on_demand(ready: Consumption, cell: int, rate: float | None) -> Iterator[tuple[Constraint, str]]:
    track, maximum = ready.track, ready.track.maximum.at(cell)
    if maximum:
        seconds = f" {_at_most(rate / maximum, track.step_s)}" if rate is not None else ""
        yield "max_on_demand", f"the load came in spikes: {units(maximum, track.direction)}{seconds}"
    elif not track.maximum_asked:
        lacks = "is set that was not collected"
        if track.described:
            lacks = "was set then that the table does not have now"
        yield "max_on_demand", f"a maximum {lacks}"
    quota = units(ready.timeline.quota_of(track.direction), track.direction)
    yield "account", f"the table with its indexes came to {quota} within a second"


def _at_most(share: float, step_s: int) -> str:
    """Say how long a rate can have lasted in a period whose mean is `share` times that rate."""
    return f"for up to {measured(share * step_s)} s of {step_s}" if share < 1 else f"for up to all {step_s} s"
