"""A session of a suite as an answer: verdict, failed gates, then each case with its runs; and its files."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from keyheat.analysis.measures import MEASURES
from keyheat.numbers import NOTHING, some, span
from keyheat.regression.exports import content, write_junit, write_summary
from keyheat.regression.outcome import (
    GOOD,
    CaseMade,
    GateFinding,
    RunMade,
    SessionOutcome,
    worst_first,
)
from keyheat.regression.phrases import (
    SHOWN,
    allowed,
    baseline_phrase,
    change_phrase,
    decision,
    headline,
    label_words,
    value,
)
from keyheat.runfiles import DIAGNOSIS, FILES, CannotWrite, FileProblem, write_text
from keyheat.show.answer import Answer, Fact, Figure, Section, Table, link_to
from keyheat.show.render import html_of, markdown_of, save
from keyheat.words import capital

MOST: Final = 20  # gates that are named, and reasons
MOST_DRAWN: Final = 25
FAR: Final = 4.0  # least effects on each side, beyond which a change is drawn at the edge


def outcome_answer(outcome: SessionOutcome, folder: Path | None = None) -> Answer:
    """The whole answer; links are relative to `folder`, the page's directory."""
    changed = [finding for finding in worst_first(outcome.measured) if finding.decision != "same"]
    rows = tuple(
        {"case": other.case, "what": other.what, "before": other.before, "now": other.after}
        for other in outcome.differences
    )
    differences = Section(
        id="differences", title="What differs from the baseline", tables=(Table(title="Setup", rows=rows),)
    )
    broken = outcome.verdict == "regressed" and not outcome.failed
    compared, beyond = outcome.verdict != "not_compared", len(outcome.because) - MOST
    return Answer(
        title=outcome.suite,
        label="Broken threshold" if broken else SHOWN[outcome.verdict],
        tone="none" if outcome.verdict in GOOD else "failed" if outcome.verdict == "regressed" else "invalid",
        sentence=headline(outcome),
        context=f"{capital(baseline_phrase(outcome))}."
        if compared
        else "Nothing was sent; no session began.",
        question=outcome.question,
        warnings=(*outcome.because[:MOST], *([f"and {beyond} more"] if beyond > 0 else [])),
        facts=tuple(_facts(outcome)) if compared else (),
        sections=(
            *([differences] if outcome.differences else []), *_gates(outcome, changed),
            *(_case(outcome, case, folder) for case in outcome.cases),
        ),
        notes=tuple(outcome.problems),
        data=content(outcome),
    )  # fmt: skip


def _facts(outcome: SessionOutcome) -> Iterator[Fact]:
    gates, failed, undecided = len(outcome.measured), len(outcome.failed), len(outcome.of("undecided"))
    if gates:
        beside = f"{undecided} inconclusive" if undecided else "the others held" if failed else "all held"
        idle = len(outcome.findings) - gates
        more = (f"{idle} skipped (no data)",) if idle else ()
        yield Fact(name="Gates", value=f"{failed} of {gates} failed", beside=(beside, *more))
    bad = sum(not run.valid for run in outcome.runs)
    again = sum(len(case.before) for case in outcome.cases) if outcome.paired else 0
    beside_it = (f"beside {some(again, 'run')} of the baseline's scenarios",) if again else ()
    valid = f"{bad} invalid" if bad else "all valid" if outcome.runs else "none made"
    yield Fact(name="Runs", value=some(len(outcome.runs), "run"), beside=(valid, *beside_it))
    yield Fact(name="Took", value=span(outcome.took_s), beside=(f"from {outcome.started_at:%H:%M} UTC",))
    label = (outcome.label,) if outcome.label else ()
    yield Fact(name="Session", value=outcome.session, beside=(f"in {outcome.history}", *label))


def _gates(outcome: SessionOutcome, changed: Sequence[GateFinding]) -> Iterator[Section]:
    """Changed gates, also in a terminal; gates with an interval also as a chart."""
    if not outcome.findings:
        return
    facts = [
        Fact(
            name=f"{decision(finding).capitalize()}: {finding.case}, {finding.gate.measure}",
            value=finding.because,
            beside=(allowed(finding, outcome),) if finding.failed else (),
        )
        for finding in changed[:MOST]
    ]
    same = len(outcome.of("same"))
    lines = [f"{some(same, 'gate')} {'is' if same == 1 else 'are'} as good as before."] if same else []
    lines += [f"{len(changed) - MOST} more are below."] if len(changed) > MOST else []
    drawn = [
        finding
        for finding in worst_first(outcome.measured)
        if finding.low is not None and finding.gate.least_effect
    ]
    yield Section(
        id="gates", title="Gates that are not as before" if changed else "Gates", short="Gates",
        facts=tuple(facts), lines=tuple(lines),
        figures=(_intervals(drawn[:MOST_DRAWN]),) if drawn else (),
    )  # fmt: skip


