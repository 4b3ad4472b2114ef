"""Examples of what runs a suite every night or for every change: the files of deploy/schedules.

Each kind has one variable, KEYHEAT_SUITE in its first file, which is filled in.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from keyheat.shipped import shipped

WORKFLOW: Final = Path(".github", "workflows", "keyheat-regress.yml")
"""Where GitHub looks for it, below the repository's root."""
FOLDER: Final = "schedules"
"""Beside the suite: everything that is not GitHub's."""
VARIABLE: Final = re.compile(r"^(?! *#)(.*KEYHEAT_SUITE.*?)\b(?:nightly|designs)\b", re.MULTILINE)
"""Where a file names the suite that it runs."""
PLAIN: Final = re.compile(r"[\w ./@+,=-]+")
"""A path that means the same to cron, systemd, YAML and a shell, once it is in quotes."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """One way to run a suite again and again: its files, the first of which names the suite."""

    files: tuple[str, ...]
    seen_from: Literal["machine", "repository", "image"]
    """Where the suite's path begins; an image has the suite's folder in its working directory."""


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
    """The root of the git repository that a folder is in; the folder itself where it is in none."""
    return next((one for one in (folder, *folder.parents) if (one / ".git").exists()), folder)


def schedule_files(kind: str, suite: Path, repository: Path) -> dict[Path, str]:
    """The files of a schedule that runs the suite at this path, path and text.

    Raises `ValueError` for a path that they cannot name.
    """
    schedule = SCHEDULES[kind]
    seen = _seen(suite, schedule, repository)
    folder = shipped("deploy") / "schedules"
    files: dict[Path, str] = {}
    for name in schedule.files:
        path = repository / WORKFLOW if kind == "github" else suite.parent / FOLDER / name
        text = (folder / name).read_text(encoding="utf-8")
        files[path] = VARIABLE.sub(lambda found: found[1] + seen, text, count=1)
    return files


def _seen(suite: Path, schedule: Schedule, repository: Path) -> str:
    """The path of the suite as what runs it sees it."""
    whole = suite.resolve()
    starts = {"machine": Path(whole.anchor), "repository": repository, "image": whole.parent}
    start = starts[schedule.seen_from]
    if not whole.is_relative_to(start):
        raise ValueError(f"{suite} is outside of the repository {start}, which is all that GitHub has")
    seen = (whole if schedule.seen_from == "machine" else whole.relative_to(start)).as_posix()
    if not PLAIN.fullmatch(seen):
        raise ValueError(f"{seen} has signs that mean something else in a schedule: give it another path")
    return seen
