"""What runs a suite every night or for every change: files of deploy/schedules, one variable filled in."""

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
"""Where a file of ours names the suite that it runs."""
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


def usual_schedule(repository: Path) -> str:
    """GitHub's for a repository that is there, by its folder or by its remote; else cron's."""
    config = repository / ".git" / "config"
    remote = config.read_text(encoding="utf-8", errors="replace") if config.is_file() else ""
    return "github" if "github.com" in remote or (repository / ".github").is_dir() else "cron"


def schedule_files(name: str, suite: Path, repository: Path) -> dict[Path, str]:
    """The files of a schedule of this suite, path and text. Raises `ValueError` for a path it cannot name."""
    schedule = SCHEDULES[name]
    seen = _seen(suite, schedule, repository)
    folder = shipped("deploy") / "schedules"
    texts = ((file, (folder / file).read_text(encoding="utf-8")) for file in schedule.files)
    return {_place(file, suite, repository): _filled(text, seen) for file, text in texts}


def _place(file: str, suite: Path, repository: Path) -> Path:
    return repository / WORKFLOW if file == "github-actions.yml" else suite.parent / FOLDER / file


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


def _filled(text: str, suite: str) -> str:
    return VARIABLE.sub(lambda found: found[1] + suite, text, count=1)
