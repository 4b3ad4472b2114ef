"""A fix before and after, in words: the verdict, and every measure on both sides."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from keyheat.analysis.advice.case import Limit
from keyheat.analysis.advice.proof import Observed, Proof, Tried, middle
from keyheat.analysis.advice.remedies import Remedy
from keyheat.analysis.report.latency import TABLE_PERCENTILES
from keyheat.analysis.run_result import RunTraffic
from keyheat.numbers import (
    NOTHING,
    UNITS,
    a_month,
    dollars,
    measured,
    milliseconds,
    percent,
    rate,
    some,
    whole,
)
from keyheat.scenario.scenario import Scenario
from keyheat.scenario.variants import FieldChange
from keyheat.terms import SERVICE_TIME, THROTTLED_BY, titled
from keyheat.wording.constraints import limit_of
from keyheat.words import title_of

BEFORE, AFTER = "before", "after"
OTHER_DEMAND: Final = 0.1
"""By how much the attempts of both sides may differ before it is said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """A fix that was tried."""

    scenario: Scenario  # as it was
    remedy: Remedy
    changes: tuple[FieldChange, ...]
    proof: Proof
    target: str
    once_dollars: float | None = None
    observed: Observed | None = None  # of a table that others load, whose demand was replayed

    def side(self, name: str) -> tuple[Tried, ...]:
        """The runs of one side."""
        return self.proof.before if name == BEFORE else self.proof.after


@dataclass(frozen=True, slots=True, kw_only=True)
class BeforeAfter:
    """One measure on both sides: the median of the repetitions, and the least to the most of them."""

    name: str
    before: str
    after: str
    ranges: tuple[str, str] = ("", "")  # empty where they do not differ

    @property
    def cells(self) -> tuple[str, str]:
        """Both sides with their ranges."""
        before, after = self.ranges
        return (
            f"{self.before} ({before})" if before else self.before,
            f"{self.after} ({after})" if after else self.after,
        )


def limit_words(limit: Limit) -> str:
    """A limit in a sentence: `a partition limit of the table (writes)`."""
    constraint, resource, direction = limit
    return f"{limit_of(constraint, resource)} ({direction}s)"


def steps_title(actions: Sequence[str]) -> str:
    """What was done, each thing once: two capacities are raised under one heading."""
    first, *others = dict.fromkeys(map(title_of, actions))
    return " and ".join([first, *(one[0].lower() + one[1:] for one in others)])


def sentence_of(fix: Fix) -> str:
    """The verdict, with the numbers that carry it."""
    proof, says = fix.proof, fix.remedy.says
    if proof.kind == "invalid":
        which = ", ".join(folder.name for folder in proof.invalid) or "a run"
        return f"Nothing is proved: {which} says nothing about its table."
    counts = _throttles(fix)
    if proof.kind == "not_shown":
        return (
            f"Nothing is proved: run again as it was, {limit_words(proof.limit)} hardly throttles ({counts})."
        )
    if proof.kind == "fixed":
        return f"Fixed: with {says}, throttles {counts}; {_accepted(fix)}."
    if proof.on_burst is not None and proof.now is not None:
        verdict = "Moved" if proof.kind == "moved" else "Not fixed"
        return (
            f"{verdict}: with {says}, nothing throttles yet, but it lives on what was saved; once that is "
            f"spent, {limit_words(proof.now)} throttles. {proof.on_burst}"
        )
    if proof.kind == "moved" and proof.now is not None:
        return (
            f"Moved: with {says}, {limit_words(proof.limit)} throttles no longer, but now "
            f"{limit_words(proof.now)} does; throttles {counts}."
        )
    return f"Not fixed: with {says}, {limit_words(proof.limit)} still throttles; throttles {counts}."


def _throttles(fix: Fix) -> str:
    before, after = (middle([one.throttles for one in fix.side(side)]) for side in (BEFORE, AFTER))
    return f"{whole(before)} → {whole(after)}"


def _accepted(fix: Fix) -> str:
    """Units of the direction that was throttled."""
    direction = fix.proof.limit[2]
    rates = ([_traffic(one, direction).units_per_s for one in fix.side(side)] for side in (BEFORE, AFTER))
    known = ([rate for rate in of_side if rate is not None] for of_side in rates)
    before, after = (middle(of_side) if of_side else None for of_side in known)
    unit = UNITS[direction]
    return f"{rate(before, unit)} → {rate(after, unit)} accepted"


def measures_of(fix: Fix) -> tuple[BeforeAfter, ...]:
    """Every measure that at least one side has, the same words for both."""
    made = [
        _measure(fix, "Throttles", lambda one: one.throttles, whole),
        _measure(fix, "Throttled, of all attempts", lambda one: one.throttled_share, _share),
    ]
    if fix.observed is not None:
        seen = f"{whole(fix.observed.throttles)} in all, {measured(fix.observed.per_s)} a second"
        made.append(_measure(fix, "Throttles a second, replayed", _throttles_per_s, measured))
        made.append(BeforeAfter(name="Throttles of the table itself", before=seen, after=NOTHING))
    for direction in ("write", "read"):
        made += _of_direction(fix, direction)
    made += _latencies(fix)
    made.append(_measure(fix, "A month of the table", lambda one: one.dollars_per_month, a_month))
    made += _reading(fix)
    labels = (_labels(fix.proof.before), _labels(fix.proof.after))
    made.append(BeforeAfter(name=titled(THROTTLED_BY), before=labels[0], after=labels[1]))
    return tuple(one for one in made if {one.before, one.after} != {NOTHING})


