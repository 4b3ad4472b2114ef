"""JUnit XML is what Jenkins' schema allows, and counts what is in it."""

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from junitparser import JUnitXml

from keyheat.regression.exports.junit import RUNS, SETUP, write_junit
from tests.regression.outcomes import (
    BROKEN,
    FORCED,
    HOSTILE_WORDS,
    INTERRUPTED,
    INVALID,
    OTHER_SETUP,
    OUTCOMES,
    PAIRED,
    REGRESSED,
)

TEXT, TIME, COUNT = r"[\s\S]*", r"\d*(\.\d*)?", r"\d+"
# Of junit-10.xsd of Jenkins' xUnit plugin: attributes (needed ones in capitals there, here with !), children.
SCHEMA = {
    "testsuites": ({"name": TEXT, "time": TIME, "tests": COUNT, "failures": COUNT, "errors": COUNT},
                   {"testsuite"}),
    "testsuite": ({"name!": TEXT, "tests!": COUNT, "failures!": COUNT, "errors!": COUNT, "time": TIME,
                   "skipped": COUNT, "timestamp": TEXT, "hostname": TEXT, "id": TEXT, "package": TEXT,
                   "file": TEXT, "url": TEXT},
                  {"testsuite", "properties", "testcase", "system-out", "system-err"}),
    "properties": ({}, {"property"}),
    "property": ({"name!": TEXT, "value!": TEXT}, set()),
    "testcase": ({"name!": TEXT, "classname": TEXT, "time": TEXT, "group": TEXT},
                 {"skipped", "error", "failure", "system-out", "system-err"}),
    "failure": ({"type": TEXT, "message": TEXT}, set()),
    "error": ({"type": TEXT, "message": TEXT}, set()),
    "skipped": ({"type": TEXT, "message": TEXT}, set()),
    "system-out": ({}, set()),
    "system-err": ({}, set()),
}  # fmt: skip


def breaches(element: ET.Element) -> list[str]:
    """What the schema does not allow, in the element and below."""
    attributes, children = SCHEMA[element.tag]
    needed = {name[:-1] for name in attributes if name.endswith("!")}
    known = {name.rstrip("!"): pattern for name, pattern in attributes.items()}
    found = [f"{element.tag} lacks {name}" for name in needed - element.attrib.keys()]
    for name, text in element.attrib.items():
        if name not in known or not re.fullmatch(known[name], text):
            found.append(f"{element.tag} {name}={text!r}")
    for child in element:
        found += breaches(child) if child.tag in children else [f"{child.tag} in {element.tag}"]
    return found


def written(folder: Path, outcome: object) -> ET.Element:
    write_junit(folder / "junit.xml", outcome)  # type: ignore[arg-type]
    return ET.parse(folder / "junit.xml").getroot()


@pytest.mark.parametrize("name", OUTCOMES)
def test_it_is_what_the_schema_allows(tmp_path: Path, name: str) -> None:
    assert breaches(written(tmp_path, OUTCOMES[name])) == []


def test_the_check_of_the_schema_finds_breaches() -> None:
    wrong = ET.fromstring('<testsuites skipped="0"><testsuite name="a"/><testcase time="x"/></testsuites>')
    assert len(breaches(wrong)) == 5


@pytest.mark.parametrize("name", OUTCOMES)
def test_every_count_is_that_of_its_elements(tmp_path: Path, name: str) -> None:
    root = written(tmp_path, OUTCOMES[name])
    for place in (root, *root.iter("testsuite")):
        for attribute, tag in (("tests", "testcase"), ("failures", "failure"), ("errors", "error")):
            assert int(place.attrib[attribute]) == len(list(place.iter(tag))), (place.tag, attribute)
    assert JUnitXml.fromfile(tmp_path / "junit.xml").tests == int(root.attrib["tests"])


def results(root: ET.Element) -> dict[tuple[str, str], str]:
    """(class, test) -> what it has: failure, error, skipped or nothing."""
    tags = ("failure", "error", "skipped")
    return {
        (test.attrib["classname"], test.attrib["name"]): next((e.tag for e in test if e.tag in tags), "")
        for test in root.iter("testcase")
    }


def test_a_gate_that_failed_is_a_failure_and_one_undecided_is_skipped(tmp_path: Path) -> None:
    root = written(tmp_path, REGRESSED)
    assert results(root) == {
        ("nightly.hotkey", RUNS): "",
        ("nightly.hotkey", "accepted_units_per_s.write"): "failure",
        ("nightly.hotkey", "labels"): "failure",
        ("nightly.sharded", RUNS): "",
        ("nightly.sharded", "accepted_units_per_s.write"): "",
        ("nightly.sharded", "p99_ms"): "skipped",
        ("nightly.sharded", "units_per_operation.read"): "skipped",
    }
    failure = next(root.iter("failure"))
    assert failure.attrib["type"] == "worse"
    assert failure.attrib["message"] == "1,000 units/s before, 902 units/s now, -9.98 % (-12 % to -8 %)"
    assert failure.text is not None
    assert "at least 5 % matters" in failure.text


def test_runs_are_an_error_where_they_say_nothing_and_a_failure_where_a_threshold_broke(
    tmp_path: Path,
) -> None:
    assert results(written(tmp_path, INVALID))["nightly.hotkey", RUNS] == "error"
    assert results(written(tmp_path, BROKEN))["nightly.hotkey", RUNS] == "failure"
    assert results(written(tmp_path, INTERRUPTED))["nightly.sharded", RUNS] == "skipped"


def test_setups_that_differ_are_an_error_unless_that_was_asked_for(tmp_path: Path) -> None:
    assert results(written(tmp_path, OTHER_SETUP))["nightly", SETUP] == "error"
    assert results(written(tmp_path, FORCED))["nightly", SETUP] == ""
    assert results(written(tmp_path, PAIRED))["nightly", SETUP] == ""


def test_words_from_outside_are_words(tmp_path: Path) -> None:
    root = written(tmp_path, HOSTILE_WORDS)
    failure = next(root.iter("failure"))
    assert failure.text is not None
    assert "<script>x</script> 100%" in failure.text
    assert "\ufffd" in failure.text, "a character that XML has no way to write"
