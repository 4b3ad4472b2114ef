"""Export a regress outcome as JUnit XML.

It has a test suite per case and a test per gate: a failed gate is a failure, an undecided one is skipped,
an invalid run is an error. Follows Jenkins' schema: https://github.com/jenkinsci/xunit-plugin,
`junit-10.xsd`.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from keyheat.regression.outcome import CaseMade, GateFinding, SessionOutcome
from keyheat.regression.phrases import baseline_phrase, change_phrase, value
from keyheat.runfiles import write_atomically

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
