"""Export a regress outcome: JSON, annotations of GitHub Actions, JUnit XML."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final
from xml.etree.ElementTree import Element, ElementTree, SubElement

from keyheat.regression.outcome import CaseMade, SessionOutcome
from keyheat.regression.phrases import baseline_phrase, change_phrase, headline, value
from keyheat.runfiles import write_atomically, write_json

FORMAT: Final = "keyheat.regression/1"

# JSON


def write_summary(path: Path, outcome: SessionOutcome) -> None:
    """Write the JSON file atomically. Raises `CannotWrite`."""
    write_json(path, FORMAT, outcome.model_dump(mode="json"))


def content(outcome: SessionOutcome) -> dict[str, Any]:
    return {"format": FORMAT, **outcome.model_dump(mode="json")}


def json_schema() -> dict[str, Any]:
    schema = SessionOutcome.model_json_schema(mode="serialization")
    properties = {"format": {"const": FORMAT}, **schema.pop("properties")}
    required = ["format", *schema.pop("required")]
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": FORMAT}
    return {**head, **schema, "properties": properties, "required": required}


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
    title = f"keyheat regress {outcome.suite}"
    if outcome.exit_code and not notes:
        differ = (f"{difference.sentence}." for difference in outcome.differences)
        notes = [(title, " ".join((headline(outcome), *outcome.because, *differ, *outcome.problems)))]
    notice = [] if outcome.exit_code else [command("notice", title, headline(outcome))]
    file = outcome.suite_path
    return (*_lines("error", notes, file), *_lines("warning", warnings, file), *notice)


def command(level: str, title: str, message: str, file: str | None = None) -> str:
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


# JUnit, by Jenkins' schema: https://github.com/jenkinsci/xunit-plugin, junit-10.xsd

COUNTED: Final = {"testcase": "tests", "error": "errors", "failure": "failures"}
_NOT_IN_XML: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_junit(path: Path, outcome: SessionOutcome) -> None:
    """Write the JUnit file atomically: a test suite for each case, a test for each gate.

    A failed gate is a failure, an undecided one is skipped, an invalid run is an error. Raises `CannotWrite`.
    """
    root = Element("testsuites", name=outcome.suite)
    if outcome.differences:
        text = "\n".join(difference.sentence for difference in outcome.differences)
        result = None if outcome.paired else ("error", "setup", "the setups differ")
        _test(_suite(root, outcome, "setup"), "same as baseline", result, text)
    for case in outcome.cases:
        suite = _suite(root, outcome, case.name)
        facts = {"session": outcome.session, "baseline": baseline_phrase(outcome), "target": case.target}
        properties = SubElement(suite, "properties")
        for name, text in (facts | {f"run {run.repetition}": run.url for run in case.after}).items():
            SubElement(properties, "property", name=name, value=text)
        _runs(suite, outcome, case)
        for finding in outcome.findings:
            if finding.case != case.name:
                continue
            measure, tag = finding.gate.measure, {"undecided": "skipped"}.get(finding.decision)
            before, after = value(finding.before, measure), value(finding.after, measure)
            said = f"{before} before, {after} now, {change_phrase(finding)}"
            tag = "failure" if finding.failed else tag
            _test(suite, measure, (tag, finding.decision, said) if tag else None, finding.because)
    for element in (*root, root):
        for tag, name in COUNTED.items():
            element.set(name, str(len(element.findall(f".//{tag}"))))
    for element in root.iter():
        element.text = element.text and _NOT_IN_XML.sub("\ufffd", element.text)
        element.attrib = {name: _NOT_IN_XML.sub("\ufffd", text) for name, text in element.attrib.items()}
    write_atomically(path, lambda file: ElementTree(root).write(file, "utf-8", xml_declaration=True))


def _suite(root: Element, outcome: SessionOutcome, name: str) -> Element:
    at = outcome.started_at.isoformat(timespec="seconds")
    return SubElement(root, "testsuite", name=f"{outcome.suite}.{name}", timestamp=at)


def _test(suite: Element, name: str, result: tuple[str, str, str] | None, text: str, **more: str) -> None:
    """Add a test with its result: tag, kind and message; None if it passed."""
    test = SubElement(suite, "testcase", {"name": name, "classname": suite.attrib["name"], **more})
    tag, kind, message = result or ("system-out", "", "")
    attributes: dict[str, str] = {"message": message, "type": kind} if result else {}
    SubElement(test, tag, attributes).text = text


def _runs(suite: Element, outcome: SessionOutcome, case: CaseMade) -> None:
    """Check that a case's runs are valid and within their scenario's thresholds."""
    runs = (*case.before, *case.after) if outcome.paired else case.after
    invalid = [f"{run.name}: {run.problem or 'not valid'}" for run in runs if not run.valid]
    broken = [f"{run.name}: {line}" for run in case.after for line in run.broken]
    result = None
    if not case.after:
        result = ("skipped", "none", "the case did not run")
    elif invalid:
        result = ("error", "invalid", "a run is invalid")
    elif broken:
        result = ("failure", "threshold", "a threshold is broken")
    took_s = f"{sum(run.took_s or 0.0 for run in runs):.3f}"
    _test(suite, "runs are valid", result, "\n".join(invalid or broken), time=took_s)