def _case(outcome: SessionOutcome, case: CaseMade, folder: Path | None) -> Section:
    """A case: every gate, the worst first, and every run."""
    findings = worst_first(finding for finding in outcome.findings if finding.case == case.name)
    rows = [
        {
            "gate": finding.gate.measure, "decided": decision(finding), "change": change_phrase(finding),
            "before": value(finding.before, finding.gate.measure),
            "now": value(finding.after, finding.gate.measure),
        }
        for finding in findings
        if not finding.idle
    ]  # fmt: skip
    idle = ", ".join(finding.gate.measure for finding in findings if finding.idle)
    scenario = f"Scenario {case.scenario}. " if case.scenario != case.name else ""
    lines = (f"{scenario}Target: {case.target}. {case.question}".rstrip(),)
    return Section(
        id=f"case-{case.name}", title=case.name, short=case.name, page_only=True,
        lines=(*lines, *([f"Nothing to measure: {idle}."] if idle else [])),
        tables=(
            *([Table(title=f"Gates of {case.name}", rows=tuple(rows))] if rows else []),
            *_runs(case, {finding.gate.measure for finding in findings if not finding.idle}, folder),
        ),
    )  # fmt: skip


def _runs(case: CaseMade, measures: set[str], folder: Path | None) -> Iterator[Table]:
    """Every run with the gated measures; its first cell links to its report or files."""
    runs = (*case.before, *case.after)
    names = [name for name in MEASURES if name in measures]
    rows = [
        {
            "run": f"{run.repetition}, {'before' if run.side == 'before' else 'now'}",
            "label": ", ".join(map(label_words, run.labels)) or run.constraint or NOTHING,
            "valid": "; ".join(("yes" if run.valid else run.problem or "no", *run.broken)),
            "took": NOTHING if run.took_s is None else span(run.took_s),
            **{name: value(run.measures.get(name), name) for name in names},
        }
        for run in runs
    ]  # fmt: skip
    if rows:
        links = tuple(_link(run, folder) for run in runs)
        yield Table(title=f"Runs of {case.name}", rows=tuple(rows), links=links, folded=bool(measures))


def _link(run: RunMade, folder: Path | None) -> str | None:
    """A link to a run from `folder`; None if browsers cannot open it, such as s3."""
    parts = urlsplit(run.report or run.url)
    if parts.scheme in ("http", "https"):
        return parts.geturl()
    if parts.scheme != "file" or folder is None:
        return None
    return link_to(Path(unquote(parts.path)), folder)


def _intervals(findings: Sequence[GateFinding]) -> Figure:
    """Changes with intervals, in units of the least effect; worse is left for every measure."""
    import plotly.graph_objects as go

    from keyheat.show.charts import LIGHT, figure, named_rows, safe

    colours = {"worse": "failed", "missing": "failed", "better": "good", "same": "accent"}
    places, notes, rows = named_rows([f"{finding.case}: {finding.gate.measure}" for finding in findings])
    traces = []
    for position, finding in zip(places, findings, strict=True):
        way = -1.0 if MEASURES[finding.gate.measure].better == "lower" else 1.0
        low, at, high = (  # in least effects, negative if worse, at the edge if beyond it
            max(-FAR, min(FAR, way * (end or 0.0) / finding.gate.least_effect))
            for end in (finding.low, finding.change, finding.high)
        )
        colour = LIGHT[colours.get(finding.decision, "ceiling")]
        interval = go.Scatter(
            x=[low, at, high], y=[position] * 3, mode="lines+markers", showlegend=False,
            line={"color": colour, "width": 3}, marker={"color": colour, "size": [0, 10, 0]},
            hovertemplate=f"{safe(finding.gate.measure)}: {change_phrase(finding)}<extra></extra>",
        )  # fmt: skip
        traces.append(interval)
    ends, texts = [-FAR - 0.2, FAR + 0.2], ["← worse", "no change", "better →"]
    drawn = figure(
        traces, 120 + 44 * len(findings), annotations=notes, yaxis=rows,
        xaxis={"range": ends, "tickvals": [-3, 0, 3], "ticktext": texts},
    )  # fmt: skip
    drawn.add_vrect(x0=-1, x1=1, fillcolor=LIGHT["soft"], line_width=0, layer="below")
    drawn.add_vline(x=0, line={"color": LIGHT["muted"], "width": 1})
    return Figure(
        title="How much each gate changed",
        summary="Left is worse, whichever way a measure goes. In the band a change is too small to matter; "
        "the band is as wide for every gate, and a bar is the interval that holds the change.",
        figure=drawn,
    )


