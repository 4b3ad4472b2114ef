"""A fix before and after, as an answer: the verdict, and every measure on both sides."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from keyheat.analysis.advice.actions import Applied
from keyheat.analysis.advice.case import Limit
from keyheat.analysis.advice.proof import Kind, Proof, Tried, middle
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
from keyheat.show.answer import Answer, Table, Tone
from keyheat.show.constraints import target_words
from keyheat.show.questions import throttled_words
from keyheat.terms import SERVICE_TIME, THROTTLED_BY, titled
from keyheat.words import LIMITS, title_of, whose

BEFORE, AFTER = "before", "after"
OTHER_DEMAND: Final = 0.1
"""By how much the attempts of both sides may differ before it is said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """A fix that was tried."""

    scenario: Scenario  # as it was
    remedy: Applied
    changes: tuple[FieldChange, ...]
    proof: Proof
    target: str
    once_dollars: float | None = None
    observed: str = ""  # how a table throttled that others load, and whose demand was replayed

    def side(self, name: str) -> tuple[Tried, ...]:
        """The runs of one side."""
        return self.proof.before if name == BEFORE else self.proof.after


@dataclass(frozen=True, slots=True, kw_only=True)
class BeforeAfter:
    """One measure on both sides: the median of the repetitions, and their least and most if they differ."""

    name: str
    before: str
    after: str
    ranges: tuple[str, str] = ("", "")

    def cells(self) -> tuple[str, str]:
        """Both sides with their ranges."""
        sides = zip((self.before, self.after), self.ranges, strict=True)
        before, after = (f"{value} ({spread})" if spread else value for value, spread in sides)
        return before, after


LABELS: Final[Mapping[Kind, str]] = {
    "fixed": "Fixed", "not_fixed": "Not fixed", "moved": "Moved", "not_shown": "Not shown",
    "invalid": "Not valid",
}  # fmt: skip
TONES: Final[Mapping[Kind, Tone]] = {"fixed": "none", "not_shown": "invalid", "invalid": "invalid"}
"""The others have the colour of the limit that throttles."""


def fix_answer(fix: Fix, page: Path) -> Answer:
    """The verdict, every measure on both sides, and what was changed."""
    proof, measures = fix.proof, measures_of(fix)
    columns = ("measure", "before", "after")
    rows = (dict(zip(columns, (measure.name, *measure.cells()), strict=True)) for measure in measures)
    return Answer(
        title=fix.scenario.name,
        label=LABELS[proof.kind],
        tone=TONES.get(proof.kind, (proof.now or proof.limit)[0]),
        sentence=sentence_of(fix),
        context=f"{target_words(fix.target)}, {some(len(proof.before), 'run')} of each side",
        tables=(
            Table(title="Before and after", rows=tuple(rows)),
            Table(title=steps_title(fix.remedy.actions), rows=tuple(map(asdict, fix.changes))),
        ),
        notes=tuple(warnings_of(fix)),
        link=str(page),
        data=_data(fix, measures),
    )


def _data(fix: Fix, measures: Sequence[BeforeAfter]) -> dict[str, Any]:
    proof = fix.proof
    return {
        "verdict": proof.kind, "scenario": fix.scenario.name, "target": fix.target,
        "recommendation": " + ".join(fix.remedy.actions), "tried": fix.remedy.says,
        "limit": _limit(proof.limit), "now": proof.now and _limit(proof.now), "on_burst": proof.on_burst,
        "changes": fix.changes, "measures": measures,
        "before": [_run(one) for one in proof.before], "after": [_run(one) for one in proof.after],
    }  # fmt: skip


def _limit(limit: Limit) -> dict[str, str]:
    return dict(zip(("constraint", "resource", "direction"), limit, strict=True))


def _run(one: Tried) -> dict[str, Any]:
    return {
        "folder": one.folder, "seed": one.manifest.seed, "valid": one.valid,
        "constraint": one.diagnosis.verdict.constraint, "attempts": one.attempts,
        "throttles": one.throttles, "throttle_share": one.throttled_share,
        "accepted_write_units_per_s": one.measured.write.units_per_s,
        "accepted_read_units_per_s": one.measured.read.units_per_s,
        "units_per_read": one.measured.units_per_read, "dollars_per_month": one.dollars_per_month,
    }  # fmt: skip


