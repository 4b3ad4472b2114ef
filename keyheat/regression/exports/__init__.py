"""The outcome of a regress for other programs: as JSON, and every export that somebody asked for."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from keyheat.regression.exports.junit import write_junit
from keyheat.regression.exports.markdown import append_step_summary, write_markdown
from keyheat.regression.exports.metrics import write_prometheus
from keyheat.regression.outcome import SessionOutcome
from keyheat.runfiles import FileProblem, write_json

FORMAT: Final = "keyheat.regression/1"


def write_summary(path: Path, outcome: SessionOutcome) -> None:
    """Write the JSON file, whole or not at all. Raises `CannotWrite`."""
    write_json(path, FORMAT, outcome.model_dump(mode="json"))


def content(outcome: SessionOutcome) -> dict[str, Any]:
    """What the file says."""
    return {"format": FORMAT, **outcome.model_dump(mode="json")}


def json_schema() -> dict[str, Any]:
    """What the file may say."""
    schema = SessionOutcome.model_json_schema(mode="serialization")
    properties = {"format": {"const": FORMAT}, **schema.pop("properties")}
    required = ["format", *schema.pop("required")]
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": FORMAT}
    return {**head, **schema, "properties": properties, "required": required}


Export = Callable[[SessionOutcome], None]


WRITERS: Final[Mapping[str, Callable[[Path, SessionOutcome], None]]] = {
    ".xml": write_junit,
    ".md": write_markdown,
    ".prom": write_prometheus,
    ".json": write_summary,  # last: it has the exit code, which all of the others decide
}
"""What writes a file, by how its name ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exports:
    """Files to write, each in the format that its name ends with, and the summary of a step in GitHub."""

    files: tuple[Path, ...] = ()
    step_summary: Path | None = None

    def check(self) -> None:
        """Raises `ValueError` where one of them cannot be written, before any load is sent."""
        problems = [f"{path} is a folder; an export is a file" for path in self._all() if path.is_dir()]
        problems += [
            f"--export {path}: end the name with .xml (JUnit), .md, .prom or .json, or say github"
            for path in self.files
            if path.suffix not in WRITERS
        ]
        if problems:
            raise ValueError("\n".join(problems))

    def write(self, outcome: SessionOutcome) -> SessionOutcome:
        """Write every export; gives the outcome with what went wrong, which later exports tell, too."""
        for export in self._exports():
            try:
                export(outcome)
            except (FileProblem, OSError, ValueError) as problem:
                problems = (*outcome.problems, str(problem))
                outcome = outcome.model_copy(update={"problems": problems})
        return outcome

    def _all(self) -> tuple[Path, ...]:
        return (*self.files, *filter(None, [self.step_summary]))

    def _exports(self) -> Iterator[Export]:
        if self.step_summary is not None:
            yield partial(append_step_summary, self.step_summary)
        for suffix, write in WRITERS.items():
            yield from (partial(write, path) for path in self.files if path.suffix == suffix)
