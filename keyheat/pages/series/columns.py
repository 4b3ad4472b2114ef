"""Runs as the columns of a table: what each came to, measure by measure, side by side."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from keyheat.analysis.measures.measured import Measured, Traffic, measure
from keyheat.numbers import NOTHING, UNITS, dollars, measured, milliseconds, percent, rate, span, whole
from keyheat.pages.run import counted
from keyheat.pages.run.latency import TABLE_PERCENTILES, Latency
from keyheat.pages.run.load import Run
from keyheat.pages.series.index import Entry
from keyheat.plan.prices import Prices
from keyheat.runs.frames import of_rows

LONGEST_LABEL = 28
SERVICE, WHOLE, ANSWERED = "accepted", "logical", "response"  # latency outcomes that are compared
TIMED = {
    SERVICE: "service time",
    ANSWERED: "from the intended start to the answer",
    WHOLE: "whole operation",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One run; `run` is None where it could not be read, `measured` where its seconds are missing."""

    label: str
    entry: Entry
    run: Run | None
    measured: Measured | None

    @classmethod
    def of_run(cls, run_dir: Path, prices: Prices, label: str | None = None) -> "Column":
        """A run directory as a column; one that cannot be read says so on its card."""
        from keyheat.pages.charts.figures import shortened

        run, entry = Entry.read(run_dir)
        numbers = None
        if run is not None and run.manifest is not None and run.seconds is not None:
            numbers = measure(run.manifest, of_rows("seconds", run.seconds), prices)
        return cls(
            label=label or shortened(run_dir.name, LONGEST_LABEL), entry=entry, run=run, measured=numbers
        )

    @property
    def valid(self) -> bool:
        """Whether the run says something about its table."""
        return self.run is not None and self.run.diagnosis.verdict.valid

    def latency(self, tag: str) -> Latency | None:
        """The latencies of `OPERATION.outcome`, where the run timed them."""
        found = (self.run.latency if self.run else None) or ()
        return next((one for one in found if f"{one.operation}.{one.outcome}" == tag), None)

    def counted(self, name: str) -> float | None:
        """A number that the load test counted."""
        return self.measured.counted.get(name) if self.measured else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One measure of every run."""

    name: str
    cells: tuple[str, ...]
    wrong: tuple[bool, ...] = ()  # cells that say something is not right


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Measures that belong together."""

    title: str
    rows: tuple[Row, ...]


def groups_of(columns: Sequence[Column]) -> tuple[Group, ...]:
    """Every measure that at least one of the runs has."""
    groups = (
        Group(title="The answer", rows=_answer(columns)),
        Group(title="Admitted and throttled", rows=_throughput(columns)),
        Group(title="Latency", rows=_latency(columns)),
        Group(title="What it costs", rows=_costs(columns)),
        Group(title="Counted by the load test", rows=_counted(columns)),
    )
    return tuple(group for group in groups if group.rows)


def _rows(
    columns: Sequence[Column], measures: Sequence[tuple[str, Callable[[Measured], str]]]
) -> tuple[Row, ...]:
    """One row for each measure, without those that no run has."""
    made = (
        Row(name=name, cells=tuple(NOTHING if c.measured is None else say(c.measured) for c in columns))
        for name, say in measures
    )
    return tuple(row for row in made if set(row.cells) != {NOTHING})


def _answer(columns: Sequence[Column]) -> tuple[Row, ...]:
    heroes = [column.entry.hero for column in columns]
    expected = tuple((hero.expected or NOTHING) if hero else NOTHING for hero in heroes)
    rows = [
        Row(
            name="Limited by",
            cells=tuple(hero.chip if hero else "not known" for hero in heroes),
            wrong=tuple(not column.valid for column in columns),
        ),
    ]
    if set(expected) != {NOTHING}:
        rows.append(Row(name="Expected", cells=expected, wrong=tuple(bool(h and h.surprise) for h in heroes)))
    return tuple(rows)


def _throughput(columns: Sequence[Column]) -> tuple[Row, ...]:
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


def _units(traffic: Traffic, direction: str) -> str:
    return rate(traffic.units_per_s, UNITS[direction]) if traffic.attempts else NOTHING


def _first_throttle(one: Measured) -> str:
    return "no throttles" if one.throttling is None else span(one.throttling.first_s)


def _last_throttle(one: Measured) -> str:
    if one.throttling is None:
        return "no throttles"
    return span(one.throttling.last_s) if one.throttling.ended else f"not in {span(one.duration_s)}"


def _latency(columns: Sequence[Column]) -> tuple[Row, ...]:
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
            made.append(Row(name=f"{operation}, {TIMED[outcome]}, p{percentile:g}", cells=cells))
    return tuple(made)


def _at(latency: Latency | None, percentile: float) -> str:
    return NOTHING if latency is None else milliseconds(latency.table[TABLE_PERCENTILES.index(percentile)])


def _costs(columns: Sequence[Column]) -> tuple[Row, ...]:
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


def _counted(columns: Sequence[Column]) -> tuple[Row, ...]:
    together = {
        name: 0.0 for column in columns for name in (column.measured.counted if column.measured else ())
    }
    return tuple(
        Row(
            name=counted.word_of(name).words,
            cells=tuple(counted.shown(name, column.counted(name)) for column in columns),
            wrong=tuple(counted.is_wrong(name, column.counted(name) or 0.0) for column in columns),
        )
        for name in counted.listed(together)
    )
