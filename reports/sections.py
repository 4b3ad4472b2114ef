"""What a report says where: the verdict and its numbers, charts by section, tables, details."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analyzers.formats import Verdict
from reports.charts import minute_chart, rate_table, second_chart
from reports.constraints import NAMES
from reports.facts import Facts
from reports.figures import Chart, Table
from reports.heat_chart import heat_chart
from reports.key_charts import hottest, key_chart
from reports.label_chart import label_chart
from reports.load import Run
from reports.load_charts import generator_chart, generator_summary, latency_chart
from reports.numbers import UNITS, moment, percent, rate, some, span, whole
from reports.reasons import reason_table
from reports.record import Record, Resource
from reports.sentences import GRADE_MEANINGS, GRADES, verdict_sentence
from reports.timeline import by_client_minute, by_minute, by_second, published_resources, table_facts

MOST_RESOURCES = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Stat:
    """One number of the first screen, with what it is and what it is to be held against."""

    name: str
    value: str
    beside: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Hero:
    """The first screen."""

    title: str
    question: str | None
    where: str
    chip: str
    role: str
    sentence: str
    stats: tuple[Stat, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A heading with its charts, and what is to be said where they cannot be drawn."""

    id: str
    title: str
    short: str
    charts: tuple[Chart, ...]
    notes: tuple[str, ...]


def hero_of(run: Run, facts: Facts) -> Hero:
    """The verdict and the numbers that carry it."""
    diagnosis = run.diagnosis
    verdict = diagnosis.verdict
    return Hero(
        title=title_of(run),
        question=run.manifest.question if run.manifest else None,
        where=_where(run, facts),
        chip=NAMES[verdict.constraint] if verdict.valid else "Not valid",
        role="invalid" if not verdict.valid else verdict.constraint,
        sentence=verdict_sentence(verdict, facts, generator_bound=diagnosis.generator.bound),
        stats=_stats(run, facts),
        warnings=_warnings(run),
    )


def title_of(run: Run) -> str:
    """The name of a run: its scenario, else its table."""
    facts = table_facts(run)
    return (run.manifest.name if run.manifest else None) or (facts.name if facts else None) or "run"


def _where(run: Run, facts: Facts) -> str:
    table = table_facts(run)
    parts = [f"table {table.name}" if table else "", _mode(run)]
    if run.manifest and run.manifest.target:
        parts.append("local table" if run.manifest.target == "local" else run.manifest.target)
    start, end = _times(run, facts)
    if start is not None and end is not None:
        parts.append(f"{moment(start)} UTC, {span(end - start)}")
    return " · ".join(part for part in parts if part)


def _mode(run: Run) -> str:
    table = table_facts(run)
    modes: Mapping[str | None, str] = {"PROVISIONED": "provisioned", "PAY_PER_REQUEST": "on-demand"}
    return modes.get(table.billing_mode, "") if table else ""


def _times(run: Run, facts: Facts) -> tuple[float | None, float | None]:
    manifest = run.manifest
    if manifest and manifest.started_at and manifest.ended_at:
        return manifest.started_at.timestamp(), manifest.ended_at.timestamp()
    if run.evidence is not None:
        return run.evidence.window.start.timestamp(), run.evidence.window.end.timestamp()
    return facts.start_s, facts.end_s


def _stats(run: Run, facts: Facts) -> tuple[Stat, ...]:
    verdict, unit = run.diagnosis.verdict, UNITS[facts.resource.direction]
    attempts = (
        f"{percent(facts.throttled_share)} of {whole(facts.attempts)} attempts" if facts.attempts else ""
    )
    if facts.provisioned_per_s:
        held = f"{percent(facts.used_share)} of {_owner(facts.resource)}'s {whole(facts.provisioned_per_s)}"
    else:
        held = "no provisioned capacity known" if _mode(run) != "on-demand" else "on-demand"
    return (
        Stat(name="Throttled", value=whole(facts.throttles), beside=attempts),
        Stat(
            name="Consumed while throttled" if facts.throttles else "Consumed",
            value=rate(facts.consumed_per_s, unit),
            beside=held,
        ),
        _evidence_stat(verdict),
        Stat(
            name="Confidence",
            value=percent(verdict.confidence),
            beside=f"from {some(run.diagnosis.coverage.minutes, 'minute')} of evidence",
        ),
    )


def _evidence_stat(verdict: Verdict) -> Stat:
    if verdict.grade != "none":
        return Stat(name="Evidence", value=GRADES[verdict.grade], beside=GRADE_MEANINGS[verdict.grade])
    if verdict.constraint == "none":
        return Stat(name="Evidence", value="No throttles", beside="there is nothing to explain")
    return Stat(name="Evidence", value="Not enough", beside="no reasons, and nothing to infer the cause from")


def _owner(resource: Resource) -> str:
    return f"index {resource.index}" if resource.index else "the table"


def _warnings(run: Run) -> tuple[str, ...]:
    said = []
    if run.manifest is not None and run.manifest.status not in (None, "finished"):
        said.append(
            f"The run was {'interrupted' if run.manifest.status == 'interrupted' else 'not finished'}: "
            "it shows what was recorded until then."
        )
    if run.scale != 1:
        said.append(
            f"Rehearsed at scale {run.scale:g}: the local table multiplies every rate limit by it, "
            f"so one partition admits {whole(1000 * run.scale)} WCU/s here."
        )
    return tuple(said)


def charts_of(run: Run, record: Record, facts: Facts) -> tuple[Section, ...]:
    """Every chart that the files allow, the verdict's resource first."""
    return (
        _capacity(run, record, facts),
        _keys(run, facts),
        _latency(run),
        _generator(run, record),
        _labels(run),
    )


