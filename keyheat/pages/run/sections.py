"""What a report shows where: the charts by section, the raw tables, the details of the run."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from keyheat.analysis.report.facts import Facts, ceiling_of, consumed_of
from keyheat.analysis.report.rates import (
    by_client_minute,
    by_minute,
    by_second,
    published_resources,
    table_facts,
)
from keyheat.analysis.report.run import ReportRun
from keyheat.analysis.report.seconds import SecondsRecord, rows_of
from keyheat.evidence.settings import partition_ceiling
from keyheat.model.partitions import EVENTUAL_READ_WEIGHT
from keyheat.numbers import percent, span
from keyheat.pages.charts.capacity import marked, minute_chart, rate_table, said_of, second_chart
from keyheat.pages.charts.figures import Chart, PageTable
from keyheat.pages.charts.generator import generator_chart, generator_summary
from keyheat.pages.charts.heat import heat_chart
from keyheat.pages.charts.keys import hottest, key_chart, throttled_key_table
from keyheat.pages.charts.labels import label_chart, rule_table
from keyheat.pages.charts.latency import latency_chart
from keyheat.pages.charts.partition_rates import resources_of
from keyheat.pages.charts.partitions import partition_chart
from keyheat.pages.run.counts import counts_of, failure_table, reason_table
from keyheat.runs.formats import Diagnosis
from keyheat.terms import CONFIDENCE
from keyheat.wording.partitions import partition_words
from keyheat.wording.verdict import about, numbers
from keyheat.words import READ, WRITE, Direction, Resource, capital

FINDING_COLUMNS = ("analyzer", "finding", "about", CONFIDENCE, "because", "numbers")
MOST_RESOURCES = 42  # a table and twenty indexes, reads and writes
EVERY = 10**9  # seconds: as fine as they are
LEAST_MINUTES_S = 180  # of load, below which a minute's mean says less than its seconds
TOO_SHORT = "No minute-by-minute chart: the load lasted {}, and a minute's mean takes in time without it."
NOT_TOLD = "Which partition served what is not known: DynamoDB does not tell."


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A heading with its charts, and what is to be said where they cannot be drawn."""

    id: str
    title: str
    short: str
    charts: tuple[Chart, ...]
    notes: tuple[str, ...]
    wrong: tuple[str, ...] = ()  # what is not right, said before anything else
    tables: tuple[PageTable, ...] = ()  # shown open: they are what the section is about


def charts_of(run: ReportRun, record: SecondsRecord, facts: Facts) -> tuple[Section, ...]:
    """Every chart that the files allow, the verdict's resource first."""
    capacity = _capacity(run, record, facts)
    if run.alone:  # others sent the load: nothing is known of its keys, its latencies and its generator
        return (*capacity, _labels(run, record), *_findings(run))
    return (
        *capacity,
        _labels(run, record),
        *_findings(run),
        _keys(run, facts),
        _partitions(run, record, facts),
        *_counted(run),
        _latency(run),
        _generator(run, record),
    )


def _ordered(found: list[Resource], first: Resource) -> list[Resource]:
    return sorted(found, key=lambda r: (r != first, r.index or "", r.direction != first.direction))


def _capacity(run: ReportRun, record: SecondsRecord, facts: Facts) -> tuple[Section, ...]:
    """The table, and each of its indexes; first what the verdict is about."""
    seen, published = record.resources(), published_resources(run)
    resources = _ordered(list({*seen, *published}), facts.resource)
    charts: dict[bool, list[Chart]] = {True: [], False: []}
    for place, resource in enumerate(resources[:MOST_RESOURCES]):
        charts[resource.index is None] += _of_resource(run, record, facts, resource, place)
    table = _section(
        "capacity", "Consumed against provisioned", "Capacity", charts[True],
        [
            *_capacity_notes(run, resources, seen=bool(seen), published=bool(published)),
            *([TOO_SHORT.format(span(lasts_s(record)))] if seen and published and _short(record) else []),
        ],
    )  # fmt: skip
    if not charts[False]:
        return (table,)
    notes = ["An index is a resource of its own: it has its own capacity, partitions and throttles."]
    indexes = _section("indexes", "Index by index", "Indexes", charts[False], notes)
    return (table, indexes) if facts.resource.index is None else (indexes, table)


