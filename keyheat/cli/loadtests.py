"""Verb `loadtests`: the load tests that Keyheat ships, and a copy of one to edit."""

import ast
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import click
from rich.console import Group, RenderableType
from rich.text import Text

from keyheat.cli.options import in_json
from keyheat.scenario.scenario import SCENARIOS
from keyheat.scenario.spec.part import FILE
from keyheat.shipped import shipped
from keyheat.terminal.console import answer
from keyheat.words import DONE

TRACE = re.compile(r'^trace = "([^"]+)"', re.MULTILINE)
LOADTEST = re.compile(r'^loadtest = "([^"]+)"', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class LoadTest:
    """A load test that is shipped: its file, the question it asks, and the scenarios that name it."""

    name: str
    question: str
    file: Path
    scenarios: tuple[Path, ...]


def load_tests() -> Iterator[LoadTest]:
    """Those that are shipped, by name. The files are read, not run: each would import Locust."""
    of: dict[str, list[Path]] = {}
    for path in sorted(SCENARIOS.glob("*.toml")):
        if found := LOADTEST.search(path.read_text(encoding="utf-8")):
            of.setdefault(found[1], []).append(path)
    for file in sorted(shipped("loadtests").glob("[!_]*.py")):
        asked = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
        question = " ".join(asked.partition("\n\n")[0].split())
        yield LoadTest(file.stem, question, file, tuple(of.get(file.stem, ())))


@click.group(invoke_without_command=True)
@in_json("the list")
@click.pass_context
def loadtests(context: click.Context) -> int:
    """The load tests that are shipped: name, question, scenarios. `loadtests copy NAME` copies one."""
    if context.invoked_subcommand is None:
        found = list(load_tests())
        answer(lambda: [_told(one) for one in found], lambda: _listed(found))
    return DONE


def _listed(found: list[LoadTest]) -> RenderableType:
    lines: list[Text] = []
    for one in found:
        names = ", ".join(path.stem for path in one.scenarios)
        lines.append(Text(one.name, style="bold"))
        lines.append(Text(f"  {one.question}\n  scenarios: {names or 'none of its own'}"))
    return Group(*lines, Text("\nA copy to edit: keyheat loadtests copy NAME"))


@loadtests.command()
@click.argument("name")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path), default=Path("."))
@in_json("the copies")
def copy(name: str, folder: Path) -> int:
    """Copy the load test NAME and its scenarios into FOLDER (here), to be edited. Replaces nothing."""
    copies = _copies(_named(name))
    files = [str(folder / file) for file in copies]
    if there := [file for file in files if Path(file).exists()]:
        raise click.UsageError(f"already there, and not replaced: {', '.join(there)}; name another folder")
    folder.mkdir(parents=True, exist_ok=True)
    for file, text in copies.items():
        (folder / file).write_text(text, encoding="utf-8")
    answer(lambda: files, lambda: "\n".join(files))
    return DONE


def _named(name: str) -> LoadTest:
    found = {one.name: one for one in load_tests()}
    if (one := found.get(name.replace("-", "_"))) is None:
        raise click.UsageError(f"there is no load test {name!r}; there are {', '.join(found)}")
    return one


def _copies(one: LoadTest) -> dict[str, str]:
    """Name -> text of each file that is copied. A scenario runs the load test, and the trace, beside it."""
    copies = {one.file.name: one.file.read_text(encoding="utf-8")}
    for path in one.scenarios:
        text = path.read_text(encoding="utf-8")
        if re.fullmatch(FILE, own := f"./{one.file.name}"):
            text = LOADTEST.sub(f'loadtest = "{own}"', text)
        if found := TRACE.search(text):
            trace = path.parent / found[1]
            copies[trace.name] = trace.read_text(encoding="utf-8")
            text = TRACE.sub(f'trace = "{trace.name}"', text)
        copies[path.name] = text
    return copies


def _told(one: LoadTest) -> dict[str, object]:
    return asdict(one) | {"file": str(one.file), "scenarios": [str(path) for path in one.scenarios]}
