"""Write a suite for a user's scenarios, and the schedules that run it."""

from collections.abc import Sequence
from pathlib import Path

from keyheat.bounds import parsed_toml
from keyheat.intake.suite import (
    repository_of,
    scenarios_among,
    schedule_files,
    states_format,
    suite_text,
)
from keyheat.masking import short_path
from keyheat.regression.suite import Suite, SuiteError, load_suite, suite_from_dict
from keyheat.runfiles import write_text
from keyheat.scenario.scenario import SUITE_FORMAT
from keyheat.shipped import schema_beside

USUAL = Path("keyheat")
"""Default folder of scenarios; else the current one."""
NOT_IN_IT = (
    "{scenario} is not in {suite}, which is kept: add a case there, or delete the suite to "
    "start again @ SOURCE"
)
NO_SCENARIO = "no scenario in {folder}: `keyheat init SOURCE --out {folder}/TABLE.toml` writes one @ SOURCE"


def write_suite(
    name: str, places: Sequence[Path], schedules: Sequence[str], file: Path | None, *, force: bool
) -> tuple[Suite, list[Path]]:
    """Write the suite and its schedules; return it and the files. Raises `SuiteError` before writing.

    `force` overwrites schedules, but never a suite.
    """
    sources = list(places) or [USUAL if USUAL.is_dir() else Path()]
    first = sources[0]
    target = file or (first if first.is_dir() else first.parent) / f"{name}.toml"
    repository = repository_of(Path.cwd())
    kept = states_format(target, SUITE_FORMAT)
    errors: list[str] = []
    scenarios = scenarios_among(sources) if places or not kept else []
    if not kept and not scenarios:
        raise SuiteError(short_path(target), [NO_SCENARIO.format(folder=first)])
    text = "" if kept else suite_text(name, scenarios, target, schema_beside("suite", target))
    suite = _validate(target, text, errors)
    files: dict[Path, str] = {}
    for schedule in schedules:
        try:
            files |= schedule_files(schedule, target, repository)
        except ValueError as error:
            errors.append(f"{error} @ --schedule {schedule}")
    files = {
        path: content
        for path, content in files.items()
        if not (path.is_file() and path.read_bytes() == content.encode())
    }
    if not force:
        there = (path for path in files if path.exists())
        errors += [f"{short_path(path)} exists: add --force to write over it" for path in there]
    if text and target.exists():
        errors.append(f"{short_path(target)} exists and is not a suite: choose another --out")
    if kept and suite is not None:
        inside = {case.path.resolve() for case in suite.cases}
        missing = (scenario for scenario in scenarios if scenario.resolve() not in inside)
        errors += [
            NOT_IN_IT.format(scenario=short_path(scenario), suite=short_path(target)) for scenario in missing
        ]
    if suite is None or errors:
        raise SuiteError(short_path(target), errors)
    files = ({target: text} if text else {}) | files
    for path, content in files.items():
        write_text(path, content)
    return suite, list(files)


def _validate(target: Path, text: str, errors: list[str]) -> Suite | None:
    """The existing suite, or the new one; mistakes go to `errors`."""
    raw = parsed_toml(text)
    for case in raw.get("cases", ()):  # relative to the current folder: the suite's folder may not exist yet
        case["scenario"] = str((target.parent / case["scenario"]).resolve())
    try:
        return suite_from_dict(raw, target) if text else load_suite(target)
    except SuiteError as error:
        errors += error.errors
        return None
