"""The outcome as JSON, `keyheat.regression/1`, and its JSON Schema.

    keyheat.regression/1    2026-11   first

The schema stands in configs/regression.schema.json, so that a program that reads the file can be held to it.
"""

from pathlib import Path
from typing import Any, Final

from keyheat.regression.outcome import Outcome
from keyheat.runfiles import write_json

FORMAT: Final = "keyheat.regression/1"


def write_summary(path: Path, outcome: Outcome) -> None:
    """Write the JSON file, whole or not at all. Raises `CannotWrite`."""
    write_json(path, FORMAT, outcome.model_dump(mode="json"))


def content(outcome: Outcome) -> dict[str, Any]:
    """What the file says."""
    return {"format": FORMAT, **outcome.model_dump(mode="json")}


def json_schema() -> dict[str, Any]:
    """What the file may say."""
    schema = Outcome.model_json_schema(mode="serialization")
    properties = {"format": {"const": FORMAT}, **schema.pop("properties")}
    required = ["format", *schema.pop("required")]
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": FORMAT}
    return {**head, **schema, "properties": properties, "required": required}