def limit_words(limit: Limit) -> str:
    """A limit in a sentence: `a partition limit (table writes)`."""
    constraint, resource, direction = limit
    return f"{LIMITS[constraint]} ({whose(resource).removeprefix('the ')} {direction}s)"


def steps_title(actions: Sequence[str]) -> str:
    """What was done, each thing once: two capacities are raised under one heading."""
    first, *others = dict.fromkeys(map(title_of, actions))
    return " and ".join([first, *(one[0].lower() + one[1:] for one in others)])


def sentence_of(fix: Fix) -> str:
    """The verdict, with the numbers that carry it."""
    proof, says = fix.proof, fix.remedy.says
    if proof.kind == "invalid":
        which = ", ".join(folder.name for folder in proof.invalid) or "a run"
        return f"Nothing is proved: {which} is invalid."
    counts = _throttles(fix)
    if proof.kind == "not_shown":
        return f"Nothing is proved: rerun unchanged, {limit_words(proof.limit)} hardly throttles ({counts})."
    if proof.kind == "fixed":
        return f"Fixed: with {says}, throttles {counts}; {_accepted(fix)}."
    if proof.on_burst is not None and proof.now is not None:
        verdict = "Moved" if proof.kind == "moved" else "Not fixed"
        return (
            f"{verdict}: with {says}, nothing throttles yet, but burst capacity serves it; once that is "
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
    """Every measure that at least one side has."""
    made = [
        _measure(fix, "Throttles", lambda one: one.throttles, whole),
        _measure(fix, "Throttled attempts", lambda one: one.throttled_share, _share),
    ]
    if fix.observed:
        before, after = (throttled_words(fix.side(side)[0].diagnosis.labels) for side in (BEFORE, AFTER))
        made.append(BeforeAfter(name="While throttled, replayed", before=before, after=after))
        made.append(BeforeAfter(name="While throttled, observed", before=fix.observed, after=NOTHING))
    for direction in ("write", "read"):
        made += _of_direction(fix, direction)
    made += _latencies(fix)
    made.append(_measure(fix, "Dollars per month", lambda one: one.dollars_per_month, a_month))
    made += _reading(fix)
    labels = (_labels(fix.proof.before), _labels(fix.proof.after))
    made.append(BeforeAfter(name=titled(THROTTLED_BY), before=labels[0], after=labels[1]))
    return tuple(one for one in made if {one.before, one.after} != {NOTHING})


def _of_direction(fix: Fix, direction: str) -> list[BeforeAfter]:
    """What was asked for, and what was accepted."""
    return [
        _measure(fix, f"Attempted {direction}s per second", partial(_tried, direction), measured),
        _measure(
            fix, f"Accepted {direction}s", partial(_accepted_units, direction), partial(_rate, direction)
        ),
    ]


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
        _measure(fix, "RCU of that read", lambda one: one.measured.units_per_read, measured),
    ]


def _labels(runs: Sequence[Tried]) -> str:
    seen = dict.fromkeys(limit for one in runs if one.throttles_notably for limit in one.limits)
    return "; ".join(map(limit_words, seen)) or "nothing"


def warnings_of(fix: Fix) -> list[str]:
    """Notes on the verdict."""
    said = list(fix.remedy.notes)
    before, after = (
        middle([_tried("write", one) or 0.0 for one in fix.side(side)]) if fix.side(side) else 0.0
        for side in (BEFORE, AFTER)
    )
    if fix.proof.limit[2] == "write" and before and abs(after / before - 1) > OTHER_DEMAND:
        said.append(f"The demand differs: {measured(before)} and {measured(after)} writes/s.")
    if fix.once_dollars:
        said.append(f"Pre-warming costs {dollars(fix.once_dollars)} once.")
    scale = fix.proof.before[0].manifest.scale if fix.proof.before else 1.0
    if scale != 1:
        said.append(f"Every rate limit is at scale {scale:g}; capacities and dollars are those of scale 1.")
    return said
