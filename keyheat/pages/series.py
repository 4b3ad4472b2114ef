"""Several runs beside each other: each a card with a small picture, and a column with every measure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from os.path import relpath
from pathlib import Path
from urllib.parse import quote

from keyheat.analysis.report.facts import facts_of
from keyheat.analysis.report.latency import ACCEPTED, RESPONSE, TABLE_PERCENTILES, OperationLatency
from keyheat.analysis.report.run import ReportRun, load_run
from keyheat.analysis.run_result import RunResult, RunTraffic, measure
from keyheat.numbers import NOTHING, UNITS, dollars, measured, milliseconds, percent, rate, span, whole
from keyheat.pages.page import page, said_at
from keyheat.plan.prices import Prices
from keyheat.runfiles import REPORT, FileProblem
from keyheat.show import counts
from keyheat.show.answer import Answer
from keyheat.show.html import save
from keyheat.show.report import card_of
from keyheat.terms import RESPONSE_TIME, SERVICE_TIME, THROTTLED_BY, titled

INDEX = "index.html"


def _no_throttles(run: ReportRun) -> str:
    """None, where there could have been some."""
    return "–" if run.diagnosis.verdict.rule else "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEntry:
    """One run on the index page; `hero` is None where the run could not be read, and `problem` says why."""

    run_dir: Path
    hero: Answer | None = None
    throttled: str = ""
    throttles: int = 0
    throttled_share: float | None = None  # of its attempts
    problem: str | None = None

    @classmethod
    def of_run(cls, run_dir: Path) -> "RunEntry":
        """A run directory as an entry; one without a readable diagnosis says so on its card."""
        return cls.read(run_dir)[1]

    @classmethod
    def read(cls, run_dir: Path) -> tuple[ReportRun | None, "RunEntry"]:
        """What a run directory holds, None where it cannot be read, and its entry."""
        try:
            run = load_run(run_dir)
        except FileProblem as problem:
            return None, cls(run_dir=run_dir, problem=str(problem).replace(f"{run_dir}/", ""))
        facts = facts_of(run)
        share = f", {percent(facts.throttled_share)} of all" if facts.throttled_share is not None else ""
        return run, cls(
            run_dir=run_dir,
            hero=card_of(run),
            throttled=f"{whole(facts.run_throttles)}{share}" if facts.run_throttles else _no_throttles(run),
            throttles=facts.run_throttles,
            throttled_share=facts.throttled_share,
        )

    @property
    def name(self) -> str:
        return self.run_dir.name

    def link_from(self, out_dir: Path) -> str:
        """The report's address as seen from a page in `out_dir`."""
        return quote(Path(relpath(self.run_dir / REPORT, out_dir)).as_posix())


def write_index(
    out_dir: Path,
    entries: Sequence[RunEntry],
    generated_at: datetime,
    *,
    title: str = "Runs side by side",
) -> Path:
    """Write `index.html` into `out_dir` over the entries, in order; return its path. Raises `CannotWrite`."""
    return save(out_dir / INDEX, render_index(entries, out_dir, generated_at, title=title))


def render_index(entries: Sequence[RunEntry], out_dir: Path, generated_at: datetime, *, title: str) -> str:
    """The index page."""
    cards = [(entry, entry.link_from(out_dir)) for entry in entries]
    return page("index.html.j2", cards=cards, title=title, generated_at=said_at(generated_at))