PAGE: Final = "regression.html"
SUMMARY: Final = "regression.json"
EXPORTS: Final = (".xml", ".md")
Writer = Callable[[Path, SessionOutcome], object]


def check_exports(files: Sequence[Path]) -> None:
    """Raise `ValueError` before any load if an export cannot be written."""
    problems = [f"{path} is a folder; an export is a file" for path in files if path.is_dir()]
    problems += [
        f"--export {path}: end the name with .xml (JUnit) or .md, or use github"
        for path in files
        if path.suffix not in EXPORTS
    ]
    if problems:
        raise ValueError("\n".join(problems))


def write_session(
    outcome: SessionOutcome, exports: Sequence[Path], step_summary: Path | None = None
) -> SessionOutcome:
    """Write every file; return the outcome with problems and reports, which later files include.

    A failed file changes no verdict. A session that did not start has no folder, so exports alone.
    """
    files = list(exports)
    if outcome.verdict != "not_compared":
        folder = Path(outcome.folder)
        outcome = _with_reports(outcome, folder)
        files = [folder / PAGE, *exports, folder / SUMMARY]
    if step_summary is not None:
        outcome = _attempt(_append_comment, step_summary, outcome)
    for path in sorted(files, key=lambda path: [*WRITERS].index(path.suffix)):
        outcome = _attempt(WRITERS[path.suffix], path, outcome)
    return outcome


def comment(outcome: SessionOutcome) -> str:
    """The outcome for a pull request; the first line names the suite, so that a comment can be replaced."""
    suite = re.sub("[^A-Za-z0-9_.-]", "-", outcome.suite)
    return f"<!-- keyheat regress {suite} -->\n{markdown_of(outcome_answer(outcome))}"


def _attempt(write: Writer, path: Path, outcome: SessionOutcome) -> SessionOutcome:
    try:
        write(path, outcome)
    except (FileProblem, OSError, ValueError) as problem:
        return outcome.model_copy(update={"problems": (*outcome.problems, str(problem))})
    return outcome


def _with_reports(outcome: SessionOutcome, folder: Path) -> SessionOutcome:
    """Write report.html for failed cases, invalid runs and broken thresholds.

    The other runs have all their files; `keyheat report` writes their pages.
    """
    from keyheat.show.report import write_report

    failed, problems = {finding.case for finding in outcome.failed}, list[str]()

    def reported(run: RunMade) -> RunMade:
        calm = run.valid and not run.broken and run.case not in failed
        parts = urlsplit(run.url)
        run_folder = Path(unquote(parts.path))
        ours = parts.scheme == "file" and run_folder.is_relative_to(folder.absolute())
        if calm or run.report is not None or not ours or not (run_folder / FILES[DIAGNOSIS]).exists():
            return run
        try:
            report = write_report(run_folder, outcome.ended_at)
        except FileProblem as problem:
            problems.append(str(problem))
            return run
        return run.model_copy(update={"report": report.as_uri()})

    cases = tuple(
        case.model_copy(
            update={"before": tuple(map(reported, case.before)), "after": tuple(map(reported, case.after))}
        )
        for case in outcome.cases
    )
    return outcome.model_copy(update={"cases": cases, "problems": (*outcome.problems, *problems)})


def _append_comment(path: Path, outcome: SessionOutcome) -> None:
    """Append to the step's summary, which other commands also write."""
    try:
        with path.open("ab") as file:
            file.write(comment(outcome).encode())
    except OSError as error:
        why = error.strerror or error
        raise CannotWrite(f"cannot write the step's summary {path}: {why}") from error


WRITERS: Final[Mapping[str, Writer]] = {
    ".html": lambda path, of: save(path, html_of(outcome_answer(of, path.parent), of.ended_at)),
    ".xml": write_junit, ".md": lambda path, of: write_text(path, comment(of)),
    ".json": write_summary,
}  # fmt: skip
"""By the end of a file's name, in their order: the JSON file is last, since it has every problem."""
