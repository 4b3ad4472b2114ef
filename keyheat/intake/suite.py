"""Write a suite file with a simulated case for each scenario."""

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from keyheat.inputs import begins_with
from keyheat.scenario.scenario import FORMAT

TARGETS: Final = """\
# Simulated: seconds of one core, no table, no account. A case can load a table instead:
#
#   target = "local"   a table on this machine that throttles like DynamoDB: five repetitions, on the same
#                      machine every night
#   target = "aws"     a table that the run creates in your account and deletes; without a prompt:
#                      keyheat regress --yes --max-dollars 5
#
# Limits of each run, and an existing table (allow it with keyheat regress --allow-table orders), go to
#   [run]
#   max_minutes = 20
#   table = "orders"
#
# A case that should be throttled names the constraint: expects = "partition", or "table".\
"""


def scenarios_among(places: Sequence[Path]) -> list[Path]:
    """The files, and the scenarios in each folder."""
    paths: list[Path] = []
    for path in places:
        inside = sorted(file for file in path.glob("*.toml") if states_format(file, FORMAT))
        paths += inside if path.is_dir() else [path]
    return list(dict.fromkeys(paths))


def states_format(path: Path, format_name: str) -> bool:
    """Whether a file states this format, valid or not."""
    return format_name in begins_with(path)


def suite_text(name: str, scenarios: Sequence[Path], file: Path, schema: str | None) -> str:
    """Text of the suite `file`, with a case per scenario.

    `schema` refers to its JSON Schema for every reader.
    """
    return "\n".join(_lines(name, scenarios, file, schema)) + "\n"


def _lines(name: str, scenarios: Sequence[Path], file: Path, schema: str | None) -> Iterator[str]:
    if schema:
        yield f"#:schema {schema}"
    yield "# What must not get worse. Scenario paths are relative to this file's folder."
    yield "#"
    yield TARGETS
    yield 'format = "keyheat.suite/1"'
    yield f"name = {_quoted(name)}  # names the history"
    yield f"question = {_quoted(f'Do the tables of {name} hold their load as they did?')}"
    yield 'target = "simulated"'
    for scenario in scenarios:
        yield ""
        yield "[[cases]]"
        yield f"scenario = {_quoted(Path(os.path.relpath(scenario, file.parent)).as_posix())}"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
