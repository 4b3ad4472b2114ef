"""What runs a suite every night or for every change: files of deploy/schedules, one variable filled in.

The first suite of a repository has the files as they are called there. Where such a file runs another suite
already, the next one's carry its name, and so does all that two suites must not share.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from keyheat.inputs import begins_with
from keyheat.shipped import shipped

WORKFLOW: Final = Path(".github", "workflows", "keyheat-regress.yml")
"""Where GitHub looks for it, below the repository's root."""
FOLDER: Final = "schedules"
"""Beside the suite: everything that is not GitHub's."""
VARIABLE: Final = re.compile(r"^(?! *#)(.*KEYHEAT_SUITE.*?)\b(?:nightly|designs)\b", re.MULTILINE)
"""Where a file of ours names the suite that it runs."""
NAMED: Final = re.compile(r"^(?! *#).*KEYHEAT_SUITE.*$", re.MULTILINE)
"""Each line that may name it, once it is filled in."""
DEEP: Final = ("", "*/", "*/*/")
"""Where else in a repository there may be schedules of a suite."""
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


OWN: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    "github-actions.yml": (
        ("keyheat-regress", "keyheat-regress-NAME"),
        ("keyheat-history", "keyheat-NAME-history"),  # a cache is found by the beginning of its key
    ),
    "keyheat.cron": (
        ("/etc/cron.d/keyheat", "/etc/cron.d/keyheat-NAME"),
        ("one does not begin (flock; exit code 75 then)", "one waits (flock; exit code 75 after 3 hours)"),
        ("30 2 * * *", "35 2 * * *"),  # behind the first suite's, which does not wait
        ("--nonblock", "--wait 10800"),
        *((f"regress.{what}", f"regress-NAME.{what}") for what in ("xml", "json", "md", "log")),
    ),
    "keyheat-regress.timer": (("02:30:00", "02:45:00"),),
    "keyheat-regress.service": (
        ("After=network-online.target", "After=network-online.target keyheat-regress.service"),
        ("keyheat-regress", "keyheat-regress-NAME"),
        ("StateDirectory=keyheat", "StateDirectory=keyheat-NAME"),
        ("%S/keyheat", "%S/keyheat-NAME"),
        ("/var/lib/keyheat", "/var/lib/keyheat-NAME"),
    ),
    "keyheat-regress-failed.service": (("/var/lib/keyheat", "/var/lib/keyheat-NAME"),),
    "kubernetes-cronjob.yaml": (
        ("kubernetes-cronjob", "kubernetes-cronjob-NAME"),
        ("keyheat-regress", "keyheat-regress-NAME"),
        ("keyheat-history", "keyheat-history-NAME"),
    ),
    "eventbridge-ecs.yaml": (
        ("--stack-name keyheat", "--stack-name keyheat-NAME"),
        ("eventbridge-ecs", "eventbridge-ecs-NAME"),
        ("/keyheat/regress", "/keyheat/regress-NAME"),
        ("Name: keyheat }", "Name: keyheat-NAME }"),
        ("keyheat-regress", "keyheat-regress-NAME"),
    ),
}  # fmt: skip
"""What stands for a suite's own in a file, and what in that of a further suite, NAME."""
SHARED: Final = ("Dockerfile", "kept.py")
"""They name no suite: the same for all of a folder."""


def repository_of(folder: Path) -> Path:
    """The root of the git repository that a folder is in; the folder itself where it is in none."""
    return next((one for one in (folder, *folder.parents) if (one / ".git").exists()), folder)


def usual_schedule(repository: Path) -> str:
    """GitHub's for a repository that is there, by its folder or by its remote; else cron's."""
    remote = begins_with(repository / ".git" / "config")
    return "github" if "github.com" in remote or (repository / ".github").is_dir() else "cron"


def schedule_files(kind: str, suite: Path, name: str, repository: Path) -> dict[Path, str]:
    """The files of a schedule of the suite of this name, path and text.

    Raises `ValueError` for a path that they cannot name.
    """
    schedule = SCHEDULES[kind]
    seen = _seen(suite, schedule, repository)
    own = name if any(_runs_another(file, seen) for file in _alike(schedule, suite, repository)) else None
    folder = shipped("deploy") / "schedules"
    texts = {file: (folder / file).read_text(encoding="utf-8") for file in schedule.files}
    return {
        _place(file, suite, repository, own): _filled(_owned(file, text, own), seen)
        for file, text in texts.items()
    }


def _place(file: str, suite: Path, repository: Path, own: str | None = None) -> Path:
    """Where a file goes; with the name of a suite in its own, where it is not the first one's."""
    path = repository / WORKFLOW if file == "github-actions.yml" else suite.parent / FOLDER / file
    if own is None or file in SHARED:
        return path
    first, failed, _ = path.stem.partition("-failed")
    return path.with_name(f"{first}-{own}{failed}{path.suffix}")


def _alike(schedule: Schedule, suite: Path, repository: Path) -> Iterator[Path]:
    """The files of this kind that there are, whichever suite they run."""
    first = schedule.files[0]
    yield _place(first, suite, repository)
    if first != "github-actions.yml":
        for deep in DEEP:
            yield from repository.glob(f"{deep}{FOLDER}/{first}")


def _runs_another(path: Path, seen: str) -> bool:
    """Whether a file is there that says which suite it runs, and says another one."""
    lines = NAMED.findall(begins_with(path))
    this = re.compile(rf"(?<![\w./-]){re.escape(seen)}(?![\w./-])")
    return bool(lines) and not any(this.search(line) for line in lines)


def _owned(file: str, text: str, own: str | None) -> str:
    """The text of a file with names of its own, if it is not the first suite's."""
    names = dict(OWN.get(file, ()))
    if own is None or not names:
        return text
    first = re.compile("|".join(map(re.escape, sorted(names, key=len, reverse=True))))
    return first.sub(lambda found: names[found[0]].replace("NAME", own), text)


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
