"""The report of one run: its answer with charts and numbers, as a page."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final

import pandas as pd

from keyheat.analysis.facts import Facts, ceiling_of, consumed_of, facts_of
from keyheat.analysis.report import ReportRun, read_run
from keyheat.analysis.rules import RULES
from keyheat.model.partitions import EVENTUAL_READ_WEIGHT
from keyheat.model.resources import partition_ceiling
from keyheat.numbers import NOTHING, percent, saying, some, whole
from keyheat.runfiles import REPORT
from keyheat.runs.formats import PartitionFacts
from keyheat.runs.frames import keys_of
from keyheat.runs.metrics import constraint_of
from keyheat.show.answer import Answer, Figure, Picture, Section, Table
from keyheat.show.charts import rows_of, shortened
from keyheat.show.generator import counts_of, failure_table, generator_figure, generator_words, latency_figure
from keyheat.show.heat import (
    key_figure,
    key_heat_figure,
    partition_figure,
    partition_resources,
    throttled_key_table,
)
from keyheat.show.rates import (
    Rates,
    capacity_figure,
    client_rates,
    client_throttles,
    picture_of,
    published_rates,
    published_resources,
)
from keyheat.show.render import html_of, save
from keyheat.show.run import run_answer
from keyheat.show.verdict import NAMES
from keyheat.words import READ, WRITE, Resource, label_of, whose

LEAST_MINUTES_S: Final = 180  # of load, below which a minute's mean says less than its seconds
NOT_TOLD: Final = "DynamoDB does not show which partition served which request."
SHOWN: Final = (
    "run_id", "status", "target", "endpoint", "endpoint_url", "region", "scale", "transport", "seed",
    "started_at", "ended_at", "processes", "users", "scenario_path",
)  # fmt: skip
"""What the page tells of `run.json`."""


def write_report(run: Path | ReportRun, generated_at: datetime, page: Path | None = None) -> Path:
    """Write the page of a run, by default `report.html` in its directory, and return its path.

    Raises `FileProblem` if there is no readable `diagnosis.json`, or the page cannot be written.
    """
    run = read_run(run) if isinstance(run, Path) else run
    return save(page or (run.folder or Path()) / REPORT, html_of(report_answer(run), generated_at))


def report_answer(run: ReportRun) -> Answer:
    """The answer of a run with every chart that its files allow, the verdict's resource first."""
    answer, facts = run_answer(run), facts_of(run)
    rates = rates_of(run, facts)
    sections = tuple(_with_charts(run, facts, rates, answer.sections))
    return replace(answer, picture=_picture(facts, rates), sections=sections)


def card_of(run: ReportRun) -> Answer:
    """The first screen of a report, for a page over several runs."""
    facts = facts_of(run)
    picture = _picture(facts, rates_of(run, facts, [facts.resource]))
    return replace(run_answer(run), picture=picture, sections=())


def _picture(facts: Facts, rates: Sequence[Rates]) -> Picture | None:
    """The picture of the verdict's resource, by its seconds if their consumption is known."""
    mine = (candidate for candidate in rates if candidate.resource == facts.resource)
    return next(filter(None, map(picture_of, mine)), None)


def _with_charts(
    run: ReportRun, facts: Facts, rates: Sequence[Rates], sections: Sequence[Section]
) -> Iterator[Section]:
    """The sections of the answer, then those with charts; files that are missing are named once for all."""
    yield from sections
    drawn = [*_capacity(run, facts, rates)]
    if not run.alone:  # else others sent the load: nothing is known of its keys, latencies and generator
        counted = counts_of(run.manifest.counted) if run.manifest else None
        latency, sent = [latency_figure(run.latency or {})], [generator_figure(run)]
        lines = (
            *([] if any(sent) else filter(None, [generator_words(run)])),
            *run.diagnosis.generator.checks,
        )
        drawn += [
            _keys(run, facts), _partitions(run, facts), *filter(None, [counted]),
            _section("latency", "Latency", "Latency", latency),
            _section("generator", "The load generator", "Generator", sent, lines, [failure_table(run)]),
        ]  # fmt: skip
    drawn.append(_section("numbers", "The numbers", "Numbers", tables=_numbers(run)))
    yield from (section for section in drawn if section.figures or section.lines or section.tables)


def _section(
    id: str, title: str, short: str, figures: Iterable[Figure | None] = (), lines: Iterable[str] = (),
    tables: Iterable[Table | None] = (),
) -> Section:  # fmt: skip
    return Section(
        id=id, title=title, short=short, page_only=True, lines=tuple(lines),
        figures=tuple(filter(None, figures)), tables=tuple(filter(None, tables)),
    )  # fmt: skip