def _of_resource(
    run: ReportRun, record: SecondsRecord, facts: Facts, resource: Resource, place: int
) -> Iterator[Chart]:
    """Its seconds, as the client saw them, and its minutes, as CloudWatch published them."""
    partition = run.diagnosis.verdict.constraint == "partition" and resource == facts.resource
    ceiling = facts.ceiling_per_s if partition else None
    seconds = by_second(run, record, resource, most=EVERY) if resource in record.resources() else None
    consumed = consumed_of(run, record, facts, resource)
    if seconds is not None:
        chart = second_chart(seconds, f"chart-seconds-{place}", ceiling_per_s=ceiling, consumed=consumed)
        yield marked(chart, run, resource)
    drawn = resource in published_resources(run) and not (seconds is not None and _short(record))
    minutes = by_minute(run, resource) if drawn else None
    if minutes is not None:
        chart_id = f"chart-minutes-{place}"
        yield minute_chart(minutes, chart_id, ceiling_per_s=ceiling, consumed=None if seconds else consumed)


def lasts_s(record: SecondsRecord) -> float:
    """How long the client sent, by its record."""
    known = record.range()
    return known[1] - known[0] if known else 0.0


def _short(record: SecondsRecord) -> bool:
    """Whether seconds say more than CloudWatch's minutes, which average over the time without load."""
    return lasts_s(record) < LEAST_MINUTES_S


def _capacity_notes(run: ReportRun, resources: list[Resource], *, seen: bool, published: bool) -> list[str]:
    notes: list[str] = []
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
    if len(resources) > MOST_RESOURCES:
        notes.append(f"The {MOST_RESOURCES} first resources are drawn; the tables below have them all.")
    if run.evidence and run.evidence.partitions and (said := partition_words(run.evidence.partitions)):
        notes.append(said)
    return notes + said_of(run)


def _keys(run: ReportRun, facts: Facts) -> Section:
    """The hottest keys and where the heat was, writes and reads; first those of the verdict."""
    first = facts.resource.direction
    heat: list[Chart | None] = []
    keys: list[Chart | None] = []
    for direction in (first, _other(first)):
        of = "" if direction == first else f"-{direction}"
        ceiling = ceiling_of(run, Resource(None, direction)) if direction != first else facts.ceiling_per_s
        heat.append(heat_chart(run, direction, ceiling, f"chart-heat{of}"))
        keys.append(key_chart(hottest(run, direction), direction, ceiling, f"chart-keys{of}"))
    notes = []
    if facts.resource.index is not None and first == "write":
        notes.append(
            "These are the table's keys. "
            f"Which keys of {facts.resource.place} the writes met on is not recorded."
        )
    if run.keys is not None and not any(heat):
        notes.append("No key came near what one partition admits in any window, so there is no heat to show.")
    if run.keys is None:
        notes.append("keys.json is missing, so where the heat was over time cannot be shown.")
    if not any(keys):
        notes.append("No keys were recorded.")
    both = [chart for pair in zip(heat, keys, strict=True) for chart in pair]
    return _section("keys", "Keys over time", "Keys", both, notes)


def _other(direction: Direction) -> Direction:
    return READ if direction == WRITE else WRITE


def _unit_worth(run: ReportRun, record: SecondsRecord, resource: Resource) -> float:
    """Units that one recorded with a partition stands for: it bears half as many eventually consistent reads
    again, so that each of them counts two thirds there.
    """
    if resource.direction == WRITE or record.seconds is None or run.partitions is None:
        return 1.0
    own = run.partitions[run.partitions["resource"] == resource.label_name]
    counted = float(own["read_units"].sum())
    consumed = float(rows_of(record.seconds, resource)["consumed"].sum())
    return min(max(consumed / counted, 1.0), 1 / EVENTUAL_READ_WEIGHT) if counted else 1.0


def _partitions(run: ReportRun, record: SecondsRecord, facts: Facts) -> Section:
    """What each partition served and refused, where it is known."""
    charts: list[Chart | None] = []
    notes: list[str] = []
    if run.partitions is None:
        local = run.manifest is not None and (run.manifest.local or run.manifest.simulated)
        notes.append("partitions.parquet is missing or damaged." if local else NOT_TOLD)
    else:
        resources = _ordered(resources_of(run.partitions), facts.resource)
        for place, one in enumerate(resources[:MOST_RESOURCES]):
            worth = _unit_worth(run, record, one)
            ceiling = partition_ceiling(one.direction, run.scale) * worth
            charts.append(partition_chart(run.partitions, one, ceiling, f"chart-partitions-{place}", worth))
        if not charts:
            notes.append("No partition was asked for anything.")
    return _section("partitions", "Partitions over time", "Partitions", charts, notes)


