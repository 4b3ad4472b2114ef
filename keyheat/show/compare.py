"""Several runs beside each other: which throttled and by what, a card of each, every measure in a table."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from os.path import relpath
from pathlib import Path
from typing import Final
from urllib.parse import quote

from keyheat.analysis.facts import facts_of
from keyheat.analysis.report import (
    ACCEPTED,
    RESPONSE,
    TABLE_PERCENTILES,
    OperationLatency,
    ReportRun,
    load_run,
)
from keyheat.analysis.run_result import RunResult, RunTraffic, measure
from keyheat.numbers import (
    NOTHING,
    UNITS,
    dollars,
    measured,
    milliseconds,
    percent,
    rate,
    some,
    span,
    whole,
)
from keyheat.plan.prices import Prices
from keyheat.runfiles import REPORT, SIMULATED, FileProblem
from keyheat.show import counts
from keyheat.show.answer import Answer, Section, Table, Tone
from keyheat.show.html import html_of, save
from keyheat.show.report import card_of
from keyheat.show.verdict import BURST, limit_of
from keyheat.terms import RESPONSE_TIME, SERVICE_TIME
from keyheat.words import capital

INDEX: Final = "index.html"
MILLION: Final = (
    "A million writes cost, on-demand: the write units of accepted writes, tables beside it included; as "
    "provisioned: the provisioned write capacity for as long as a million writes took; {}."
)
MOST_NAMED: Final = 5  # runs of one kind that the first sentence names
TIMED: Final = {ACCEPTED: SERVICE_TIME, RESPONSE: RESPONSE_TIME, "logical": "whole operation"}
"""Latency outcomes that are compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRun:
    """One run; without a `run` it could not be read, and `problem` says why."""

    label: str
    folder: Path
    run: ReportRun | None = None
    card: Answer | None = None
    throttled_share: float | None = None  # of its attempts
    throttles: int = 0
    numbers: RunResult | None = None  # None: its seconds are missing
    problem: str = ""

    @classmethod
    def read(cls, folder: Path, prices: Prices | None = None, label: str = "") -> "ComparedRun":
        """A run directory; one that cannot be read says so on its card."""
        label = label or folder.name
        try:
            run = load_run(folder)
        except FileProblem as problem:
            return cls(label=label, folder=folder, problem=str(problem).replace(f"{folder}/", ""))
        facts, numbers = facts_of(run), None
        if prices is not None and run.manifest is not None and run.seconds is not None:
            numbers = measure(run.manifest, run.seconds, prices)
        return cls(
            label=label, folder=folder, run=run, card=card_of(run), throttled_share=facts.throttled_share,
            throttles=facts.run_throttles, numbers=numbers,
        )  # fmt: skip

    @property
    def valid(self) -> bool:
        """Whether the run says something about its table."""
        return self.run is not None and self.run.diagnosis.verdict.valid

    @property
    def throttled(self) -> bool:
        return self.valid and self.throttles > 0

    @property
    def tone(self) -> Tone:
        return self.card.tone if self.card else "invalid"

    def card_from(self, out_dir: Path) -> Answer:
        """The first screen of its report, for a page in `out_dir`."""
        if self.card is None:
            return Answer(
                title=self.label, label="No diagnosis", tone="invalid", sentence="This run has no verdict.",
                notes=(self.problem,),
            )  # fmt: skip
        link = quote(Path(relpath(self.folder / REPORT, out_dir)).as_posix())
        kept = tuple(fact for fact in self.card.facts if fact.id in ("now", "do"))
        return replace(self.card, title=self.label, link=link, facts=kept, commands=(), notes=())

    def latency(self, tag: str) -> OperationLatency | None:
        """The latencies of `OPERATION.outcome`, if the run timed them."""
        found = (self.run.latency if self.run else None) or ()
        return next((one for one in found if f"{one.operation}.{one.outcome}" == tag), None)


def write_comparison(path: Path, folders: Sequence[Path], prices: Prices, generated_at: datetime) -> bool:
    """Write the page over run directories; whether each of them says something about its table.

    Raises `CannotWrite`.
    """
    runs = [ComparedRun.read(folder, prices) for folder in folders]
    save(path, html_of(comparison_answer(runs, prices, path.parent), generated_at))
    return all(run.valid for run in runs)


def write_index(out_dir: Path, folders: Sequence[Path], generated_at: datetime, *, title: str) -> Path:
    """Write `index.html` with a card for each run directory; gives its path. Raises `CannotWrite`."""
    runs = [ComparedRun.read(folder) for folder in folders]
    answer = replace(comparison_answer(runs, None, out_dir), title=title)
    return save(out_dir / INDEX, html_of(answer, generated_at))