def _ordered(found: list[Resource], first: Resource) -> list[Resource]:
    return sorted(found, key=lambda r: (r != first, r.index or "", r.direction != first.direction))


def _capacity(run: Run, record: Record, facts: Facts) -> Section:
    notes: list[str] = []
    charts: list[Chart | None] = []
    ceiling = facts.ceiling_per_s if run.diagnosis.verdict.constraint == "partition" else None
    seen = _ordered(record.resources(), facts.resource)
    published = _ordered(published_resources(run), facts.resource)
    for place, resource in enumerate(_ordered(list({*seen, *published}), facts.resource)[:MOST_RESOURCES]):
        mine = ceiling if resource == facts.resource else None
        seconds = by_second(run, record, resource) if resource in seen else None
        if seconds is not None:
            charts.append(second_chart(seconds, f"chart-seconds-{place}", ceiling_per_s=mine))
        minutes = by_minute(run, resource) if resource in published else None
        if minutes is not None:
            charts.append(minute_chart(minutes, f"chart-minutes-{place}", ceiling_per_s=mine))
    if not seen:
        notes.append("No second-by-second chart: seconds.parquet and throttles.parquet are missing.")
    if not published:
        why = (
            "evidence.json is missing"
            if run.evidence is None
            else "CloudWatch published nothing for this time"
        )
        notes.append(f"No minute-by-minute chart: {why}.")
    if len({*seen, *published}) > MOST_RESOURCES:
        notes.append(f"The {MOST_RESOURCES} first resources are drawn; the tables below have them all.")
    return _section("capacity", "Consumed against provisioned", "Capacity", charts, notes)


def _keys(run: Run, facts: Facts) -> Section:
    direction = facts.resource.direction
    keys = hottest(run, direction)
    charts = [
        key_chart(keys, direction, facts.ceiling_per_s, "chart-keys"),
        heat_chart(run, direction, facts.ceiling_per_s, "chart-heat"),
    ]
    notes = []
    if run.keys is None:
        notes.append("keys.json is missing, so where the heat was over time cannot be shown.")
    if not keys:
        notes.append("No keys were recorded.")
    return _section("keys", "Keys", "Keys", charts, notes)


def _latency(run: Run) -> Section:
    notes = ["latency.hdr is missing, so there are no latencies."] if run.latency is None else []
    if run.latency == ():
        notes.append("latency.hdr holds no requests.")
    return _section(
        "latency", "Latency", "Latency", [latency_chart(run.latency or (), "chart-latency")], notes
    )


def _generator(run: Run, record: Record) -> Section:
    chart = generator_chart(run, record, "chart-generator")
    notes = list(run.diagnosis.generator.checks)
    if chart is None:
        notes.insert(
            0, joined_or(generator_summary(run), "seconds.parquet is missing: what was sent is not known.")
        )
    return _section("generator", "The load generator", "Generator", [chart], notes)


def joined_or(text: str, otherwise: str) -> str:
    """The text, or what to say where there is none."""
    return text or otherwise


def _labels(run: Run) -> Section:
    notes = [] if run.diagnosis.labels else ["The diagnosis has no labels."]
    chart = label_chart(run.diagnosis.labels, "chart-labels")
    return _section("labels", "Labels over time", "Labels", [chart], notes)


def _section(
    name: str, title: str, short: str, charts: Sequence[Chart | None], notes: Sequence[str]
) -> Section:
    drawn = tuple(chart for chart in charts if chart is not None)
    return Section(id=name, title=title, short=short, charts=drawn, notes=tuple(notes))


def tables_of(run: Run, record: Record) -> tuple[Table, ...]:
    """The raw numbers: by reason, then per minute for every resource."""
    tables = [reason_table(run, record)]
    for resource in record.resources():
        minutes = by_client_minute(run, record, resource)
        if minutes is not None:
            tables.append(rate_table(minutes))
    return tuple(table for table in tables if table is not None)


def details_of(run: Run) -> tuple[tuple[str, tuple[tuple[str, str], ...]], ...]:
    """The scenario, the table and the versions, as names and values."""
    manifest, table = run.manifest, table_facts(run)
    blocks: list[tuple[str, dict[str, Any]]] = []
    if manifest is not None:
        blocks.append(("Scenario", _flat(manifest.scenario)))
        shown = ("run_id", "status", "target", "endpoint_url", "region", "scale", "transport", "seed",
                 "started_at", "ended_at", "processes", "users", "scenario_path")  # fmt: skip
        blocks.append(("Run", {name: getattr(manifest, name) for name in shown}))
        blocks.append(("Versions", dict(manifest.versions)))
    if table is not None:
        blocks.append(("Table", _flat(table.model_dump(mode="json"))))
    return tuple(
        (title, tuple((name, str(value)) for name, value in block.items() if value not in (None, "", [], ())))
        for title, block in blocks
    )


def _flat(content: Any, before: str = "") -> dict[str, Any]:
    """Nested values under dotted names: {"load": {"users": 50}} -> {"load.users": 50}."""
    if isinstance(content, dict):
        pairs = [(f"{before}.{name}" if before else str(name), value) for name, value in content.items()]
    elif isinstance(content, list) and any(isinstance(value, dict | list) for value in content):
        pairs = [(f"{before}[{place}]", value) for place, value in enumerate(content)]
    else:
        return {before: content}
    return {name: value for path, inner in pairs for name, value in _flat(inner, path).items()}
