"""Schedules that run a suite nightly or for every change: the files of deploy/schedules.

Each kind has one variable, KEYHEAT_SUITE in its first file, to fill in.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from keyheat.shipped import shipped

WORKFLOW: Final = Path(".github", "workflows", "keyheat-regress.yml")
"""GitHub's path for it, below the repository's root."""
FOLDER: Final = "schedules"
"""Folder next to the suite for all other files."""
VARIABLE: Final = re.compile(r"^(?! *#)(.*KEYHEAT_SUITE.*?)\b(?:nightly|designs)\b", re.MULTILINE)
"""The line that names the suite to run."""
PLAIN: Final = re.compile(r"[\w ./@+,=-]+")
"""A path that needs no escapes in cron, systemd, YAML and a shell, once quoted."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """One way to run a suite on a schedule: its files, the first of which names the suite."""

    files: tuple[str, ...]
    seen_from: Literal["machine", "repository", "image"]
    """Start of the suite's path; in an image, the suite's folder is the working directory."""


SCHEDULES: Final[Mapping[str, Schedule]] = {
    "github": Schedule(("github-actions.yml",), "repository"),
    "cron": Schedule(("keyheat.cron",), "machine"),
    "systemd": Schedule(
        ("keyheat-regress.service", "keyheat-regress.timer", "keyheat-regress-failed.service"), "machine"
    ),
    "kubernetes": Schedule(("kubernetes-cronjob.yaml", "Dockerfile"), "image"),
    "eventbridge": Schedule(("eventbridge-ecs.yaml", "Dockerfile", "kept.py"), "image"),
}


def repository_of(folder: Path) -> Path:
    """The root of the folder's git repository; the folder itself outside of one."""
    return next((parent for parent in (folder, *folder.parents) if (parent / ".git").exists()), folder)


def schedule_files(kind: str, suite: Path, repository: Path) -> dict[Path, str]:
    """Paths and texts of a schedule's files for a suite.

    Raises `ValueError` for a path that they cannot express.
    """
    schedule = SCHEDULES[kind]
    seen = _suite_path(suite, schedule, repository)
    folder = shipped("deploy") / "schedules"
    files: dict[Path, str] = {}
    for name in schedule.files:
        path = repository / WORKFLOW if kind == "github" else suite.parent / FOLDER / name
        text = (folder / name).read_text(encoding="utf-8")
        files[path] = VARIABLE.sub(lambda match: match[1] + seen, text, count=1)
    return files


def _suite_path(suite: Path, schedule: Schedule, repository: Path) -> str:
    """The suite's path as the schedule sees it."""
    whole = suite.resolve()
    starts = {"machine": Path(whole.anchor), "repository": repository, "image": whole.parent}
    start = starts[schedule.seen_from]
    if not whole.is_relative_to(start):
        raise ValueError(f"{suite} is outside of the repository {start}, but GitHub has only the repository")
    seen = (whole if schedule.seen_from == "machine" else whole.relative_to(start)).as_posix()
    if not PLAIN.fullmatch(seen):
        raise ValueError(f"{seen} has special characters for a schedule; rename it")
    return seen