def rates_of(run: ReportRun, facts: Facts, only: Sequence[Resource] = ()) -> list[Rates]:
    """Rates of each resource, or of some, by the client and by CloudWatch; the verdict's resource first.

    A short load has no minutes beside its seconds: their means take in time without it. Other resources that
    consumed nothing, as the table where an index is read, are left out.
    """
    seen, published = run.record.resources(), published_resources(run)
    resources = only or sorted(
        {*seen, *published},
        key=lambda resource: (resource != facts.resource, resource.index or "", resource.direction != WRITE),
    )
    limits = run.record.range()
    short = limits is None or limits[1] - limits[0] < LEAST_MINUTES_S
    candidates: list[Rates | None] = []
    for resource in resources:
        if resource in seen:
            candidates.append(client_rates(run, resource))
        if resource in published and not (short and resource in seen):
            candidates.append(published_rates(run, resource))
    drawn = [rates for rates in candidates if rates and (rates.resource == facts.resource or rates.used)]
    if run.diagnosis.verdict.constraint != "partition":
        return drawn
    limit = facts.ceiling_per_s  # of a partition, where it limited these rates
    return [rates.under(limit) if rates.resource == facts.resource else rates for rates in drawn]


def _capacity(run: ReportRun, facts: Facts, rates_by_resource: Sequence[Rates]) -> Iterator[Section]:
    """The table, and each of its indexes; first what the verdict is about."""
    figures: dict[bool, list[Figure]] = {True: [], False: []}
    for rates in rates_by_resource:
        each = "Second by second" if rates.step_s == 1 else "Minute by minute"
        figure = capacity_figure(
            rates, f"{each}: {rates.resource.title}", consumed=consumed_of(run, facts, rates.resource),
            changes_s=changes_of(run, rates.resource) if rates.step_s == 1 else (),
        )  # fmt: skip
        figures[rates.resource.index is None].append(figure)
    lines = [] if rates_by_resource else ["No consumption of this time is known."]
    if run.evidence and run.evidence.partitions and (words := partition_words(run.evidence.partitions)):
        lines.append(words)
    table = _section(
        "capacity", "Consumed against provisioned", "Capacity", figures[True], lines, [change_table(run)]
    )
    lines = ["An index is a resource of its own: it has its own capacity, partitions and throttles."]
    indexes = _section(
        "indexes", "Index by index", "Indexes", figures[False], lines if figures[False] else ()
    )
    yield from (table, indexes) if facts.resource.index is None else (indexes, table)


def _keys(run: ReportRun, facts: Facts) -> Section:
    """Hottest keys and heat over time, writes and reads; the verdict's direction first."""
    first = facts.resource.direction
    sides = (first, READ if first == WRITE else WRITE)
    ceilings = {
        side: facts.ceiling_per_s if side == first else ceiling_of(run, Resource(None, side))
        for side in sides
    }
    windows = None if run.keys is None else keys_of(run.keys)
    heat = [] if windows is None else [key_heat_figure(windows, side, ceilings[side]) for side in sides]
    keys = [key_figure(run, side, ceilings[side]) for side in sides]
    lines = []
    if any(keys) and facts.resource.index is not None and first == "write":
        unknown_keys = f"Which keys of {facts.resource.name} the writes met on is not recorded."
        lines.append(f"These are the table's keys. {unknown_keys}")
    if any(keys) and heat and not any(heat):
        lines.append("No key came near what one partition admits in any window, so there is no heat to show.")
    figures = [figure for pair in zip_longest(heat, keys) for figure in pair]
    return _section("keys", "Keys over time", "Keys", figures, lines)


def _partitions(run: ReportRun, facts: Facts) -> Section:
    """Served and throttled units of each partition, if known."""
    rows, local = run.partitions, run.manifest is not None and (run.manifest.local or run.manifest.simulated)
    figures = []
    if rows is not None:
        resources = sorted(partition_resources(rows), key=lambda other: other != facts.resource)
        for resource in resources:
            worth = _unit_worth(run, rows, resource)
            ceiling = partition_ceiling(resource.direction, run.scale) * worth
            figures.append(partition_figure(rows, resource, ceiling, worth))
    lines = [NOT_TOLD] if rows is None and not local else []
    return _section("partitions", "Partitions over time", "Partitions", figures, lines)


def _unit_worth(run: ReportRun, partitions: pd.DataFrame, resource: Resource) -> float:
    """Units that one recorded with a partition stands for: it bears half as many eventually consistent reads
    again, so that each of them counts two thirds there.
    """
    rows = run.record.of(resource)
    if resource.direction == WRITE or rows is None:
        return 1.0
    counted = float(partitions.loc[partitions["resource"] == resource.label_name, "read_units"].sum())
    consumed = float(rows["consumed_units"].sum())
    return min(max(consumed / counted, 1.0), 1 / EVENTUAL_READ_WEIGHT) if counted else 1.0


