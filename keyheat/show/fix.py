"""A fix before and after: the verdict, and every measure on both sides."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import starmap
from statistics import median
from typing import Any, Final

from keyheat.analysis.advice.actions import Applied
from keyheat.analysis.advice.fix import Kind, Proof, Tried
from keyheat.analysis.advice.search import NEAR_RATIO
from keyheat.analysis.verdict import groups
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
from keyheat.runfiles import REPORT
from keyheat.runs.formats import Label
from keyheat.scenario.scenario import Scenario
from keyheat.scenario.variants import FieldChange
from keyheat.show.answer import Answer, Figure, Table, Tone
from keyheat.show.charts import LIGHT, coarser, compact, figure, width_for
from keyheat.show.run import throttled_words
from keyheat.show.verdict import in_two_words, target_words, tone_of
from keyheat.terms import P50, P99, SERVICE_TIME, THROTTLED_BY, titled
from keyheat.words import READ, WRITE, WRITES_FIRST, Direction, index_of, limit_words, title_of

Row = tuple[str, ...]  # a measure, before and after
OTHER_DEMAND: Final = 0.1
"""By how much the attempts of both sides may differ before the answer says so."""
LABELS: Final[Mapping[Kind, str]] = {
    "fixed": "Fixed", "not_fixed": "Not fixed", "moved": "Moved", "not_shown": "Not shown",
    "invalid": "Not valid",
}  # fmt: skip
TONES: Final[Mapping[Kind, Tone]] = {"fixed": "none", "not_shown": "invalid", "invalid": "invalid"}
"""The others have the colour of the limit that throttles."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """A fix that was tried."""

    scenario: Scenario  # as it was
    remedy: Applied
    changes: tuple[FieldChange, ...]
    proof: Proof
    target: str
    once_dollars: float | None = None
    incident: tuple[Label, ...] = ()  # of a table that others load, and whose demand was replayed
    now_dollars_per_month: float | None = None  # of that table as it is described by now

    @property
    def sides(self) -> tuple[tuple[Tried, ...], tuple[Tried, ...]]:
        return self.proof.before, self.proof.after


def fix_answer(fix: Fix) -> Answer:
    """The verdict, every measure on both sides, what was changed, and each run with its report."""
    proof, index = fix.proof, index_of(fix.remedy.resource)
    rows = (dict(zip(("measure", "before", "after"), row, strict=True)) for row in _pairs(fix))
    measures = tuple(row for row in rows if {row["before"], row["after"]} != {NOTHING})
    tables = [Table(title="Before and after", rows=measures)]
    if fix.changes:  # a replay of evidence is altered itself, not its scenario
        tables.append(Table(title=steps_title(fix.remedy.actions), rows=tuple(map(asdict, fix.changes))))
    commands: tuple[str, ...] = ()
    if proof.kind == "not_fixed" and fix.remedy.queries_per_read and fix.incident:
        # How more shards are tried of a replayed incident: few of them can lie in one partition.
        more = f"keyheat whatif TABLE.toml shards{f' --index {index}' if index else ''}"
        commands = ("keyheat init --from-diagnosis DIR --out TABLE.toml", more)
    return Answer(
        title=fix.scenario.name,
        label=LABELS[proof.kind],
        tone=TONES.get(proof.kind, (proof.now or proof.limit)[0]),
        sentence=" ".join(filter(None, (sentence_of(fix), _unlike_observed(fix), *_not_replayed(fix)))),
        context=f"{target_words(fix.target)}, {some(len(proof.before), 'run')} of each side",
        tables=tuple(tables),
        notes=tuple(dict.fromkeys(warnings_of(fix))),
        commands=commands,
        parts=tuple(_part(run) for side in fix.sides for run in side),
        data=_data(fix, measures),
    )


def _part(run: Tried) -> Answer:
    verdict = run.diagnosis.verdict
    return Answer(
        title=run.folder.name,
        label=in_two_words(verdict, on_burst=False, throttles=run.throttles),
        tone=tone_of(verdict, on_burst=False),
        sentence=f"{whole(run.throttles)} of {some(run.attempts, 'attempt')} throttled.",
        link=f"{run.folder.name}/{REPORT}",
    )


def _data(fix: Fix, measures: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    proof = fix.proof
    was, now = (
        limit and dict(zip(("constraint", "resource", "direction"), limit, strict=True))
        for limit in (proof.limit, proof.now)
    )
    return {
        "verdict": proof.kind, "scenario": fix.scenario.name, "target": fix.target,
        "recommendation": " + ".join(fix.remedy.actions), "tried": fix.remedy.says,
        "limit": was, "now": now, "on_burst": proof.on_burst,
        "changes": fix.changes, "measures": measures,
        "before": [_run(run) for run in proof.before], "after": [_run(run) for run in proof.after],
    }  # fmt: skip


def _run(run: Tried) -> dict[str, Any]:
    return {
        "folder": run.folder, "seed": run.manifest.seed, "valid": run.valid,
        "constraint": run.diagnosis.verdict.constraint, "attempts": run.attempts,
        "throttles": run.throttles, "throttle_share": run.throttled_share,
        "accepted_write_units_per_s": run.traffic[WRITE].units_per_s,
        "accepted_read_units_per_s": run.traffic[READ].units_per_s,
        "units_per_read": run.units_per_read, "dollars_per_month": run.dollars_per_month,
    }  # fmt: skip


def steps_title(actions: Sequence[str]) -> str:
    """Name the actions, each once: two raised capacities share a heading."""
    first, *others = dict.fromkeys(map(title_of, actions))
    return " and ".join([first, *(title[0].lower() + title[1:] for title in others)])


def sentence_of(fix: Fix) -> str:
    """The verdict with its numbers."""
    proof = fix.proof
    if proof.kind == "invalid":
        which = ", ".join(folder.name for folder in proof.invalid) or "a run"
        return f"Nothing is proved: {which} is invalid."
    limit = limit_words(*proof.limit)
    counts = " → ".join(whole(median([run.throttles for run in side])) for side in fix.sides)
    if proof.kind == "not_shown":
        return f"Nothing is proved: rerun unchanged, {limit} hardly throttles ({counts})."
    verdict = f"{LABELS[proof.kind]}: with {fix.remedy.says}"
    if proof.kind == "fixed":
        return f"{verdict}, throttles {counts}; {_accepted(fix)}."
    if proof.on_burst is not None and proof.now is not None:
        return (
            f"{verdict}, nothing throttles yet, but burst capacity serves it; once that is spent, "
            f"{limit_words(*proof.now)} throttles. {proof.on_burst}"
        )
    if proof.kind == "moved" and proof.now is not None:
        now = limit_words(*proof.now)
        return f"{verdict}, {limit} throttles no longer, but now {now} does; throttles {counts}."
    return f"{verdict}, {limit} still throttles; throttles {counts}."


def _unlike_observed(fix: Fix) -> str:
    """That the replay throttles far less or more than the table did, so its fix may not be the table's."""
    replayed = median([run.throttles for run in fix.proof.before]) if fix.proof.before else 0.0
    observed = sum(label.throttles for label in fix.incident)
    if replayed < NEAR_RATIO * observed:
        return f"The replay shows only {whole(replayed)} of the {whole(observed)} observed throttles."
    if observed and replayed > observed / NEAR_RATIO:
        return f"The replay shows {whole(replayed)} throttles, and {whole(observed)} were observed."
    return ""