def comparison_answer(runs: Sequence[ComparedRun], prices: Prices | None, out_dir: Path) -> Answer:
    """The answer; without prices it has cards alone. Links are relative to `out_dir`."""
    throttled = [run for run in runs if run.throttled]
    invalid = [run for run in runs if not run.valid]
    calm = f"{len(throttled)} of {len(runs)} throttled" if throttled else "None throttled"
    questions = {run.card.question for run in runs if run.card}
    cards = [run.card_from(out_dir) for run in runs]
    stated = [card for card in cards if card.remark]
    surprises = sum(card.surprise for card in stated)
    return Answer(
        title=f"{some(len(runs), 'run')} side by side",
        label=f"{some(len(invalid), 'run')} not valid" if invalid else calm,
        tone=_tone(runs, throttled),
        sentence=sentence_of(runs),
        question=questions.pop() if len(questions) == 1 else "",
        remark=_expected(len(stated), surprises),
        surprise=bool(surprises),
        warnings=tuple(warnings_of(runs)),
        parts=tuple(replace(card, question=card.question if len(questions) else "") for card in cards),
        sections=(_numbers(runs),) if prices is not None else (),
        notes=(MILLION.format(prices.title),) if prices is not None else (),
    )  # fmt: skip


def sentence_of(runs: Sequence[ComparedRun]) -> str:
    """Which runs were throttled and by what, then those that were not, and those that cannot tell."""
    throttled = [run for run in runs if run.throttled]
    calm = [run for run in runs if run.valid and not run.throttled and run.tone in ("none", BURST)]
    silent = [run for run in runs if run not in throttled and run not in calm]
    on_burst = [f"{one.label} (on saved burst)" if one.tone == BURST else one.label for one in calm]
    why = [f"{one.label} ({one.card.label.lower() if one.card else 'no diagnosis'})" for one in silent]
    words = {
        "Throttled": _listed([*map(_by_what, throttled)]),
        "Not throttled": _listed(on_burst),
        "Not known": _listed(why),
    }
    return " ".join(f"{what}: {which}." for what, which in words.items() if which)