def _numbers(run: ReportRun) -> Iterator[Table]:
    """Rules, throttles by reason and by key; scenario, table and versions as names and values."""
    yield from filter(None, (rule_table(run), reason_table(run), throttled_key_table(run)))
    stated: dict[str, Any] = {"table": run.table.model_dump(mode="json")} if run.table is not None else {}
    if (manifest := run.manifest) is not None:
        stated |= {"run": {name: getattr(manifest, name) for name in SHOWN}, "scenario": manifest.scenario}
        stated |= {"versions": dict(manifest.versions)}
    stated_values = ((name, value) for name, value in flat(stated).items() if value not in (None, "", [], ()))
    rows = tuple({"name": name, "value": str(value)} for name, value in stated_values)
    if rows:
        yield Table(title="Table, run, scenario and versions", rows=rows, folded=True)


def flat(content: Any, before: str = "") -> dict[str, Any]:
    """Nested values under dotted names: {"load": {"users": 50}} -> {"load.users": 50}."""
    if isinstance(content, dict):
        pairs = [(f"{before}.{name}" if before else str(name), value) for name, value in content.items()]
    elif isinstance(content, list) and any(isinstance(value, dict | list) for value in content):
        pairs = [(f"{before}[{index}]", value) for index, value in enumerate(content)]
    else:
        return {before: content}
    return {name: value for path, inner in pairs for name, value in flat(inner, path).items()}


def rule_table(run: ReportRun) -> Table | None:
    """The rules that decided the labels, and what each means; None without labels."""
    throttles: Counter[str] = Counter()
    for label in run.diagnosis.labels:
        if label.rule is not None:
            throttles[label.rule] += label.throttles
    rows = tuple(
        {
            "rule": shortened(rule, 60),
            "it means": RULES[rule].meaning.replace("`", "") if rule in RULES else NOTHING,
            "throttles": whole(count),
        }
        for rule, count in throttles.most_common()
    )
    return Table(title="The rules that decided", rows=rows, folded=True) if rows else None


def reason_table(run: ReportRun) -> Table | None:
    """Every reason with its count and share; None without throttle records."""
    if run.record.throttles is None:
        return None
    throttles = client_throttles(run)
    by = throttles.assign(reason=throttles["reason"].fillna("(none given)"))
    sums = by.groupby(["reason", "resource", "direction"])["count"].sum()
    groups = sums.sort_values(ascending=False, kind="stable").reset_index()
    rows = tuple(
        {
            "reason": shortened(row.reason, 80), "resource": shortened(row.resource, 80),
            "direction": row.direction, "count": whole(row.count),
            "constraint": NAMES[constraint_of(row.reason) or "undetermined"].lower(),
            "share": percent(row.count / groups["count"].sum()),
        }
        for row in rows_of(groups)
    )  # fmt: skip
    return Table(title="Throttles by the reason that DynamoDB gave", rows=rows, folded=True)


def partition_words(facts: PartitionFacts) -> str | None:
    """What is known of partitions, in one sentence; None if nothing is."""
    clauses = []
    if facts.open_shards is not None:
        number = some(facts.open_shards, "partition")
        clauses.append(f"The table had about {number}, by the open shards of its stream")
    elif facts.estimated is not None:
        because = f": {facts.because}" if facts.because else ""
        clauses.append(f"The table had at least {some(facts.estimated, 'partition')}{because}")
    if facts.splits:
        number = "one" if len(facts.splits) == 1 else f"{len(facts.splits):,}"
        first, last = (f"{at:%H:%M:%S}" for at in (min(facts.splits), max(facts.splits)))
        clauses.append(f"{number} split, {f'at {first}' if first == last else f'from {first} to {last}'}")
    elif facts.splits is not None:
        clauses.append("none split")
    return f"{'; '.join(clauses)}." if clauses else None


def changes_of(run: ReportRun, resource: Resource) -> list[float]:
    """Times at which a capacity of a resource, or the billing mode, came into force."""
    if run.manifest is None:
        return []
    mine, began_s = (resource.index, str(resource.direction)), run.manifest.started_at.timestamp()
    in_force = {
        change.in_force_s
        for change in run.manifest.timeline
        if change.what == "billing_mode" or (change.index, change.what.partition(".")[2]) == mine
    }
    return sorted(began_s + at_s for at_s in in_force if at_s is not None)


def change_table(run: ReportRun) -> Table | None:
    """Every requested change of capacity with its outcome; None without changes."""
    if run.manifest is None or not run.manifest.timeline:
        return None
    changes, began_s, rows = run.manifest.timeline, run.manifest.started_at.timestamp(), []
    say = saying(began_s, began_s + max(max(change.at_s, change.in_force_s or 0.0) for change in changes))
    for change in changes:
        before, after = (
            whole(value) if isinstance(value, int | float) else value or NOTHING
            for value in (change.before, change.after)
        )
        in_force = NOTHING if change.in_force_s is None else say(began_s + change.in_force_s)
        rows.append(
            {
                "asked for (UTC)": say(began_s + change.at_s), "by": change.by,
                "resource": whose(label_of(change.index)),
                "what": change.what.replace("_", " ").replace(".", ", "), "from": before, "to": after,
                "because": change.because or NOTHING,
                "in force": f"refused: {change.refused}" if change.refused else in_force,
            }
        )  # fmt: skip
    return Table(title="Changes of capacity", rows=tuple(rows))
