"""Write a suite with a simulated case for each scenario, and schedules that run it nightly or per change.

The schedules are the files of deploy/schedules; each kind has one variable, KEYHEAT_SUITE in its first
file, to fill in.
"""

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from keyheat.inputs import begins_with
from keyheat.shipped import shipped

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
# A case that should be throttled names the constraint: expects = "partition", or "table".
"""


def scenarios_among(places: Sequence[Path]) -> list[Path]:
    """The files, and the scenarios in each folder."""
    from keyheat.scenario.scenario import FORMAT  # here: the names of schedules need no scenario

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
    cases = (
        f"\n[[cases]]\nscenario = {_quoted(Path(os.path.relpath(scenario, file.parent)).as_posix())}\n"
        for scenario in scenarios
    )
    return (
        f"#:schema {schema}\n" * bool(schema)
        + "# What must not get worse. Scenario paths are relative to this file's folder.\n#\n"
        + TARGETS
        + 'format = "keyheat.suite/1"\n'
        + f"name = {_quoted(name)}  # names the history\n"
        + f"question = {_quoted(f'Do the tables of {name} hold their load as they did?')}\n"
        + 'target = "simulated"\n'
        + "".join(cases)
    )


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


WORKFLOW: Final = Path(".github", "workflows", "keyheat-regress.yml")
"""GitHub's path for it, below the repository's root."""
FOLDER: Final = "schedules"
"""Folder next to the suite for all other files."""
VARIABLE: Final = re.compile(r"^(?! *#)(.*KEYHEAT_SUITE.*?)\b(?:nightly|designs)\b", re.MULTILINE)
"""The line that names the suite to run."""
PLAIN: Final = re.compile(r"[\w ./@+,=-]+")
"""A path that needs no escapes in cron, systemd, YAML and a shell, once quoted."""


SCHEDULES: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "github": ("repository", ("github-actions.yml",)),
    "cron": ("machine", ("keyheat.cron",)),
    "systemd": (
        "machine",
        ("keyheat-regress.service", "keyheat-regress.timer", "keyheat-regress-failed.service"),
    ),
    "kubernetes": ("image", ("kubernetes-cronjob.yaml", "Dockerfile")),
    "eventbridge": ("image", ("eventbridge-ecs.yaml", "Dockerfile", "kept.py")),
}
"""Where each one's path to the suite starts, and its files, the first of which names the suite.

In an image, the suite's folder is the working directory.
"""


def repository_of(folder: Path) -> Path:
    """The root of the folder's git repository; the folder itself outside of one."""
    return next((parent for parent in (folder, *folder.parents) if (parent / ".git").exists()), folder)


def schedule_files(kind: str, suite: Path, repository: Path) -> dict[Path, str]:
    """Paths and texts of a schedule's files for a suite.

    Raises `ValueError` for a path that they cannot express.
    """
    (seen_from, names), whole = SCHEDULES[kind], suite.resolve()
    starts = {"machine": Path(whole.anchor), "repository": repository, "image": whole.parent}
    start = starts[seen_from]
    if not whole.is_relative_to(start):
        raise ValueError(f"{suite} is outside of the repository {start}, but GitHub has only the repository")
    seen = (whole if seen_from == "machine" else whole.relative_to(start)).as_posix()
    if not PLAIN.fullmatch(seen):
        raise ValueError(f"{seen} has special characters for a schedule; rename it")
    files: dict[Path, str] = {}
    for name in names:
        path = repository / WORKFLOW if kind == "github" else suite.parent / FOLDER / name
        text = (shipped("deploy") / "schedules" / name).read_text(encoding="utf-8")
        files[path] = VARIABLE.sub(lambda match: match[1] + seen, text, count=1)
    return files