TIMED = {ACCEPTED: SERVICE_TIME, RESPONSE: RESPONSE_TIME, "logical": "whole operation"}
"""Latency outcomes that are compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunColumn:
    """One run; `run` is None where it could not be read, `measured` where its seconds are missing."""

    label: str
    entry: RunEntry
    run: ReportRun | None
    measured: RunResult | None

    @classmethod
    def of_run(cls, run_dir: Path, prices: Prices, label: str | None = None) -> "RunColumn":
        """A run directory as a column; one that cannot be read says so on its card."""
        run, entry = RunEntry.read(run_dir)
        numbers = None
        if run is not None and run.manifest is not None and run.seconds is not None:
            numbers = measure(run.manifest, run.seconds, prices)
        return cls(label=label or run_dir.name, entry=entry, run=run, measured=numbers)

    @property
    def valid(self) -> bool:
        """Whether the run says something about its table."""
        return self.run is not None and self.run.diagnosis.verdict.valid

    def latency(self, tag: str) -> OperationLatency | None:
        """The latencies of `OPERATION.outcome`, where the run timed them."""
        found = (self.run.latency if self.run else None) or ()
        return next((one for one in found if f"{one.operation}.{one.outcome}" == tag), None)

    def counted(self, name: str) -> float | None:
        """A number that the load test counted."""
        return self.measured.counted.get(name) if self.measured else None


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureRow:
    """One measure of every run."""

    name: str
    cells: tuple[str, ...]
    wrong: tuple[bool, ...] = ()  # cells that say something is not right


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureGroup:
    """Measures that belong together."""

    title: str
    rows: tuple[MeasureRow, ...]


def groups_of(columns: Sequence[RunColumn]) -> tuple[MeasureGroup, ...]:
    """Every measure that at least one of the runs has."""
    groups = (
        MeasureGroup(title="The answer", rows=_answer(columns)),
        MeasureGroup(title="Admitted and throttled", rows=_throughput(columns)),
        MeasureGroup(title="Latency", rows=_latency(columns)),
        MeasureGroup(title="What it costs", rows=_costs(columns)),
        MeasureGroup(title="Counted by the load test", rows=_counted(columns)),
    )
    return tuple(group for group in groups if group.rows)


def _rows(
    columns: Sequence[RunColumn], measures: Sequence[tuple[str, Callable[[RunResult], str]]]
) -> tuple[MeasureRow, ...]:
    """One row for each measure, without those that no run has."""
    made = (
        MeasureRow(
            name=name, cells=tuple(NOTHING if c.measured is None else say(c.measured) for c in columns)
        )
        for name, say in measures
    )
    return tuple(row for row in made if set(row.cells) != {NOTHING})


def _answer(columns: Sequence[RunColumn]) -> tuple[MeasureRow, ...]:
    heroes = [column.entry.hero for column in columns]
    expected = tuple((hero.remark or NOTHING) if hero else NOTHING for hero in heroes)
    rows = [
        MeasureRow(
            name=titled(THROTTLED_BY),
            cells=tuple(hero.label if hero else "not known" for hero in heroes),
            wrong=tuple(not column.valid for column in columns),
        ),
    ]
    if set(expected) != {NOTHING}:
        rows.append(
            MeasureRow(name="Expected", cells=expected, wrong=tuple(bool(h and h.surprise) for h in heroes))
        )
    return tuple(rows)


def _throughput(columns: Sequence[RunColumn]) -> tuple[MeasureRow, ...]:
    return _rows(
        columns,
        [
            ("Accepted writes", lambda one: _units(one.write, "write")),
            ("Accepted reads", lambda one: _units(one.read, "read")),
            ("Throttled, of the writes", lambda one: percent(one.write.throttled_share)),
            ("Throttled, of the reads", lambda one: percent(one.read.throttled_share)),
            ("Throttled requests", lambda one: whole(one.throttled)),
            ("First throttle after", _first_throttle),
            ("Throttling ended after", _last_throttle),
        ],
    )


def _units(traffic: RunTraffic, direction: str) -> str:
    return rate(traffic.units_per_s, UNITS[direction]) if traffic.attempts else NOTHING


def _first_throttle(one: RunResult) -> str:
    return "no throttles" if one.throttling is None else span(one.throttling.first_s)


def _last_throttle(one: RunResult) -> str:
    if one.throttling is None:
        return "no throttles"
    return span(one.throttling.last_s) if one.throttling.ended else f"not in {span(one.duration_s)}"


def _latency(columns: Sequence[RunColumn]) -> tuple[MeasureRow, ...]:
    tags = {
        f"{one.operation}.{one.outcome}"
        for column in columns
        for one in ((column.run.latency if column.run else None) or ())
        if one.outcome in TIMED
    }
    made = []
    for tag in sorted(tags, key=lambda tag: (list(TIMED).index(tag.rpartition(".")[2]), tag)):
        operation, _, outcome = tag.rpartition(".")
        for percentile in (50.0, 99.0):
            cells = tuple(_at(column.latency(tag), percentile) for column in columns)
            made.append(MeasureRow(name=f"{operation}, {TIMED[outcome]}, p{percentile:g}", cells=cells))
    return tuple(made)


def _at(latency: OperationLatency | None, percentile: float) -> str:
    return NOTHING if latency is None else milliseconds(latency.table[TABLE_PERCENTILES.index(percentile)])


def _costs(columns: Sequence[RunColumn]) -> tuple[MeasureRow, ...]:
    sharded = any((column.measured.shards or 1) > 1 for column in columns if column.measured)
    return _rows(
        columns,
        [
            ("RCU per whole read", lambda one: measured(one.units_per_read)),
            ("Units per order", lambda one: measured(one.units_per_order)),
            ("A million writes, on-demand", lambda one: dollars(one.on_demand_dollars)),
            ("A million writes, as provisioned", lambda one: dollars(one.provisioned_dollars)),
            ("Shards per key, in the scenario", lambda one: whole(one.shards) if sharded else NOTHING),
        ],
    )


def _counted(columns: Sequence[RunColumn]) -> tuple[MeasureRow, ...]:
    together = {
        name: 0.0 for column in columns for name in (column.measured.counted if column.measured else ())
    }
    return tuple(
        MeasureRow(
            name=counts.word_of(name).words,
            cells=tuple(counts.shown(name, column.counted(name)) for column in columns),
            wrong=tuple(counts.is_wrong(name, column.counted(name) or 0.0) for column in columns),
        )
        for name in counts.listed(together)
    )
