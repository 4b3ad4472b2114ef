"""Export a regress outcome: JSON, JUnit XML, Prometheus, GitHub Actions annotations.

JUnit has a test suite per case and a test per gate: a failed gate is a failure, an undecided one is skipped,
an invalid run is an error. Follows Jenkins' schema: https://github.com/jenkinsci/xunit-plugin,
`junit-10.xsd`.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from keyheat.analysis.measures import MEASURES
from keyheat.metrics import PREFIX, Metric, prometheus_text
from keyheat.regression.outcome import CaseMade, GateFinding, SessionOutcome, medians
from keyheat.regression.phrases import baseline_phrase, change_phrase, headline, value
from keyheat.runfiles import CannotWrite, FileProblem, write_atomically, write_json

FORMAT: Final = "keyheat.regression/1"
Writer = Callable[[Path, SessionOutcome], None]

# JSON


def write_summary(path: Path, outcome: SessionOutcome) -> None:
    """Write the JSON file atomically. Raises `CannotWrite`."""
    write_json(path, FORMAT, outcome.model_dump(mode="json"))


def content(outcome: SessionOutcome) -> dict[str, Any]:
    """Content of the JSON file."""
    return {"format": FORMAT, **outcome.model_dump(mode="json")}


def json_schema() -> dict[str, Any]:
    """JSON Schema of the file."""
    schema = SessionOutcome.model_json_schema(mode="serialization")
    properties = {"format": {"const": FORMAT}, **schema.pop("properties")}
    required = ["format", *schema.pop("required")]
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": FORMAT}
    return {**head, **schema, "properties": properties, "required": required}


# JUnit

_NOT_IN_XML: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_junit(path: Path, outcome: SessionOutcome) -> None:
    """Write the JUnit file atomically. Raises `CannotWrite`."""
    xml = JUnitXml(_clean(outcome.suite))
    for suite in _suites(outcome):
        suite.timestamp = outcome.started_at.isoformat(timespec="seconds")
        suite.update_statistics()  # type: ignore[no-untyped-call]
        xml.add_testsuite(suite)
    xml.update_statistics()  # type: ignore[no-untyped-call]
    xml._elem.attrib.pop("skipped", None)  # the schema allows it for a suite only
    write_atomically(path, lambda file: xml.write(file))


def _suites(outcome: SessionOutcome) -> Iterator[TestSuite]:
    if outcome.differences:
        text = "\n".join(difference.sentence for difference in outcome.differences)
        forbids = Error("the setups differ", "setup") if not (outcome.forced or outcome.paired) else None
        yield _suite(f"{outcome.suite}.setup", [_test(outcome, "setup", "same as baseline", forbids, text)])
    for case in outcome.cases:
        gates = [_gate(outcome, finding) for finding in outcome.findings if finding.case == case.name]
        suite = _suite(f"{outcome.suite}.{case.name}", [_runs(outcome, case), *gates])
        facts = {"session": outcome.session, "baseline": baseline_phrase(outcome), "target": case.target}
        for name, text in (facts | {f"run {run.repetition}": run.url for run in case.after}).items():
            suite.add_property(name, _clean(text))
        yield suite


def _suite(name: str, tests: Sequence[TestCase]) -> TestSuite:
    suite = TestSuite(_clean(name))
    suite.add_testcases([*tests])
    return suite


def _test(
    outcome: SessionOutcome, case: str, name: str, result: Error | Failure | Skipped | None, text: str,
    took_s: float | None = None,
) -> TestCase:  # fmt: skip
    test = TestCase(name, _clean(f"{outcome.suite}.{case}"), took_s)
    if result is None:
        test.system_out = _clean(text)
    else:
        result.text = _clean(text)
        test.result = [result]
    return test


def _runs(outcome: SessionOutcome, case: CaseMade) -> TestCase:
    """Check that a case's runs are valid and within their scenario's thresholds."""
    runs = (*case.before, *case.after) if outcome.paired else case.after
    invalid = [f"{run.name}: {run.problem or 'not valid'}" for run in runs if not run.valid]
    broken = [f"{run.name}: {line}" for run in case.after for line in run.broken]
    result: Error | Failure | Skipped | None = None
    if not case.after:
        result = Skipped("the case did not run")
    elif invalid:
        result = Error("a run is invalid", "invalid")
    elif broken:
        result = Failure("a threshold is broken", "threshold")
    took_s = round(sum(run.took_s or 0.0 for run in runs), 3)
    return _test(outcome, case.name, "runs are valid", result, "\n".join(invalid or broken), took_s)


def _gate(outcome: SessionOutcome, finding: GateFinding) -> TestCase:
    measure = finding.gate.measure
    before, after = value(finding.before, measure), value(finding.after, measure)
    short = _clean(f"{before} before, {after} now, {change_phrase(finding)}")
    result = Failure(short, finding.decision) if finding.failed else None
    skipped = Skipped(short) if finding.decision == "undecided" else None
    return _test(outcome, finding.case, measure, result or skipped, finding.because)


def _clean(text: str) -> str:
    """Replace characters that XML cannot contain."""
    return _NOT_IN_XML.sub("\ufffd", text)


# Prometheus


def metrics(outcome: SessionOutcome) -> tuple[Metric, ...]:
    """All metrics with at least one point; unknown values are left out, never zero."""
    return tuple(metric for metric in _metrics(outcome) if metric.points)


def _metrics(outcome: SessionOutcome) -> Iterator[Metric]:
    of_suite = {"suite": outcome.suite}
    gates = [
        (of_suite | {"case": finding.case, "measure": finding.gate.measure}, finding)
        for finding in outcome.findings
    ]
    cases = [(of_suite | {"case": case.name}, case.after) for case in outcome.cases]
    yield _metric("regress_exit_code", "exit code of keyheat regress", [(of_suite, outcome.exit_code)])
    ended = [(of_suite, outcome.ended_at.timestamp())]
    yield _metric("regress_ended_timestamp_seconds", "when it ended, since 1970", ended)
    invalid = [(labels, sum(not run.valid for run in runs)) for labels, runs in cases]
    yield _metric("regress_invalid_runs", "runs that say nothing about their table", invalid)
    failed = [(labels, finding.failed) for labels, finding in gates]
    yield _metric("gate_failed", "1: worse than the baseline, or not measured", failed)
    changes = [(labels, finding.change) for labels, finding in gates]
    yield _metric("gate_change_ratio", "relative to the baseline: -0.1 is ten percent less", changes)
    medians_by_case = [(labels, medians([run for run in runs if run.valid])) for labels, runs in cases]
    for name, measure in MEASURES.items():
        values = [(labels, of_case.get(name)) for labels, of_case in medians_by_case]
        name = f"measure_{name.replace('.', '_')}"
        yield _metric(name, f"{measure.says}; median of the valid runs", values)


def _metric(name: str, says: str, points: Sequence[tuple[Mapping[str, str], float | None]]) -> Metric:
    there = tuple((labels, float(number)) for labels, number in points if number is not None)
    return Metric(name=f"{PREFIX}_{name}", says=says, points=there)


def write_prometheus(path: Path, outcome: SessionOutcome) -> None:
    """Write the file atomically: a concurrent collector reads the old one.

    Raises `CannotWrite`.
    """
    body = prometheus_text(metrics(outcome))
    write_atomically(path, lambda file: file.write(body))


# GitHub Actions

MOST: Final = 10  # annotations per level that GitHub shows for a step


def annotations(outcome: SessionOutcome) -> tuple[str, ...]:
    """Lines to print: errors for failures, warnings for undecided gates, else one notice."""
    notes = [(f"{run.name} is invalid", run.problem or "its evidence is missing") for run in outcome.invalid]
    notes += [(f"{run.name}: broken threshold", line) for run in outcome.runs for line in run.broken]
    notes += [
        (f"{finding.case}: {finding.gate.measure} {finding.decision}", finding.because)
        for finding in outcome.failed
    ]
    warnings = [
        (f"{finding.case}: {finding.gate.measure}", finding.because) for finding in outcome.of("undecided")
    ]
    warnings += [("compared by force", "the setups of the two sessions differ")] if outcome.forced else []
    title = f"keyheat regress {outcome.suite}"
    if outcome.exit_code and not notes:
        differ = (f"{difference.sentence}." for difference in outcome.differences)
        notes = [(title, " ".join((headline(outcome), *outcome.because, *differ, *outcome.problems)))]
    notice = [] if outcome.exit_code else [command("notice", title, headline(outcome))]
    file = outcome.suite_path
    return (*_lines("error", notes, file), *_lines("warning", warnings, file), *notice)


def command(level: str, title: str, message: str, file: str | None = None) -> str:
    """One annotation command."""
    where = f",file={_property(file)}" if file else ""
    return f"::{level} title={_property(title)}{where}::{_data(message)}"


def _lines(level: str, notes: Sequence[tuple[str, str]], file: str) -> Iterator[str]:
    listed = notes if len(notes) <= MOST else notes[: MOST - 1]
    yield from (command(level, title, message, file) for title, message in listed)
    if rest := [title for title, _ in notes[len(listed) :]]:
        yield command(level, f"{len(rest)} more", "\n".join(rest), file)


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


# All exports


@dataclass(frozen=True, slots=True, kw_only=True)
class Exports:
    """Files to write, each in the format of its suffix, and GitHub Actions' step summary.

    `markdown` formats an outcome as a comment.
    """

    files: tuple[Path, ...]
    step_summary: Path | None
    markdown: Callable[[SessionOutcome], str]

    @property
    def writers(self) -> dict[str, Writer]:
        return {
            ".xml": write_junit, ".prom": write_prometheus, ".md": self._write_markdown,
            ".json": write_summary,  # last: its exit code depends on all others
        }  # fmt: skip

    def check(self) -> None:
        """Raise `ValueError` before any load if an export cannot be written."""
        every = (*self.files, *filter(None, [self.step_summary]))
        problems = [f"{path} is a folder; an export is a file" for path in every if path.is_dir()]
        problems += [
            f"--export {path}: end the name with .xml (JUnit), .md, .prom or .json, or use github"
            for path in self.files
            if path.suffix not in self.writers
        ]
        if problems:
            raise ValueError("\n".join(problems))

    def write(self, outcome: SessionOutcome) -> SessionOutcome:
        """Write every export; return the outcome with problems, which later exports include."""
        for export in self._exports():
            try:
                export(outcome)
            except (FileProblem, OSError, ValueError) as problem:
                problems = (*outcome.problems, str(problem))
                outcome = outcome.model_copy(update={"problems": problems})
        return outcome

    def _exports(self) -> Iterator[Callable[[SessionOutcome], None]]:
        if self.step_summary is not None:
            yield self._append_step_summary
        for suffix, write in self.writers.items():
            yield from (partial(write, path) for path in self.files if path.suffix == suffix)

    def _write_markdown(self, path: Path, outcome: SessionOutcome) -> None:
        body = self.markdown(outcome).encode()
        write_atomically(path, lambda file: file.write(body))

    def _append_step_summary(self, outcome: SessionOutcome) -> None:
        """Append to the step summary, which other commands also write."""
        assert self.step_summary is not None
        try:
            with self.step_summary.open("ab") as file:
                file.write(self.markdown(outcome).encode())
        except OSError as error:
            where = f"the step's summary {self.step_summary}"
            raise CannotWrite(f"cannot write {where}: {error.strerror or error}") from error
