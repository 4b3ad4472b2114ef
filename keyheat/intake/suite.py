"""The suite of the scenarios that somebody has, as a file to go on from: every case simulated."""

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from keyheat.inputs import begins_with
from keyheat.scenario.scenario import FORMAT

TARGETS: Final = """\
# Simulated: seconds of one core, no table, no account. A case loads a table where it says so:
#
#   target = "local"   one on this machine, which throttles as DynamoDB does: run five times, and on the
#                      same machine every night
#   target = "aws"     one that the run makes in your account and deletes; where nobody can be asked:
#                      keyheat regress --yes --max-dollars 5
#
# Caps of each run, and an existing table, which keyheat regress --allow-table orders then allows, stand in
#   [run]
#   max_minutes = 20
#   table = "orders"
#
# A case that is meant to be limited says by what: expects = "partition", or "table".\
"""


def scenarios_among(places: Sequence[Path]) -> list[Path]:
    """The files, and of each folder those scenarios that lie in it."""
    found: list[Path] = []
    for place in places:
        inside = sorted(path for path in place.glob("*.toml") if states_format(path, FORMAT))
        found += inside if place.is_dir() else [place]
    return list(dict.fromkeys(found))


def states_format(path: Path, format_name: str) -> bool:
    """Whether a file states this format, however wrong the rest of it is."""
    return format_name in begins_with(path)


def suite_text(name: str, scenarios: Sequence[Path], file: Path, schema: str | None) -> str:
    """The suite's `file`, with a case for each scenario; `schema` is where its JSON Schema is for
    everybody who has the file."""
    return "\n".join(_lines(name, scenarios, file, schema)) + "\n"


def _lines(name: str, scenarios: Sequence[Path], file: Path, schema: str | None) -> Iterator[str]:
    if schema:
        yield f"#:schema {schema}"
    yield "# What must not get worse. A scenario's path begins at the folder of this file."
    yield "#"
    yield TARGETS
    yield 'format = "keyheat.suite/1"'
    yield f"name = {_quoted(name)}  # the history is kept by it"
    yield f"question = {_quoted(f'Do the tables of {name} hold their load as they did?')}"
    yield 'target = "simulated"'
    for scenario in scenarios:
        yield ""
        yield "[[cases]]"
        yield f"scenario = {_quoted(Path(os.path.relpath(scenario, file.parent)).as_posix())}"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
