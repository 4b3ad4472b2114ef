"""The outcome of a regress for other programs: as JSON, and every export that somebody asked for."""

from collections.abc import Callable, Iterator
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Exports:
    """Where each export goes; None: nobody wants it."""

    summary: Path | None = None
    junit: Path | None = None
    markdown: Path | None = None
    prometheus: Path | None = None
    step_summary: Path | None = None

    def check(self) -> None:
        """Raises `ValueError` where one of them cannot come to anything, before any load is sent."""
        folders = [path for path in self._files() if path.is_dir()]
        if folders:
            raise ValueError("\n".join(f"{path} is a folder; an export is a file" for path in folders))

    def write(self, outcome: SessionOutcome) -> SessionOutcome:
        """Make every export; gives the outcome with what went wrong, which the exports after it tell, too."""
        for export in self._exports():
            try:
                export(outcome)
            except (FileProblem, OSError, ValueError) as problem:
                problems = (*outcome.problems, str(problem))
                outcome = outcome.model_copy(update={"problems": problems})
        return outcome

    def _files(self) -> list[Path]:
        files = (self.summary, self.junit, self.markdown, self.prometheus, self.step_summary)
        return [path for path in files if path is not None]

    def _exports(self) -> Iterator[Export]:
        writers = (
            (self.junit, write_junit),
            (self.markdown, write_markdown),
            (self.prometheus, write_prometheus),
            (self.step_summary, append_step_summary),
            (self.summary, write_summary),  # last: it has the exit code, which all of the others decide
        )
        for path, write in writers:
            if path is not None:
                yield partial(write, path)
