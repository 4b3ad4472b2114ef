"""Verbs about Keyheat: the load tests it ships, and schemas."""

from importlib import import_module
from pathlib import Path
from typing import Final

import click

from keyheat.cli.mistakes import CheckedCommand
from keyheat.cli.options import give, in_json
from keyheat.intake.loadtests import find_load_test, load_tests
from keyheat.numbers import some
from keyheat.runfiles import write_text
from keyheat.show.answer import Answer
from keyheat.words import DONE

SCHEMAS: Final = {
    "scenario": "scenario.scenario",
    "suite": "regression.suite_spec",
    "regression": "regression.exports",
    "faults": "endpoint.faultrules",
    "answer": "show.answer",
}
"""The module of each format; only one is imported, since that of a scenario needs no extra."""


@click.command(cls=CheckedCommand)
@click.argument("what", type=click.Choice(list(SCHEMAS)), default="scenario")
@in_json("the schema (always)", always=True)
def schema(what: str) -> int:
    """Print the JSON Schema of a file format, for editors and checks.

    Formats: a scenario, a suite, the JSON of `keyheat regress` (regression) and of `keyheat diagnose`
    (answer), and rules of faults.
    """
    content = import_module(f"keyheat.{SCHEMAS[what]}").json_schema()
    printed = Answer(title=f"Schema of {what}", sentence=f"keyheat.{SCHEMAS[what]} reads it.", data=content)
    return give(printed, DONE, data_alone=True)


@click.group(invoke_without_command=True)
@in_json("the list")
@click.pass_context
def loadtests(context: click.Context) -> int:
    """List the shipped load tests: name, question, scenarios. `loadtests copy NAME` copies one."""
    if context.invoked_subcommand is not None:
        return DONE
    tests = list(load_tests())
    parts = tuple(
        Answer(
            title=test.name, sentence=test.question,
            context=f"scenarios: {', '.join(path.stem for path in test.scenarios) or 'none of its own'}",
        )
        for test in tests
    )  # fmt: skip
    listed = Answer(
        title="Load tests", sentence=f"{some(len(tests), 'load test')}; copy one to edit it.",
        parts=parts, commands=("keyheat loadtests copy NAME",), data={"loadtests": tests},
    )  # fmt: skip
    return give(listed, DONE)


@loadtests.command(cls=CheckedCommand)
@click.argument("name")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path), default=Path("."))
@in_json("the copies")
def copy(name: str, folder: Path) -> int:
    """Copy the load test NAME and its scenarios into FOLDER [default: .]; replace nothing."""
    copies = find_load_test(name).copies
    files = [str(folder / file) for file in copies]
    if there := [file for file in files if Path(file).exists()]:
        raise click.UsageError(f"files exist: {', '.join(there)}; choose another folder")
    for file, text in copies.items():
        write_text(Path(folder, file), text)
    copied = Answer(
        title=name, label="Copied", sentence=f"{some(len(files), 'file')} to edit.",
        notes=tuple(files), data={"files": files},
    )  # fmt: skip
    return give(copied, DONE)
