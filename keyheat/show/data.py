"""An answer as JSON, for another program."""

from typing import Any, Final

import orjson

from keyheat.show.answer import Answer, Fact

FORMAT: Final = "keyheat.answer/1"


def json_of(answer: Answer) -> dict[str, Any]:
    """The answer with its format; tables are lists of rows by column, figures are plotly's own JSON."""
    return {"format": FORMAT, **_content(answer)}


def _content(answer: Answer) -> dict[str, Any]:
    return {
        "title": answer.title,
        "label": answer.label,
        "tone": answer.tone,
        "sentence": answer.sentence,
        "context": answer.context,
        "facts": [_fact(fact) for fact in answer.facts],
        "tables": [
            {"title": table.title, "rows": orjson.loads(table.frame.to_json(orient="records"))}
            for table in answer.tables
        ],
        "figures": [
            {"title": one.title, "summary": one.summary, "figure": orjson.loads(one.figure.to_json())}
            for one in answer.figures
        ],
        "notes": list(answer.notes),
        "commands": list(answer.commands),
        "parts": [_content(part) for part in answer.parts],
        "link": answer.link,
        "data": dict(answer.data),
    }


def _fact(fact: Fact) -> dict[str, Any]:
    return {
        "name": fact.name, "value": fact.value, "beside": list(fact.beside), "command": fact.command,
    }  # fmt: skip
