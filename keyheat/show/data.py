"""An answer as JSON, for another program, and the schema of it."""

from dataclasses import asdict
from typing import Any, Final

import orjson
from pydantic import BaseModel

from keyheat.show.answer import Answer, Table

FORMAT: Final = "keyheat.answer/1"


class FactJson(BaseModel):
    """One thing that a reader asks next."""

    name: str
    value: str
    beside: tuple[str, ...]
    command: str | None


class TableJson(BaseModel):
    """Rows by column."""

    title: str
    rows: list[dict[str, Any]]


class FigureJson(BaseModel):
    """A figure as plotly reads it."""

    title: str
    summary: str
    figure: dict[str, Any]
    table: TableJson | None


class PartJson(BaseModel):
    """An answer, or an answer about a part of the question."""

    title: str
    label: str
    tone: str
    sentence: str
    context: str
    facts: list[FactJson]
    tables: list[TableJson]
    figures: list[FigureJson]
    notes: tuple[str, ...]
    commands: tuple[str, ...]
    parts: list["PartJson"]
    link: str | None
    reading: tuple[tuple[str, str], ...]
    data: dict[str, Any]


class AnswerJson(PartJson):
    """The answer of a verb, with its format."""

    format: str = FORMAT


def json_schema() -> dict[str, Any]:
    """The JSON Schema of an answer."""
    return AnswerJson.model_json_schema()


def json_of(answer: Answer) -> dict[str, Any]:
    """The answer with its format; tables are lists of rows by column, figures are plotly's own JSON."""
    return AnswerJson(**_part(answer)).model_dump(mode="json")


def _part(answer: Answer) -> dict[str, Any]:
    return {
        "title": answer.title,
        "label": answer.label,
        "tone": answer.tone,
        "sentence": answer.sentence,
        "context": answer.context,
        "facts": [FactJson(**asdict(fact)) for fact in answer.facts],
        "tables": [_table(table) for table in answer.tables],
        "figures": [
            FigureJson(
                title=one.title,
                summary=one.summary,
                figure=orjson.loads(one.figure.to_json()),
                table=_table(one.table) if one.table else None,
            )
            for one in answer.figures
        ],
        "notes": answer.notes,
        "commands": answer.commands,
        "parts": [PartJson(**_part(part)) for part in answer.parts],
        "link": answer.link,
        "reading": answer.reading,
        "data": dict(answer.data),
    }


def _table(table: Table) -> TableJson:
    rows = orjson.dumps(table.rows, option=orjson.OPT_SERIALIZE_NUMPY)
    return TableJson(title=table.title, rows=orjson.loads(rows))
