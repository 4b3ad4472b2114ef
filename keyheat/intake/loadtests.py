"""Locust files to edit: copies of the shipped load tests."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from keyheat.scenario.scenario import SCENARIOS
from keyheat.scenario.spec.part import FILE
from keyheat.shipped import shipped

TRACE = re.compile(r'^trace = "([^"]+)"', re.MULTILINE)
LOADTEST = re.compile(r'^loadtest = "([^"]+)"', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ShippedLoadTest:
    """A shipped load test: its file, its question, and the scenarios that name it."""

    name: str
    question: str
    file: Path
    scenarios: tuple[Path, ...]

    @property
    def copies(self) -> dict[str, str]:
        """Name -> text of each file of a copy. A scenario runs the load test, and the trace, beside it."""
        copies = {self.file.name: self.file.read_text(encoding="utf-8")}
        for path in self.scenarios:
            text = path.read_text(encoding="utf-8")
            if re.fullmatch(FILE, local := f"./{self.file.name}"):
                text = LOADTEST.sub(f'loadtest = "{local}"', text)
            if match := TRACE.search(text):
                trace = path.parent / match[1]
                copies[trace.name] = trace.read_text(encoding="utf-8")
                text = TRACE.sub(f'trace = "{trace.name}"', text)
            copies[path.name] = text
        return copies


def load_tests() -> Iterator[ShippedLoadTest]:
    """Shipped load tests, by name. The files are parsed, not run: each would import Locust."""
    of: dict[str, list[Path]] = {}
    for path in sorted(SCENARIOS.glob("*.toml")):
        if match := LOADTEST.search(path.read_text(encoding="utf-8")):
            of.setdefault(match[1], []).append(path)
    for file in sorted(shipped("loadtests").glob("[!_]*.py")):
        docstring = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
        question = " ".join(docstring.partition("\n\n")[0].split())
        yield ShippedLoadTest(file.stem, question, file, tuple(of.get(file.stem, ())))


def find_load_test(name: str) -> ShippedLoadTest:
    """The load test with this name. Raises `ValueError` with the existing names."""
    tests = {test.name: test for test in load_tests()}
    if (test := tests.get(name.replace("-", "_"))) is None:
        raise ValueError(f"no load test {name!r}; use one of {', '.join(tests)}")
    return test
