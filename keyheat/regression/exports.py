"""Export a regress outcome: JSON, and annotations of GitHub Actions."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from keyheat.regression.outcome import SessionOutcome
from keyheat.regression.phrases import headline
from keyheat.runfiles import write_json

FORMAT: Final = "keyheat.regression/1"

# JSON


def write_summary(path: Path, outcome: SessionOutcome) -> None:
    """Write the JSON file atomically. Raises `CannotWrite`."""
    write_json(path, FORMAT, outcome.model_dump(mode="json"))


def content(outcome: SessionOutcome) -> dict[str, Any]:
    """Content of the JSON file."""
    return {"format": FORMAT, **outcome.model_dump(mode="json")}


def json_schema() -> dict[str, Any]:
    """JSON Schema of the file."""
    schema = SessionOutcome.model_json_schema(mode="serialization")
    properties = {"format": {"const": FORMAT}, **schema.pop("properties")}
    required = ["format", *schema.pop("required")]
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": FORMAT}
    return {**head, **schema, "properties": properties, "required": required}


# GitHub Actions

MOST: Final = 10  # annotations per level that GitHub shows for a step


def annotations(outcome: SessionOutcome) -> tuple[str, ...]:
    """Lines to print: errors for failures, warnings for undecided gates, else one notice."""
    notes = [(f"{run.name} is invalid", run.problem or "its evidence is missing") for run in outcome.invalid]
    notes += [(f"{run.name}: broken threshold", line) for run in outcome.runs for line in run.broken]
    notes += [
        (f"{finding.case}: {finding.gate.measure} {finding.decision}", finding.because)
        for finding in outcome.failed
    ]
    warnings = [
        (f"{finding.case}: {finding.gate.measure}", finding.because) for finding in outcome.of("undecided")
    ]
    warnings += [("compared by force", "the setups of the two sessions differ")] if outcome.forced else []
    title = f"keyheat regress {outcome.suite}"
    if outcome.exit_code and not notes:
        differ = (f"{difference.sentence}." for difference in outcome.differences)
        notes = [(title, " ".join((headline(outcome), *outcome.because, *differ, *outcome.problems)))]
    notice = [] if outcome.exit_code else [command("notice", title, headline(outcome))]
    file = outcome.suite_path
    return (*_lines("error", notes, file), *_lines("warning", warnings, file), *notice)


def command(level: str, title: str, message: str, file: str | None = None) -> str:
    """One annotation command."""
    where = f",file={_property(file)}" if file else ""
    return f"::{level} title={_property(title)}{where}::{_data(message)}"


def _lines(level: str, notes: Sequence[tuple[str, str]], file: str) -> Iterator[str]:
    listed = notes if len(notes) <= MOST else notes[: MOST - 1]
    yield from (command(level, title, message, file) for title, message in listed)
    if rest := [title for title, _ in notes[len(listed) :]]:
        yield command(level, f"{len(rest)} more", "\n".join(rest), file)


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
