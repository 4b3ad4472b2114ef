"""Several runs side by side: which throttled and by which limit, a card each, all measures in a table."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from os.path import commonpath, relpath
from pathlib import Path
from typing import Final

from keyheat.analysis.facts import Facts, facts_of
from keyheat.analysis.measures import ABSENCES, MEASURES
from keyheat.analysis.report import ReportRun, read_run
from keyheat.analysis.summary import RunSummary, read_summary
from keyheat.numbers import NOTHING, percent, some
from keyheat.regression.phrases import value
from keyheat.runfiles import REPORT, SIMULATED, FileProblem
from keyheat.show.answer import Answer, Section, Table, Tone, link_to
from keyheat.show.generator import wrong_reads
from keyheat.show.render import html_of, save
from keyheat.show.report import card_of
from keyheat.show.run import ON_A_VIRTUAL_CLOCK, TO_DO
from keyheat.show.verdict import BURST, limit_of

INDEX: Final = "index.html"
MOST_NAMED: Final = 5  # runs of one kind that the first sentence names


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRun:
    """One run; without a `run` it could not be read, and `problem` says why."""

    label: str
    folder: Path
    run: ReportRun | None = None
    card: Answer | None = None
    facts: Facts | None = None
    summary: RunSummary | None = None  # None: its manifest is missing
    problem: str = ""

    @classmethod
    def read_all(cls, folders: Sequence[Path]) -> "list[ComparedRun]":
        """Read all run directories; of several with one name each has its path below their common folder."""
        runs, above = list(map(cls.read, folders)), commonpath(folder.absolute() for folder in folders)
        names = Counter(label for _folder, label in {(run.folder, run.label) for run in runs})
        return [
            replace(run, label=relpath(run.folder, above)) if names[run.label] > 1 else run for run in runs
        ]

    @classmethod
    def read(cls, folder: Path) -> "ComparedRun":
        """Read a run directory; if it is unreadable, its card says why."""
        try:
            run = read_run(folder)
        except FileProblem as problem:
            return cls(label=folder.name, folder=folder, problem=str(problem).replace(f"{folder}/", ""))
        return cls(
            label=folder.name, folder=folder, run=run, card=card_of(run), facts=facts_of(run),
            summary=read_summary(folder) if run.manifest is not None else None,
        )  # fmt: skip

    @property
    def valid(self) -> bool:
        """Whether the run says something about its table."""
        return self.run is not None and self.run.diagnosis.verdict.valid

    @property
    def throttled(self) -> bool:
        return self.valid and self.facts is not None and self.facts.run_throttles > 0

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
        kept = tuple(fact for fact in self.card.facts if fact.id in TO_DO)
        warnings = tuple(line for line in self.card.warnings if line != ON_A_VIRTUAL_CLOCK)  # once for all
        link = link_to(self.folder / REPORT, out_dir)
        return replace(self.card, title=self.label, link=link, facts=kept, warnings=warnings)


def write_comparison(path: Path, folders: Sequence[Path], generated_at: datetime) -> tuple[Answer, bool]:
    """Write the page over run directories; gives its answer, and whether every run is valid.

    Raises `CannotWrite`.
    """
    runs = ComparedRun.read_all(folders)
    answer = comparison_answer(runs, path.parent)
    save(path, html_of(answer, generated_at))
    return answer, all(run.valid for run in runs)


def comparison_answer(runs: Sequence[ComparedRun], out_dir: Path) -> Answer:
    """The answer: a card of each run, then every measure. Links are relative to `out_dir`."""
    throttled, invalid = [run for run in runs if run.throttled], [run for run in runs if not run.valid]
    tones: list[Tone] = ["invalid"] if invalid else [run.tone for run in throttled or runs]
    loud = (tone for tone in tones if tone not in ("none", "undetermined"))
    calm = f"{len(throttled)} of {len(runs)} throttled" if throttled else "None throttled"
    questions = {run.card.question for run in runs if run.card}
    cards = [run.card_from(out_dir) for run in runs]
    stated = [card for card in cards if card.remark]
    surprises = sum(card.surprise for card in stated)
    expected = "as their scenarios expect" if len(stated) > 1 else "as its scenario expects"
    remark = f"{len(stated) - surprises} of {len(stated)} {expected}"
    if silent := len(cards) - len(stated):
        remark += f"; {silent} {'expects' if silent == 1 else 'expect'} nothing"
    elif not surprises:
        remark = f"all {expected}"
    return Answer(
        title=f"{some(len(runs), 'run')} side by side",
        label=f"{some(len(invalid), 'run')} not valid" if invalid else calm,
        tone=next(loud, max(tones, default="none")),
        sentence=sentence_of(runs),
        question=questions.pop() if len(questions) == 1 else "",
        remark=remark if stated else "",
        surprise=bool(surprises),
        warnings=tuple(warnings_of(runs)),
        parts=tuple(replace(card, question=card.question if len(questions) else "") for card in cards),
        sections=(_numbers(runs),),
    )  # fmt: skip


def sentence_of(runs: Sequence[ComparedRun]) -> str:
    """Runs that throttled and by which limit, then calm ones, then undecided ones."""
    throttled = [run for run in runs if run.throttled]
    calm = [run for run in runs if run.valid and not run.throttled and run.tone in ("none", BURST)]
    silent = [run for run in runs if run not in throttled and run not in calm]
    on_burst = [f"{other.label} (on saved burst)" if other.tone == BURST else other.label for other in calm]
    why = [
        f"{other.label} ({other.card.label.lower() if other.card else 'no diagnosis'})" for other in silent
    ]
    by_what = []
    for each in throttled:
        assert each.run is not None, "a run that cannot be read is not valid"
        verdict, share = each.run.diagnosis.verdict, each.facts.throttled_share if each.facts else None
        of_all = f" ({percent(share)})" if share is not None else ""
        by_what.append(f"{each.label} by {limit_of(verdict.constraint, verdict.resource)}{of_all}")
    words = {
        "Throttled": _listed(by_what),
        "Not throttled": _listed(on_burst),
        "Not known": _listed(why),
    }
    return " ".join(f"{what}: {which}." for what, which in words.items() if which)


def _listed(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMED
    return ", ".join([*names[:MOST_NAMED], *([f"{more} more"] if more > 0 else [])])


def warnings_of(runs: Sequence[ComparedRun]) -> Iterator[str]:
    """Warn of invalid runs, and of different scales or targets."""
    for compared in runs:
        generator = compared.run.diagnosis.generator if compared.run else None
        if not compared.valid:
            why = "the load generator was the limit." if generator and generator.bound else (
                compared.problem or "evidence is missing."
            )  # fmt: skip
            yield f"{compared.label}: the run says nothing about its table; {why}"
        elif generator and generator.bound:
            yield f"{compared.label}: {generator.shortfall}"
    read = [compared.run for compared in runs if compared.run is not None]
    if len({run.scale for run in read}) > 1:
        yield "The runs have different scales: their rates cannot be compared."
    targets = {run.manifest.target for run in read if run.manifest}
    if SIMULATED in targets:
        which = "The runs are" if len(targets) == 1 else "Some of the runs are"
        yield f"{which} simulated: nothing was sent, and there are no latencies."
    elif len(targets) > 1:
        yield "The runs went to different places, and some to a local table."


def _numbers(runs: Sequence[ComparedRun]) -> Section:
    wrong = (
        f"{compared.label}: wrong reads: {reads}."
        for compared in runs
        if compared.run and compared.run.manifest and (reads := wrong_reads(compared.run.manifest.counted))
    )
    table = Table(title="Every measure that one of the runs has", rows=tuple(_rows(runs)))
    return Section(id="numbers", title="Side by side", short="Numbers", wrong=tuple(wrong), tables=(table,))


def _rows(runs: Sequence[ComparedRun]) -> Iterator[dict[str, str]]:
    """A row for each measure; a run may be there twice."""
    labels = [run.label for run in runs]
    columns = [
        label if labels.count(label) == 1 else f"{label} ({number})"
        for number, label in enumerate(labels, start=1)
    ]
    summaries = [run.summary for run in runs]
    have = [measured.measures.keys() for measured in summaries if measured is not None]
    for name, measure in MEASURES.items():
        exact = name.removeprefix("mean_")
        if any(
            name in measured and (name == exact or exact not in measured) for measured in have
        ):  # else said twice
            cells = (_cell(measured, name) for measured in summaries)
            yield {"measure": measure.title, **dict(zip(columns, cells, strict=True))}


def _cell(summary: RunSummary | None, name: str) -> str:
    """The number; else why the run has none, or a dash."""
    if summary is None:
        return NOTHING
    if name in summary.measures:
        number = summary.measures[name]
        return percent(number) if MEASURES[name].unit == "share" else value(number, name)
    return ABSENCES[summary.absent[name]].says if name in summary.absent else NOTHING
