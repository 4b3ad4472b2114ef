"""What requests may hold, by DynamoDB's own model of its API: the one that every client is generated from.

botocore ships it as a file, and has a reader that brings urllib3, dateutil and 10 MB along. The endpoint
needs the names, types and bounds alone, so they are read here as they stand.
"""

import gzip
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import orjson

VERSIONS: Final = {"dynamodb": "2012-08-10", "dynamodbstreams": "2012-08-10", "cloudwatch": "2010-08-01"}


class Shape:
    """What a value may be; `metadata` has the bounds, pattern and words of a scalar.

    A structure has `members`, some of them `required_members`; a list has a `member`, a map a `value`.
    """

    __slots__ = ("_shapes", "metadata", "type_name")

    def __init__(self, description: dict[str, Any], shapes: "Shapes") -> None:
        self.metadata = description
        self.type_name: str = description["type"]
        self._shapes = shapes

    @property
    def members(self) -> dict[str, "Shape"]:
        return {name: self._shapes.of(entry["shape"]) for name, entry in self.metadata["members"].items()}

    @property
    def required_members(self) -> list[str]:
        return list(self.metadata.get("required", ()))

    @property
    def member(self) -> "Shape":
        return self._shapes.of(self.metadata["member"]["shape"])

    @property
    def value(self) -> "Shape":
        return self._shapes.of(self.metadata["value"]["shape"])


class Shapes:
    """The shapes of one API by name, each made when it is asked for."""

    def __init__(self, model: dict[str, Any]) -> None:
        self._descriptions: dict[str, dict[str, Any]] = model["shapes"]
        self._inputs = {
            name: entry.get("input", {}).get("shape") for name, entry in model["operations"].items()
        }
        self._made: dict[str, Shape] = {}

    def of(self, name: str) -> Shape:
        if name not in self._made:
            self._made[name] = Shape(self._descriptions[name], self)
        return self._made[name]

    def input_of(self, operation: str) -> Shape | None:
        name = self._inputs[operation]
        return None if name is None else self.of(name)


@cache
def shapes_of(api: str = "dynamodb") -> Shapes:
    """The shapes of an API, a key of `VERSIONS`."""
    spec = find_spec("botocore")  # which is looked for, and not loaded
    assert spec is not None, "botocore is installed with Keyheat"
    file = Path(str(spec.origin)).parent / "data" / api / VERSIONS[api] / "service-2.json.gz"
    return Shapes(_bare(orjson.loads(gzip.decompress(file.read_bytes()))))


def _bare(value: Any) -> Any:
    """A description without the documentation in it, which is most of the file."""
    if isinstance(value, dict):
        return {name: _bare(entry) for name, entry in value.items() if name != "documentation"}
    return [_bare(entry) for entry in value] if isinstance(value, list) else value