def _listed(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMED
    return ", ".join([*names[:MOST_NAMED], *([f"{more} more"] if more > 0 else [])])


def _by_what(one: ComparedRun) -> str:
    """A throttled run with its limit: `hotkey by a partition limit of the table (37 %)`."""
    assert one.run is not None, "a run that cannot be read is not valid"
    verdict, share = one.run.diagnosis.verdict, one.throttled_share
    part = f" ({percent(share)})" if share is not None else ""
    return f"{one.label} by {limit_of(verdict.constraint, verdict.resource)}{part}"


def _tone(runs: Sequence[ComparedRun], throttled: Sequence[ComparedRun]) -> Tone:
    """Throttles before everything, and calm only if every run is."""
    if not all(run.valid for run in runs):
        return "invalid"
    tones = [run.tone for run in throttled or runs]
    return next((tone for tone in tones if tone not in ("none", "undetermined")), max(tones, default="none"))


def _expected(stated: int, surprises: int) -> str:
    if not stated:
        return ""
    what = "their scenarios expect" if stated > 1 else "its scenario expects"
    return f"{stated - surprises} of {stated} as {what}" if surprises else f"all as {what}"


def warnings_of(runs: Sequence[ComparedRun]) -> Iterator[str]:
    """What makes runs hard to compare: invalid ones, other scales, other places."""
    for one in runs:
        generator = one.run.diagnosis.generator if one.run else None
        if not one.valid:
            why = "the load generator was the limit." if generator and generator.bound else (
                one.problem or "evidence is missing."
            )  # fmt: skip
            yield f"{one.label}: the run says nothing about its table; {why}"
        elif generator and generator.bound:
            yield f"{one.label}: {generator.shortfall}"
    read = [one.run for one in runs if one.run is not None]
    if len({run.scale for run in read}) > 1:
        yield "The runs have different scales: their rates cannot be compared."
    targets = {run.manifest.target for run in read if run.manifest}
    if SIMULATED in targets:
        which = "The runs are" if len(targets) == 1 else "Some of the runs are"
        yield f"{which} simulated: nothing was sent, and there are no latencies."
    elif len(targets) > 1:
        yield "The runs went to different places, and some to a local table."


def _numbers(runs: Sequence[ComparedRun]) -> Section:
    return Section(
        id="numbers", title="Side by side", short="Numbers", wrong=tuple(_wrong(runs)),
        tables=tuple(
            Table(title=title, rows=rows)
            for title, measures in groups_of(runs).items()
            if (rows := tuple(_row(runs, name, cells) for name, cells in measures.items()))
        ),
    )  # fmt: skip


def _row(runs: Sequence[ComparedRun], name: str, cells: Sequence[str]) -> dict[str, str]:
    labels = [run.label for run in runs]
    columns = [
        label if labels.count(label) == 1 else f"{label} ({place})"
        for place, label in enumerate(labels, start=1)
    ]
    return {"measure": capital(name), **dict(zip(columns, cells, strict=True))}


def _wrong(runs: Sequence[ComparedRun]) -> Iterator[str]:
    """Counts that say that something is not right, as items that were written and not found."""
    for one in runs:
        if wrong := counts.wrong_reads(one.numbers.counted if one.numbers else {}):
            yield f"{one.label}: wrong reads: {wrong}."


def groups_of(runs: Sequence[ComparedRun]) -> dict[str, dict[str, tuple[str, ...]]]:
    """Every measure that at least one of the runs has, by group and name: what it is in each run."""
    groups = {
        "Admitted and throttled": _of_numbers(runs, TRAFFIC),
        "Latency": _latency(runs),
        "What it costs": _of_numbers(runs, COSTS),
        "Counted by the load test": _counted(runs),
    }
    return {
        title: {name: cells for name, cells in measures.items() if set(cells) != {NOTHING}}
        for title, measures in groups.items()
    }


def _units(traffic: RunTraffic, direction: str) -> str:
    return rate(traffic.units_per_s, UNITS[direction]) if traffic.attempts else NOTHING


def _first_throttle(one: RunResult) -> str:
    return "no throttles" if one.throttling is None else span(one.throttling.first_s)


def _last_throttle(one: RunResult) -> str:
    if one.throttling is None:
        return "no throttles"
    return span(one.throttling.last_s) if one.throttling.ended else f"not in {span(one.duration_s)}"


Measures = dict[str, Callable[[RunResult], str]]
TRAFFIC: Final[Measures] = {
    "Accepted writes": lambda one: _units(one.write, "write"),
    "Accepted reads": lambda one: _units(one.read, "read"),
    "Throttled, of the writes": lambda one: percent(one.write.throttled_share),
    "Throttled, of the reads": lambda one: percent(one.read.throttled_share),
    "Throttled requests": lambda one: whole(one.throttled),
    "First throttle after": _first_throttle,
    "Throttling ended after": _last_throttle,
}
COSTS: Final[Measures] = {
    "RCU per whole read": lambda one: measured(one.units_per_read),
    "Units per order": lambda one: measured(one.units_per_order),
    "A million writes, on-demand": lambda one: dollars(one.on_demand_dollars),
    "A million writes, as provisioned": lambda one: dollars(one.provisioned_dollars),
    "Shards per key, in the scenario": lambda one: whole(one.shards) if (one.shards or 1) > 1 else NOTHING,
}


def _of_numbers(runs: Sequence[ComparedRun], measures: Measures) -> dict[str, tuple[str, ...]]:
    return {
        name: tuple(NOTHING if one.numbers is None else words(one.numbers) for one in runs)
        for name, words in measures.items()
    }


def _latency(runs: Sequence[ComparedRun]) -> dict[str, tuple[str, ...]]:
    timed = [one for run in runs for one in ((run.run.latency if run.run else None) or ())]
    tags = {(one.operation, one.outcome) for one in timed if one.outcome in TIMED}
    return {
        f"{operation}, {TIMED[outcome]}, p{percentile:g}": tuple(
            _at(run.latency(f"{operation}.{outcome}"), percentile) for run in runs
        )
        for operation, outcome in sorted(tags, key=lambda tag: (list(TIMED).index(tag[1]), tag[0]))
        for percentile in (50.0, 99.0)
    }


def _at(latency: OperationLatency | None, percentile: float) -> str:
    return NOTHING if latency is None else milliseconds(latency.table[TABLE_PERCENTILES.index(percentile)])


def _counted(runs: Sequence[ComparedRun]) -> dict[str, tuple[str, ...]]:
    counted = [run.numbers.counted if run.numbers else {} for run in runs]
    names = counts.listed({name for of_run in counted for name in of_run})
    return {
        counts.word_of(name): tuple(counts.shown(name, of_run.get(name)) for of_run in counted)
        for name in names
    }
