"""What a report shows where: the charts by section, the raw tables, the details of the run."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from analyzers.partitions import words
from reports.changes import marked, said_of
from reports.charts import minute_chart, rate_table, second_chart
from reports.counted import counts_of
from reports.endpoint import endpoint_facts
from reports.facts import Facts
from reports.failures import failure_table
from reports.figures import Chart, Table
from reports.generator_chart import generator_chart, generator_summary
from reports.heat_chart import heat_chart
from reports.key_charts import hottest, key_chart, throttled_key_table
from reports.label_chart import label_chart, rule_table
from reports.load import Run
from reports.load_charts import latency_chart
from reports.reasons import reason_table
from reports.record import Record, Resource
from reports.timeline import by_client_minute, by_minute, by_second, published_resources, table_facts

MOST_RESOURCES = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A heading with its charts, and what is to be said where they cannot be drawn."""

    id: str
    title: str
    short: str
    charts: tuple[Chart, ...]
    notes: tuple[str, ...]
    wrong: tuple[str, ...] = ()  # what is not right, said before anything else
    tables: tuple[Table, ...] = ()  # shown open: they are what the section is about


def charts_of(run: Run, record: Record, facts: Facts) -> tuple[Section, ...]:
    """Every chart that the files allow, the verdict's resource first."""
    if run.alone:  # others sent the load: nothing is known of its keys, its latencies and its generator
        return (_capacity(run, record, facts), _labels(run))
    return (
        _capacity(run, record, facts),
        _keys(run, facts),
        *_counted(run),
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
            chart = second_chart(seconds, f"chart-seconds-{place}", ceiling_per_s=mine)
            charts.append(marked(chart, run, resource))
        minutes = by_minute(run, resource) if resource in published else None
        if minutes is not None:
            charts.append(minute_chart(minutes, f"chart-minutes-{place}", ceiling_per_s=mine))
    if not seen and not run.alone:
        notes.append("No second-by-second chart: seconds.parquet and throttles.parquet are missing.")
    if not published:
        why = (
            "evidence.json is missing"
            if run.evidence is None
            else "the evidence has no consumption of this time"
            if run.alone
            else "CloudWatch published nothing for this time"
        )
        notes.append(f"No minute-by-minute chart: {why}.")
    if len({*seen, *published}) > MOST_RESOURCES:
        notes.append(f"The {MOST_RESOURCES} first resources are drawn; the tables below have them all.")
    if run.evidence and run.evidence.partitions and (said := words(run.evidence.partitions)):
        notes.append(said)
    notes += said_of(run)
    return _section("capacity", "Consumed against provisioned", "Capacity", charts, notes)


def _keys(run: Run, facts: Facts) -> Section:
    direction = facts.resource.direction
    keys = hottest(run, direction)
    charts = [
        key_chart(keys, direction, facts.ceiling_per_s, "chart-keys"),
        heat_chart(run, direction, facts.ceiling_per_s, "chart-heat"),
    ]
    notes = []
    if facts.resource.index is not None and direction == "write":
        notes.append(
            "These are the table's keys. "
            f"Which keys of {facts.resource.place} the writes met on is not recorded."
        )
    if run.keys is not None and charts[1] is None:
        notes.append("No key came near what one partition admits in any window, so there is no heat to show.")
    if run.keys is None:
        notes.append("keys.json is missing, so where the heat was over time cannot be shown.")
    if not keys:
        notes.append("No keys were recorded.")
    return _section("keys", "Keys", "Keys", charts, notes)


def _counted(run: Run) -> tuple[Section, ...]:
    """What the load test counted; no section where it counted nothing."""
    counts = counts_of(run.manifest.counted) if run.manifest else None
    if counts is None:
        return ()
    section = Section(
        id="counted", title="What the load test counted", short="Counted",
        charts=(), notes=counts.right, wrong=counts.wrong, tables=counts.tables,
    )  # fmt: skip
    return (section,)


def _latency(run: Run) -> Section:
    notes = ["latency.hdr is missing, so there are no latencies."] if run.latency is None else []
    if run.latency == ():
        notes.append("A simulation has no latencies." if run.simulated else "latency.hdr holds no requests.")
    return _section(
        "latency", "Latency", "Latency", [latency_chart(run.latency or (), "chart-latency")], notes
    )


def _generator(run: Run, record: Record) -> Section:
    chart = generator_chart(run, record, "chart-generator")
    notes = list(run.diagnosis.generator.checks)
    if chart is None:
        notes.insert(0, generator_summary(run) or "seconds.parquet is missing: what was sent is not known.")
    section = _section("generator", "The load generator", "Generator", [chart], notes)
    failures = failure_table(run)
    return replace(section, tables=(failures,)) if failures else section


def _labels(run: Run) -> Section:
    chart, table = label_chart(run.diagnosis.labels, "chart-labels"), rule_table(run.diagnosis.labels)
    return Section(
        id="labels", title="Labels over time", short="Labels",
        charts=(chart,) if chart else (), notes=() if chart else ("The diagnosis has no labels.",),
        tables=(table,) if table else (),
    )  # fmt: skip


def _section(
    name: str, title: str, short: str, charts: Sequence[Chart | None], notes: Sequence[str]
) -> Section:
    drawn = tuple(chart for chart in charts if chart is not None)
    return Section(id=name, title=title, short=short, charts=drawn, notes=tuple(notes))


def tables_of(run: Run, record: Record) -> tuple[Table, ...]:
    """The raw numbers: by reason and by key, then per minute for every resource."""
    tables = [reason_table(record), throttled_key_table(run)]
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
        blocks.append(("Scenario", _flat(dict(manifest.scenario or {}))))
        shown = ("run_id", "status", "target", "endpoint_url", "region", "scale", "transport", "seed",
                 "started_at", "ended_at", "processes", "users", "scenario_path")  # fmt: skip
        blocks.append(("Run", {name: getattr(manifest, name) for name in shown}))
        blocks.append(("Versions", dict(manifest.versions)))
    endpoint = run.endpoint
    if endpoint is not None:
        blocks.append(("Endpoint", endpoint_facts(endpoint)))
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