def _counted(run: ReportRun) -> tuple[Section, ...]:
    """What the load test counted; no section where it counted nothing."""
    counts = counts_of(run.manifest.counted) if run.manifest else None
    if counts is None:
        return ()
    section = Section(
        id="counted", title="What the load test counted", short="Counted",
        charts=(), notes=counts.right, wrong=counts.wrong, tables=counts.tables,
    )  # fmt: skip
    return (section,)


def _latency(run: ReportRun) -> Section:
    notes = ["latency.hdr is missing, so there are no latencies."] if run.latency is None else []
    if run.latency == ():
        notes.append("A simulation has no latencies." if run.simulated else "latency.hdr holds no requests.")
    return _section(
        "latency", "Latency", "Latency", [latency_chart(run.latency or (), "chart-latency")], notes
    )


def _generator(run: ReportRun, record: SecondsRecord) -> Section:
    chart = generator_chart(run, record, "chart-generator")
    notes = list(run.diagnosis.generator.checks)
    if chart is None:
        notes.insert(0, generator_summary(run) or "seconds.parquet is missing: what was sent is not known.")
    section = _section("generator", "The load generator", "Generator", [chart], notes)
    failures = failure_table(run)
    return replace(section, tables=(failures,)) if failures else section


def _labels(run: ReportRun, record: SecondsRecord) -> Section:
    chart = label_chart(run.diagnosis.labels, "chart-labels", record.range())
    table = rule_table(run.diagnosis.labels)
    return Section(
        id="labels", title="What limited, and when", short="Constraints",
        charts=(chart,) if chart else (), notes=() if chart else ("The diagnosis has no labels.",),
        tables=(table,) if table else (),
    )  # fmt: skip


def _findings(run: ReportRun) -> tuple[Section, ...]:
    """What other analyzers found, and which of them could say nothing; no section without any."""
    table, problems = _finding_table(run.diagnosis), run.diagnosis.problems
    if table is None and not problems:
        return ()
    section = _section("findings", "What else was found", "Findings", [], [])
    wrong = tuple(f"An analyzer said nothing: {problem}" for problem in problems)
    return (replace(section, wrong=wrong, tables=(table,) if table else ()),)


def _section(
    name: str, title: str, short: str, charts: Sequence[Chart | None], notes: Sequence[str]
) -> Section:
    drawn = tuple(chart for chart in charts if chart is not None)
    return Section(id=name, title=title, short=short, charts=drawn, notes=tuple(notes))


def tables_of(run: ReportRun, record: SecondsRecord) -> tuple[PageTable, ...]:
    """The raw numbers: by reason and by key, then per minute for every resource."""
    tables = [reason_table(record), throttled_key_table(run)]
    for resource in record.resources():
        minutes = by_client_minute(run, record, resource)
        if minutes is not None:
            tables.append(rate_table(minutes))
    return tuple(table for table in tables if table is not None)


def details_of(run: ReportRun) -> tuple[tuple[str, tuple[tuple[str, str], ...]], ...]:
    """The scenario, the table and the versions, as names and values."""
    manifest, table = run.manifest, table_facts(run)
    blocks: list[tuple[str, dict[str, Any]]] = []
    if manifest is not None:
        blocks.append(("Scenario", _flat(dict(manifest.scenario or {}))))
        shown = ("run_id", "status", "target", "endpoint", "endpoint_url", "region", "scale", "transport",
                 "seed", "started_at", "ended_at", "processes", "users", "scenario_path")  # fmt: skip
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


def _finding_table(diagnosis: Diagnosis) -> PageTable | None:
    """Every finding that has no place of its own on the page, a row each; None where there are none."""
    rows = tuple(
        (
            one.analyzer,
            one.label,
            capital(about(one)),
            percent(one.confidence),
            " ".join(one.because),
            numbers(one),
        )
        for one in diagnosis.findings
    )
    return (
        PageTable(caption="Findings", columns=FINDING_COLUMNS, rows=rows, numeric=frozenset({3}))
        if rows
        else None
    )