def _not_replayed(fix: Fix) -> Iterator[str]:
    """The limits of an incident that throttle nothing in its replay."""
    replayed = {group.limit for run in fix.proof.before for group in groups(run.diagnosis.labels)}
    for group in groups(fix.incident):
        if group.limit not in replayed and group.constraint != "undetermined":
            count = whole(group.throttles)
            yield f"Not replayed: {count} throttles by {limit_words(*group.limit)}."


def _accepted(fix: Fix) -> str:
    """Accepted units of the throttled direction, before and after."""
    direction = fix.proof.limit[2]
    sides = (_values(side, lambda run: run.traffic[direction].units_per_s) for side in fix.sides)
    rates = (rate(median(values) if values else None, UNITS[direction]) for values in sides)
    return f"{' → '.join(rates)} accepted{_with_indexes(fix)}"


def _with_indexes(fix: Fix) -> str:
    """That units are those of the table and its indexes; empty where it has none."""
    has_indexes = any(run.manifest.table.indexes for side in fix.sides for run in side)
    return ", indexes included" if has_indexes else ""


def _values(side: Sequence[Tried], of: Callable[[Tried], float | None]) -> list[float]:
    return [value for run in side if (value := of(run)) is not None]


def _pairs(fix: Fix) -> Iterator[Row]:
    def numbers(name: str, of: Callable[[Tried], float | None], say: Callable[[float], str]) -> Row:
        cells = [NOTHING, NOTHING]
        for place, values in enumerate(_values(side, of) for side in fix.sides):
            if values:
                low, high = say(min(values)), say(max(values))
                cells[place] = say(median(values)) + (f" ({low} to {high})" if low != high else "")
        return name, *cells

    yield numbers("Throttles", lambda run: run.throttles, whole)
    yield numbers(
        "Throttled attempts", lambda run: run.throttled_share, lambda part: percent(part) if part else "none"
    )
    if fix.incident:
        before, after = (throttled_words(side[0].diagnosis.labels) for side in fix.sides)
        yield "While throttled, replayed", before, after
        yield "While throttled, observed", throttled_words(fix.incident), NOTHING
    for side in WRITES_FIRST:
        yield numbers(f"Attempted {side}s per second", _of_traffic(side, "attempts_per_s"), measured)
        say = partial(rate, unit=UNITS[side])
        yield numbers(f"Accepted {side}s{_with_indexes(fix)}", _of_traffic(side, "units_per_s"), say)
    times = titled(SERVICE_TIME)
    yield numbers(f"{times}, {P50}", lambda run: run.measures.get("p50_ms"), milliseconds)
    yield numbers(f"{times}, {P99}", lambda run: run.measures.get("p99_ms"), milliseconds)
    yield numbers("Dollars per month", lambda run: run.dollars_per_month, a_month)
    if fix.remedy.queries_per_read is not None:
        before, after = (some(count, "query", "queries") for count in fix.remedy.queries_per_read)
        yield "Reading one key back", before, after
        yield numbers("RCU of that read", lambda run: run.units_per_read, measured)
    before, after = map(_labels, fix.sides)
    yield titled(THROTTLED_BY), before, after


