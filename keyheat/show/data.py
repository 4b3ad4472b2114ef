"""An answer as JSON, for another program, and the schema of it."""

from dataclasses import asdict
from pathlib import PurePath
from typing import Any, Final

import orjson
from pydantic import TypeAdapter

from keyheat.show.answer import Answer

FORMAT: Final = "keyheat.answer/1"


def json_schema() -> dict[str, Any]:
    """The JSON Schema of an answer: figures are plotly's own JSON."""
    return TypeAdapter(Answer).json_schema(mode="serialization")


def json_of(answer: Answer) -> dict[str, Any]:
    """The answer with its format; tables are lists of rows by column, figures are plotly's own JSON."""
    content = {"format": FORMAT, **asdict(answer)}
    plain: dict[str, Any] = orjson.loads(
        orjson.dumps(content, default=_plain, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS)
    )
    return plain


def _plain(value: Any) -> Any:
    """What orjson does not know: a figure, a path, a model, a set."""
    if isinstance(value, PurePath):
        return str(value)
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    return orjson.loads(value.to_json()) if hasattr(value, "to_json") else sorted(value)