def _of_direction(fix: Fix, direction: str) -> list[BeforeAfter]:
    """What was asked for, and what was accepted."""
    return [
        _measure(fix, f"{direction.capitalize()}s tried a second", partial(_tried, direction), measured),
        _measure(
            fix, f"Accepted {direction}s", partial(_accepted_units, direction), partial(_rate, direction)
        ),
    ]


def _throttles_per_s(one: Tried) -> float | None:
    rates = [side.throttled_per_s for side in (one.measured.read, one.measured.write)]
    return sum(rate or 0.0 for rate in rates) if any(rate is not None for rate in rates) else None


def _tried(direction: str, one: Tried) -> float | None:
    return _traffic(one, direction).attempts_per_s or None


def _accepted_units(direction: str, one: Tried) -> float | None:
    return _traffic(one, direction).units_per_s or None


def _rate(direction: str, units_per_s: float) -> str:
    return rate(units_per_s, UNITS[direction])


def _traffic(one: Tried, direction: str) -> RunTraffic:
    return one.measured.write if direction == "write" else one.measured.read


def _share(share: float) -> str:
    return percent(share) if share else "none"


def _measure(
    fix: Fix, name: str, of: Callable[[Tried], float | None], say: Callable[[float], str]
) -> BeforeAfter:
    before, after = (
        [value for one in fix.side(side) if (value := of(one)) is not None] for side in (BEFORE, AFTER)
    )
    return BeforeAfter(
        name=name,
        before=say(middle(before)) if before else NOTHING,
        after=say(middle(after)) if after else NOTHING,
        ranges=(_range(before, say), _range(after, say)),
    )


def _range(values: Sequence[float], say: Callable[[float], str]) -> str:
    low, high = say(min(values, default=0.0)), say(max(values, default=0.0))
    return "" if low == high else f"{low} to {high}"


def _latencies(fix: Fix) -> list[BeforeAfter]:
    """Service times of the operation that both sides sent most."""
    operation = _operation(fix)
    if operation is None:
        return []
    return [
        BeforeAfter(
            name=f"{operation}, {SERVICE_TIME}, p{percentile:g}",
            before=_latency(fix, BEFORE, operation, percentile),
            after=_latency(fix, AFTER, operation, percentile),
        )
        for percentile in (50.0, 99.0)
    ]


def _operation(fix: Fix) -> str | None:
    """Of the operations that every run timed, the one with most accepted requests."""
    timed = [one.accepted_latency for one in (*fix.proof.before, *fix.proof.after)]
    common = set.intersection(*map(set, timed)) if timed else set()
    return max(common, key=lambda name: sum(one[name].count for one in timed), default=None)


def _latency(fix: Fix, side: str, operation: str, percentile: float) -> str:
    place = TABLE_PERCENTILES.index(percentile)
    return milliseconds(middle([one.accepted_latency[operation].table[place] for one in fix.side(side)]))


def _reading(fix: Fix) -> list[BeforeAfter]:
    """What reading a key back costs: its queries, and units where whole reads were counted."""
    queries = fix.remedy.queries_per_read
    if queries is None:
        return []
    before, after = (f"{some(count, 'query', 'queries')}" for count in queries)
    return [
        BeforeAfter(name="Reading one key back", before=before, after=after),
        _measure(fix, "RCU of such a read", lambda one: one.measured.units_per_read, measured),
    ]


def _labels(runs: Sequence[Tried]) -> str:
    seen = dict.fromkeys(limit for one in runs if one.throttles_notably for limit in one.limits)
    return "; ".join(map(limit_words, seen)) or "nothing"


def warnings_of(fix: Fix) -> list[str]:
    """What has to be known beside the verdict."""
    said = list(fix.remedy.notes)
    before, after = (
        middle([_tried("write", one) or 0.0 for one in fix.side(side)]) if fix.side(side) else 0.0
        for side in (BEFORE, AFTER)
    )
    if fix.proof.limit[2] == "write" and before and abs(after / before - 1) > OTHER_DEMAND:
        said.append(f"The demand was not quite the same: {measured(before)} and {measured(after)} writes/s.")
    if fix.once_dollars:
        said.append(f"Pre-warming is paid once: {dollars(fix.once_dollars)}.")
    scale = fix.proof.before[0].manifest.scale if fix.proof.before else 1.0
    if scale != 1:
        said.append(f"At scale {scale:g} of every rate limit; capacities and dollars are those of scale 1.")
    return said
