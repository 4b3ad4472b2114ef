"""The outcome as JUnit XML, as CI servers read it: a test suite for each case, a test for each gate.

A gate that failed is a failure, one that could not be decided is skipped, and a run that says nothing about
its table is an error. What may stand where is that of the schema which Jenkins has for it:
https://github.com/jenkinsci/xunit-plugin, `junit-10.xsd`.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from keyheat.regression.outcome import CaseMade, GateFinding, SessionOutcome
from keyheat.regression.phrases import against, changed, value
from keyheat.runfiles import write_atomically

RUNS: Final = "runs are valid"  # the test of a case beside those of its gates
SETUP: Final = "setup is that of the baseline"
_NOT_IN_XML: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_junit(path: Path, outcome: SessionOutcome) -> None:
    """Write the XML file, whole or not at all. Raises `CannotWrite`."""
    xml = junit(outcome)
    write_atomically(path, lambda file: xml.write(file))


def junit(outcome: SessionOutcome) -> JUnitXml:
    """The whole document."""
    xml = JUnitXml(_clean(outcome.suite))
    for suite in _suites(outcome):
        suite.timestamp = outcome.started_at.isoformat(timespec="seconds")
        suite.update_statistics()  # type: ignore[no-untyped-call]
        xml.add_testsuite(suite)
    xml.update_statistics()  # type: ignore[no-untyped-call]
    xml._elem.attrib.pop("skipped", None)  # the schema knows it for a suite alone
    return xml


def _suites(outcome: SessionOutcome) -> Iterator[TestSuite]:
    if outcome.differences:
        yield _setup(outcome)
    for case in outcome.cases:
        suite = TestSuite(_clean(f"{outcome.suite}.{case.name}"))
        for name, said in _properties(outcome, case):
            suite.add_property(name, _clean(said))
        suite.add_testcase(_runs(outcome, case))
        suite.add_testcases([_gate(outcome, finding) for finding in outcome.of_case(case.name)])
        yield suite


def _properties(outcome: SessionOutcome, case: CaseMade) -> Iterator[tuple[str, str]]:
    yield "session", outcome.session
    yield "baseline", against(outcome)
    yield "scenario", case.scenario
    yield "target", case.target
    for run in case.after:
        yield f"run {run.repetition}", run.url


def _setup(outcome: SessionOutcome) -> TestSuite:
    """What differs, as one test: an error where it forbids the comparison."""
    suite, test = TestSuite(_clean(f"{outcome.suite}.setup")), TestCase(SETUP, _clean(outcome.suite))
    lines = [one.said for one in outcome.differences]
    if outcome.forced or outcome.paired:
        test.system_out = _clean("\n".join(lines))
    else:
        test.result = [_with_text(Error("the setups differ", "setup"), "\n".join(lines))]
    suite.add_testcase(test)
    return suite


def _runs(outcome: SessionOutcome, case: CaseMade) -> TestCase:
    """Whether the runs of a case say anything, and hold the thresholds of their scenario."""
    test = TestCase(RUNS, _clean(f"{outcome.suite}.{case.name}"), round(case.took_s, 3))
    runs = (*case.before, *case.after) if outcome.paired else case.after
    invalid = [f"{run.name}: {run.problem or 'not valid'}" for run in runs if not run.valid]
    broken = [f"{run.name}: {line}" for run in case.after for line in run.broken]
    if not case.after:
        test.result = [Skipped("no run of it was made")]
    elif invalid:
        test.result = [_with_text(Error("a run says nothing about its table", "invalid"), "\n".join(invalid))]
    elif broken:
        test.result = [_with_text(Failure("a threshold is broken", "threshold"), "\n".join(broken))]
    return test


def _gate(outcome: SessionOutcome, finding: GateFinding) -> TestCase:
    measure = finding.gate.measure
    test = TestCase(measure, _clean(f"{outcome.suite}.{finding.case}"))
    before, after = value(finding.before, measure), value(finding.after, measure)
    short = _clean(f"{before} before, {after} now, {changed(finding)}")
    if finding.failed:
        test.result = [_with_text(Failure(short, finding.decision), finding.because)]
    elif finding.decision == "undecided":
        test.result = [_with_text(Skipped(short), finding.because)]
    else:
        test.system_out = _clean(finding.because)
    return test


def _with_text(result: Error | Failure | Skipped, text: str) -> Error | Failure | Skipped:
    result.text = _clean(text)
    return result


def _clean(text: str) -> str:
    """Text without the characters that XML has no way to write."""
    return _NOT_IN_XML.sub("\ufffd", text)
