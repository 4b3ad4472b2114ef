"""The outcome of a regress for other programs: JSON, JUnit XML, Prometheus, annotations of GitHub Actions.

JUnit has a test suite for each case and a test for each gate: a gate that failed is a failure, one that could
not be decided is skipped, an invalid run is an error. It keeps to Jenkins' schema:
https://github.com/jenkinsci/xunit-plugin, `junit-10.xsd`.
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
from keyheat.regression.phrases import against, changed, headline, value
from keyheat.runfiles import CannotWrite, FileProblem, write_atomically, write_json

FORMAT: Final = "keyheat.regression/1"
Writer = Callable[[Path, SessionOutcome], None]

# JSON


def write_summary(path: Path, outcome: SessionOutcome) -> None:
    """Write the JSON file, whole or not at all. Raises `CannotWrite`."""
    write_json(path, FORMAT, outcome.model_dump(mode="json"))


def content(outcome: SessionOutcome) -> dict[str, Any]:
    """The content of the JSON file."""
    return {"format": FORMAT, **outcome.model_dump(mode="json")}


def json_schema() -> dict[str, Any]:
    """The JSON Schema of the file."""
    schema = SessionOutcome.model_json_schema(mode="serialization")
    properties = {"format": {"const": FORMAT}, **schema.pop("properties")}
    required = ["format", *schema.pop("required")]
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": FORMAT}
    return {**head, **schema, "properties": properties, "required": required}


# JUnit

_NOT_IN_XML: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_junit(path: Path, outcome: SessionOutcome) -> None:
    """Write the XML file, whole or not at all. Raises `CannotWrite`."""
    xml = JUnitXml(_clean(outcome.suite))
    for suite in _suites(outcome):
        suite.timestamp = outcome.started_at.isoformat(timespec="seconds")
        suite.update_statistics()  # type: ignore[no-untyped-call]
        xml.add_testsuite(suite)
    xml.update_statistics()  # type: ignore[no-untyped-call]
    xml._elem.attrib.pop("skipped", None)  # the schema knows it for a suite alone
    write_atomically(path, lambda file: xml.write(file))


def _suites(outcome: SessionOutcome) -> Iterator[TestSuite]:
    if outcome.differences:
        text = "\n".join(one.said for one in outcome.differences)
        forbids = Error("the setups differ", "setup") if not (outcome.forced or outcome.paired) else None
        yield _suite(f"{outcome.suite}.setup", [_test(outcome, "setup", "same as baseline", forbids, text)])
    for case in outcome.cases:
        gates = [_gate(outcome, one) for one in outcome.findings if one.case == case.name]
        suite = _suite(f"{outcome.suite}.{case.name}", [_runs(outcome, case), *gates])
        facts = {"session": outcome.session, "baseline": against(outcome), "target": case.target}
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
    """Whether the runs of a case are valid, and keep the thresholds of their scenario."""
    runs = (*case.before, *case.after) if outcome.paired else case.after
    invalid = [f"{run.name}: {run.problem or 'not valid'}" for run in runs if not run.valid]
    broken = [f"{run.name}: {line}" for run in case.after for line in run.broken]
    result: Error | Failure | Skipped | None = None
    if not case.after:
        result = Skipped("no run was made")
    elif invalid:
        result = Error("a run is invalid", "invalid")
    elif broken:
        result = Failure("a threshold is broken", "threshold")
    took_s = round(sum(run.took_s or 0.0 for run in runs), 3)
    return _test(outcome, case.name, "runs are valid", result, "\n".join(invalid or broken), took_s)


def _gate(outcome: SessionOutcome, one: GateFinding) -> TestCase:
    measure = one.gate.measure
    before, after = value(one.before, measure), value(one.after, measure)
    short = _clean(f"{before} before, {after} now, {changed(one)}")
    result = Failure(short, one.decision) if one.failed else None
    skipped = Skipped(short) if one.decision == "undecided" else None
    return _test(outcome, one.case, measure, result or skipped, one.because)


def _clean(text: str) -> str:
    """Text without the characters that XML has no way to write."""
    return _NOT_IN_XML.sub("\ufffd", text)


# Prometheus


def metrics(outcome: SessionOutcome) -> tuple[Metric, ...]:
    """All that have at least one point; what is not known is left out, and never zero."""
    return tuple(metric for metric in _metrics(outcome) if metric.points)


def _metrics(outcome: SessionOutcome) -> Iterator[Metric]:
    of_suite = {"suite": outcome.suite}
    gates = [(of_suite | {"case": one.case, "measure": one.gate.measure}, one) for one in outcome.findings]
    cases = [(of_suite | {"case": case.name}, case.after) for case in outcome.cases]
    yield _metric("regress_exit_code", "exit code of keyheat regress", [(of_suite, outcome.exit_code)])
    ended = [(of_suite, outcome.ended_at.timestamp())]
    yield _metric("regress_ended_timestamp_seconds", "when it ended, since 1970", ended)
    invalid = [(labels, sum(not run.valid for run in runs)) for labels, runs in cases]
    yield _metric("regress_invalid_runs", "runs that say nothing about their table", invalid)
    failed = [(labels, one.failed) for labels, one in gates]
    yield _metric("gate_failed", "1: worse than the baseline, or not measured", failed)
    changes = [(labels, one.change) for labels, one in gates]
    yield _metric("gate_change_ratio", "relative to the baseline: -0.1 is ten percent less", changes)
    found = [(labels, medians([run for run in runs if run.valid])) for labels, runs in cases]
    for name, measure in MEASURES.items():
        values = [(labels, of_case.get(name)) for labels, of_case in found]
        name = f"measure_{name.replace('.', '_')}"
        yield _metric(name, f"{measure.says}; median of the valid runs", values)


def _metric(name: str, says: str, points: Sequence[tuple[Mapping[str, str], float | None]]) -> Metric:
    there = tuple((labels, float(number)) for labels, number in points if number is not None)
    return Metric(name=f"{PREFIX}_{name}", says=says, points=there)


def write_prometheus(path: Path, outcome: SessionOutcome) -> None:
    """Write the file, whole or not at all: a collector that reads meanwhile gets the old one.

    Raises `CannotWrite`.
    """
    body = prometheus_text(metrics(outcome))
    write_atomically(path, lambda file: file.write(body))


# GitHub Actions

MOST: Final = 10  # annotations of a kind that a step shows


def annotations(outcome: SessionOutcome) -> tuple[str, ...]:
    """The lines to print: errors for what failed, warnings for what is undecided, else one notice."""
    notes = [(f"{run.name} is invalid", run.problem or "its evidence is missing") for run in outcome.invalid]
    notes += [(f"{run.name}: broken threshold", line) for run in outcome.runs for line in run.broken]
    notes += [(f"{one.case}: {one.gate.measure} {one.decision}", one.because) for one in outcome.failed]
    warnings = [(f"{one.case}: {one.gate.measure}", one.because) for one in outcome.of("undecided")]
    warnings += [("compared by force", "the setups of the two sessions differ")] if outcome.forced else []
    title = f"keyheat regress {outcome.suite}"
    if outcome.exit_code and not notes:
        differ = (f"{one.said}." for one in outcome.differences)
        notes = [(title, " ".join((headline(outcome), *outcome.because, *differ, *outcome.problems)))]
    notice = [] if outcome.exit_code else [command("notice", title, headline(outcome))]
    file = outcome.suite_path
    return (*_lines("error", notes, file), *_lines("warning", warnings, file), *notice)


def command(level: str, title: str, message: str, file: str | None = None) -> str:
    """One annotation."""
    where = f",file={_property(file)}" if file else ""
    return f"::{level} title={_property(title)}{where}::{_data(message)}"


def _lines(level: str, notes: Sequence[tuple[str, str]], file: str) -> Iterator[str]:
    shown = notes if len(notes) <= MOST else notes[: MOST - 1]
    yield from (command(level, title, message, file) for title, message in shown)
    if rest := [title for title, _ in notes[len(shown) :]]:
        yield command(level, f"{len(rest)} more", "\n".join(rest), file)


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


# All that somebody wants


@dataclass(frozen=True, slots=True, kw_only=True)
class Exports:
    """Files to write, each in the format of its suffix, and the summary of a step in GitHub Actions.

    `markdown` makes the text of a comment from an outcome.
    """

    files: tuple[Path, ...]
    step_summary: Path | None
    markdown: Callable[[SessionOutcome], str]

    @property
    def writers(self) -> dict[str, Writer]:
        return {
            ".xml": write_junit, ".prom": write_prometheus, ".md": self._write_markdown,
            ".json": write_summary,  # last: it has the exit code, which all of the others decide
        }  # fmt: skip

    def check(self) -> None:
        """Raise `ValueError` if one of them cannot be written, before any load is sent."""
        every = (*self.files, *filter(None, [self.step_summary]))
        problems = [f"{path} is a folder; an export is a file" for path in every if path.is_dir()]
        problems += [
            f"--export {path}: end the name with .xml (JUnit), .md, .prom or .json, or say github"
            for path in self.files
            if path.suffix not in self.writers
        ]
        if problems:
            raise ValueError("\n".join(problems))

    def write(self, outcome: SessionOutcome) -> SessionOutcome:
        """Write every export; gives the outcome with what went wrong, which later exports contain."""
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
        """Add to the summary of a step, which other commands write to as well."""
        assert self.step_summary is not None
        try:
            with self.step_summary.open("ab") as file:
                file.write(self.markdown(outcome).encode())
        except OSError as error:
            where = f"the step's summary {self.step_summary}"
            raise CannotWrite(f"cannot write {where}: {error.strerror or error}") from error
