"""Verbs about Keyheat: the load tests it ships, and schemas."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import IO

import click
from rich.console import Group, RenderableType
from rich.text import Text

from keyheat.cli.options import in_json
from keyheat.runfiles import write_atomically
from keyheat.scenario.scenario import SCENARIOS
from keyheat.scenario.spec.part import FILE
from keyheat.shipped import shipped
from keyheat.show.console import answer, print_json
from keyheat.words import DONE


@click.command()
@click.argument(
    "what",
    metavar="[scenario|suite|regression|faults|answer]",
    type=click.Choice(["scenario", "suite", "regression", "faults", "answer"]),
    default="scenario",
)
@in_json("the schema (always)")
def schema(what: str) -> int:
    """Print the JSON Schema of a file format, for editors and checks.

    Formats: a scenario, a suite, the JSON of `keyheat regress` (regression) and of `keyheat diagnose`
    (answer), and rules of faults.
    """
    modules = {
        "scenario": "scenario.scenario",
        "suite": "regression.suite_spec",
        "regression": "regression.exports",
        "faults": "endpoint.faults.rules",
        "answer": "show.data",
    }
    # One is imported and not all: that of a scenario needs no extra.
    print_json(import_module(f"keyheat.{modules[what]}").json_schema())
    return DONE


TRACE = re.compile(r'^trace = "([^"]+)"', re.MULTILINE)
LOADTEST = re.compile(r'^loadtest = "([^"]+)"', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ShippedLoadTest:
    """A shipped load test: its file, its question, and the scenarios that name it."""

    name: str
    question: str
    file: Path
    scenarios: tuple[Path, ...]


def load_tests() -> Iterator[ShippedLoadTest]:
    """Shipped load tests, by name. The files are parsed, not run: each would import Locust."""
    of: dict[str, list[Path]] = {}
    for path in sorted(SCENARIOS.glob("*.toml")):
        if found := LOADTEST.search(path.read_text(encoding="utf-8")):
            of.setdefault(found[1], []).append(path)
    for file in sorted(shipped("loadtests").glob("[!_]*.py")):
        docstring = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
        question = " ".join(docstring.partition("\n\n")[0].split())
        yield ShippedLoadTest(file.stem, question, file, tuple(of.get(file.stem, ())))


@click.group(invoke_without_command=True)
@in_json("the list")
@click.pass_context
def loadtests(context: click.Context) -> int:
    """List the shipped load tests: name, question, scenarios. `loadtests copy NAME` copies one."""
    if context.invoked_subcommand is None:
        tests = list(load_tests())
        answer(lambda: tests, lambda: _listed(tests))
    return DONE


def _listed(tests: list[ShippedLoadTest]) -> RenderableType:
    lines: list[Text] = []
    for test in tests:
        names = ", ".join(path.stem for path in test.scenarios)
        lines.append(Text(test.name, style="bold"))
        lines.append(Text(f"  {test.question}\n  scenarios: {names or 'none of its own'}"))
    return Group(*lines, Text("\nA copy to edit: keyheat loadtests copy NAME"))


@loadtests.command()
@click.argument("name")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path), default=Path("."))
@in_json("the copies")
def copy(name: str, folder: Path) -> int:
    """Copy the load test NAME and its scenarios into FOLDER [default: .]; replace nothing."""
    copies = _copies(_named(name))
    files = [str(folder / file) for file in copies]
    if there := [file for file in files if Path(file).exists()]:
        raise click.UsageError(f"files exist: {', '.join(there)}; choose another folder")
    for file, text in copies.items():
        write_atomically(folder / file, partial(_write, text))
    answer(lambda: files, lambda: "\n".join(files))
    return DONE


def _write(text: str, file: IO[bytes]) -> None:
    file.write(text.encode())


def _named(name: str) -> ShippedLoadTest:
    tests = {test.name: test for test in load_tests()}
    if (test := tests.get(name.replace("-", "_"))) is None:
        raise click.UsageError(f"no load test {name!r}; there are {', '.join(tests)}")
    return test


def _copies(test: ShippedLoadTest) -> dict[str, str]:
    """Name -> text of each file that is copied. A scenario runs the load test, and the trace, beside it."""
    copies = {test.file.name: test.file.read_text(encoding="utf-8")}
    for path in test.scenarios:
        text = path.read_text(encoding="utf-8")
        if re.fullmatch(FILE, local := f"./{test.file.name}"):
            text = LOADTEST.sub(f'loadtest = "{local}"', text)
        if found := TRACE.search(text):
            trace = path.parent / found[1]
            copies[trace.name] = trace.read_text(encoding="utf-8")
            text = TRACE.sub(f'trace = "{trace.name}"', text)
        copies[path.name] = text
    return copies