def _of_traffic(direction: Direction, name: str) -> Callable[[Tried], float | None]:
    """Return a getter for a rate of one direction; it gives None if nothing was sent."""
    return lambda run: getattr(run.traffic[direction], name) or None


def _labels(runs: Sequence[Tried]) -> str:
    """What refused attempts; "hardly anything" where an application would not notice."""
    notable = [run for run in runs if run.throttles_notably]
    seen = dict.fromkeys(limit for run in notable or runs for limit, count in run.limits.items() if count)
    words = "; ".join(starmap(limit_words, seen))
    return f"hardly anything: {words}" if words and not notable else words or "nothing"


def warnings_of(fix: Fix) -> Iterator[str]:
    """Notes on the verdict."""
    yield from (f"Not tried: {skipped}" for skipped in fix.remedy.not_tried)
    yield from fix.remedy.notes
    before, after = (_values(side, lambda run: run.traffic[WRITE].attempts_per_s) for side in fix.sides)
    if fix.proof.limit[2] == "write" and before and after:
        first, then = median(before), median(after)
        if first and abs(then / first - 1) > OTHER_DEMAND:
            yield f"The demand differs: {measured(first)} and {measured(then)} writes/s."
    if any(change.path.startswith("table.warm") for change in fix.changes):
        price = f"costs {dollars(fix.once_dollars)} once" if fix.once_dollars else "is charged once"
        yield f"Pre-warming {price}, and cannot be lowered afterwards."
    before_dollars = [run.dollars_per_month for run in fix.proof.before[:1]]
    if fix.now_dollars_per_month and fix.now_dollars_per_month not in before_dollars:
        now = a_month(fix.now_dollars_per_month)
        yield f"The table was changed since: as it is described by now it costs {now} a month."
    scale = fix.proof.before[0].manifest.scale if fix.proof.before else 1.0
    if scale != 1:
        yield f"Every rate limit is at scale {scale:g}; capacities and dollars are those of scale 1."


def fix_figure(sides: Sequence[Sequence[Tried]]) -> Iterator[Figure]:
    """Throttles per second of the first run of each side; nothing if a side has no run."""
    if not all(sides):
        return
    import plotly.graph_objects as go

    traces, most = [], []
    looks = (("before", "muted", "dash"), ("after", "good", "solid"))
    for (name, role, dash), side in zip(looks, sides, strict=True):
        write, read = (traffic.by_second["throttled"] for traffic in side[0].traffic.values())
        throttled = (write + read).reset_index(drop=True)
        width_s = width_for(len(throttled), 600)
        means = coarser(throttled.to_frame(), width_s)["throttled"]
        line = go.Scatter(
            name=name, x0=0, dx=width_s, y=compact([*means, *means[-1:]]), mode="lines",
            line={"color": LIGHT[role], "width": 2, "shape": "hv", "dash": dash},
            hovertemplate=f"after %{{x:,}} s: %{{y:,}} a second, {name}<extra></extra>",
        )  # fmt: skip
        traces.append(line)
        most.append(rate(float(throttled.max()), "throttles"))
    chart = figure(traces, 250, "throttles per second", xaxis={"ticksuffix": " s"})
    summary = f"At most {most[0]} before, {most[1]} after."
    yield Figure(title="Throttles over time", summary=summary, figure=chart)
