"""The page of a sweep: where more shards stop paying, and what each number of them costs."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from keyheat.analysis.knees.sweep import RISE_MOST, THROTTLED_MOST, Knee, Point, knee_of
from keyheat.numbers import UNITS, dollars, exact_percent, measured, milliseconds, percent, rate, some, whole
from keyheat.pages.run.hero import Stat
from keyheat.pages.run.sections import Section
from keyheat.pages.series.columns import Column
from keyheat.pages.series.side_by_side import Answer, warnings_of, write_page
from keyheat.pages.series.sweep_charts import P99, charts_of, whole_read
from keyheat.plan.forecast import Forecast, HotKeyForecast, forecast
from keyheat.plan.prices import Prices
from keyheat.scenario.scenario import Scenario

NAME = "sweep.html"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """One scenario with several numbers of shards, in ascending order, each with its run."""

    scenario: Scenario
    planned: Forecast
    runs: tuple[tuple[int, Column], ...]

    @property
    def columns(self) -> tuple[Column, ...]:
        return tuple(column for _shards, column in self.runs)

    @property
    def points(self) -> tuple[Point, ...]:
        """The runs that say something about the table."""
        return tuple(
            Point(
                shards=shards,
                accepted_per_s=write.units_per_s,
                throttled_share=write.throttled_share,
            )
            for shards, column in self.runs
            if column.valid and column.measured
            if (write := column.measured.write).units_per_s is not None and write.throttled_share is not None
        )

    @property
    def knee(self) -> Knee | None:
        return knee_of(self.points)

    def run_of(self, point: Point) -> Column:
        """The run that a point stands for."""
        return dict(self.runs)[point.shards]


def write_sweep(
    path: Path,
    scenario: Scenario,
    folders: Mapping[int, Path],
    prices: Prices,
    generated_at: datetime,
    *,
    margin: float,
) -> Answer:
    """Write the page over the run directories by their numbers of shards; gives what it says first.

    Raises `CannotWrite`.
    """
    runs = ((n, Column.of_run(folders[n], prices, label=some(n, "shard"))) for n in sorted(folders))
    planned = forecast(scenario, prices, margin=margin)
    sweep = Sweep(scenario=scenario, planned=planned, runs=tuple(runs))
    answer = answer_of(sweep)
    section = Section(
        id="sweep",
        title="Against the number of shards",
        short="Shards",
        charts=charts_of(sweep.runs, sweep.planned, sweep.knee),
        notes=tuple(_notes(sweep)),
    )
    write_page(path, sweep.columns, answer, prices, generated_at, [section])
    return answer


def answer_of(sweep: Sweep) -> Answer:
    """The verdict of a sweep: how many shards are enough."""
    knee, key = sweep.knee, sweep.planned.hot_key
    point = knee.point if knee else None
    return Answer(
        kind="sweep over shards",
        title=sweep.scenario.name,
        chip=_chip(knee),
        role="invalid" if knee is None else "none" if point else "partition",
        sentence=sentence_of(sweep),
        question=sweep.scenario.question,
        where=f"{some(len(sweep.runs), 'run')}, shards {', '.join(str(shards) for shards, _ in sweep.runs)}",
        stats=(
            Stat(
                name="Enough",
                value=some(point.shards, "shard") if point else "none of these",
                beside="the smallest number that is",
            ),
            *((_formula(key),) if key else ()),
            *_costs(sweep),
        ),
        warnings=warnings_of(sweep.columns),
    )


def sentence_of(sweep: Sweep) -> str:
    """The verdict in a sentence, with the numbers that carry it."""
    knee = sweep.knee
    if knee is None:
        return "No run of this sweep says anything about its table."
    if knee.point is None:
        best = knee.best
        still = percent(best.throttled_share)
        return (
            f"None of these is enough: {some(best.shards, 'shard')} accepted most, "
            f"{rate(best.accepted_per_s, 'WCU')}, and {still} of the writes were still throttled."
        )
    point = knee.point
    few = "1 shard is enough" if point.shards == 1 else f"{point.shards:,} shards are enough"
    throttled = percent(point.throttled_share) if point.throttled_share else "none"
    accepted = f"{rate(point.accepted_per_s, 'WCU')} accepted and {throttled} of the writes throttled"
    return f"{few}: {accepted}{_before(sweep, point)}."


def _before(sweep: Sweep, point: Point) -> str:
    """What the next smaller number of shards did."""
    smaller = [one for one in sweep.points if one.shards < point.shards]
    if not smaller:
        return ""
    one = max(smaller, key=lambda other: other.shards)
    share = percent(one.throttled_share)
    return f"; with {one.shards:,} it was {rate(one.accepted_per_s, 'WCU')} and {share}"


def _chip(knee: Knee | None) -> str:
    if knee is None:
        return "Not valid"
    return f"{knee.point.shards:,} enough" if knee.point else "Not enough"


def _formula(key: HotKeyForecast) -> Stat:
    with_margin = f"{key.needed_with_margin:,} with a margin of {key.margin:g}"
    return Stat(
        name="The formula says",
        value=some(key.needed, "shard"),
        beside=f"ceil({whole(key.units_per_s)} / {whole(key.ceiling_per_s)}); {with_margin}",
    )


def _costs(sweep: Sweep) -> tuple[Stat, ...]:
    """What the chosen number of shards costs; without one, what the best costs."""
    knee = sweep.knee
    if knee is None:
        return ()
    point = knee.point or knee.best
    column, of_point = sweep.run_of(point), f"with {some(point.shards, 'shard')}"
    found = []
    latency = whole_read(column)
    if latency is not None:
        found.append(Stat(name="Whole read, p99", value=milliseconds(latency.table[P99]), beside=of_point))
    numbers = column.measured
    if numbers is not None and numbers.units_per_read is not None:
        value = f"{measured(numbers.units_per_read)} {UNITS['read']}"
        found.append(Stat(name="One whole read", value=value, beside=of_point))
    if numbers is not None and numbers.provisioned_dollars is not None:
        found.append(
            Stat(
                name="A million writes",
                value=dollars(numbers.provisioned_dollars),
                beside=f"as provisioned, {of_point}",
            )
        )
    return tuple(found)


def _notes(sweep: Sweep) -> list[str]:
    said = [
        f"Enough is the smallest number of shards with which at most {exact_percent(THROTTLED_MOST)} of the "
        f"writes are throttled, and from which no larger number accepts over {exact_percent(RISE_MOST)} more "
        "units per second."
    ]
    key, knee = sweep.planned.hot_key, sweep.knee
    if key and knee and knee.point and knee.point.shards > key.needed:
        said.append(
            f"The formula, {key.needed:,}, gives every shard a partition to itself. Shards are placed by a "
            "hash and share partitions, until DynamoDB splits those that stay hot."
        )
    return said
