"""Write a suite of one's own scenarios, and the files that run it."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from keyheat.bounds import parsed_toml
from keyheat.intake.schedules import repository_of, schedule_files
from keyheat.intake.suite import scenarios_among, states_format, suite_text
from keyheat.masking import shown
from keyheat.regression.suite import Suite, SuiteError, load_suite, suite_from_dict
from keyheat.regression.suite_spec import FORMAT
from keyheat.runfiles import write_atomically
from keyheat.shipped import schema_beside

USUAL = Path("keyheat")
"""Where scenarios are looked for by default; else here."""
NOT_IN_IT = (
    "{scenario} is not in {suite}, which stays as it is: add a case there, or delete the suite to "
    "start again @ SOURCE"
)
NO_SCENARIO = "no scenario in {folder}: `keyheat init SOURCE --out {folder}/TABLE.toml` writes one @ SOURCE"


def write_suite(
    name: str, places: Sequence[Path], schedules: Sequence[str], file: Path | None, *, force: bool
) -> tuple[Suite, list[Path]]:
    """Write the suite and its schedules; gives it and the files. Raises `SuiteError` before it writes any.

    With `force`, schedules are written over; a suite never is.
    """
    looked_in = list(places) or [USUAL if USUAL.is_dir() else Path()]
    first = looked_in[0]
    target = file or (first if first.is_dir() else first.parent) / f"{name}.toml"
    repository = repository_of(Path.cwd())
    kept = states_format(target, FORMAT)
    errors: list[str] = []
    scenarios = scenarios_among(looked_in) if places or not kept else []
    if not kept and not scenarios:
        raise SuiteError(shown(target), [NO_SCENARIO.format(folder=first)])
    text = "" if kept else suite_text(name, scenarios, target, schema_beside("suite", target))
    suite = _checked(target, text, errors)
    files: dict[Path, str] = {}
    for schedule in schedules:
        try:
            files |= schedule_files(schedule, target, repository)
        except ValueError as error:
            errors.append(f"{error} @ --schedule {schedule}")
    files = {path: content for path, content in files.items() if not _has(path, content)}
    if not force:
        errors += _there(files)
    if text and target.exists():
        errors.append(f"{shown(target)} exists and is not a suite: choose another --out")
    if kept and suite is not None:
        inside = {case.path.resolve() for case in suite.cases}
        missing = (one for one in scenarios if one.resolve() not in inside)
        errors += [NOT_IN_IT.format(scenario=shown(one), suite=shown(target)) for one in missing]
    if suite is None or errors:
        raise SuiteError(shown(target), errors)
    files = ({target: text} if text else {}) | files
    for path, content in files.items():
        _write(path, content.encode())
    return suite, list(files)


def _checked(target: Path, text: str, errors: list[str]) -> Suite | None:
    """The existing suite, or that of the text; its mistakes go to `errors`."""
    raw = parsed_toml(text)
    for case in raw.get("cases", ()):  # relative to here: the suite's folder may not exist yet
        case["scenario"] = str((target.parent / case["scenario"]).resolve())
    try:
        return suite_from_dict(raw, target) if text else load_suite(target)
    except SuiteError as error:
        errors += error.errors
        return None


def _write(path: Path, content: bytes) -> None:
    write_atomically(path, lambda file: file.write(content))


def _has(path: Path, content: str) -> bool:
    return path.is_file() and path.read_bytes() == content.encode()


def _there(files: Iterable[Path]) -> Iterator[str]:
    """Files that would be written over."""
    for path in files:
        if path.exists():
            yield f"{shown(path)} exists: add --force to write over it"
