"""An answer as a page: one file that loads nothing, with its style, scripts and numbers inside."""

import re
from base64 import b64encode
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from itertools import chain, count
from pathlib import Path
from typing import Any

import orjson
from jinja2 import DictLoader, Environment, StrictUndefined
from markupsafe import Markup

from keyheat.runfiles import write_text
from keyheat.shipped import shipped
from keyheat.show import style
from keyheat.show.answer import Answer, Figure
from keyheat.show.markdown import markdown_of
from keyheat.words import capital, glued

SCRIPTS = ("library.js", "page.js", "ticket.js", "table.js")
PAGE = "show.html.j2"


def html_of(answer: Answer, generated_at: datetime, *, library: str | None = None) -> str:
    """The page. Links are relative to it; `library` takes the place of the packed plotly, as in a test."""
    ids = _ids(figures_in(answer))
    drawn = {ids[id(figure)]: _plotly_json(figure) for figure in figures_in(answer)}
    content = {
        "figures": drawn, "template": style.TEMPLATE, "dark": style.dark_partners(),
        "ticket": markdown_of(answer, whole=False),
    }  # fmt: skip
    packed = library if library is not None else _packed_library() if drawn else ""
    return (
        _environment()
        .get_template(PAGE)
        .render(
            answer=answer, id_of=lambda figure: ids[id(figure)], content=_embedded(content),
            styles=Markup(style.css_variables() + _template("style.css")), library=Markup(packed),
            script=Markup("".join(map(_template, SCRIPTS))),
            generated_at=generated_at.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        )
    )  # fmt: skip


def save(path: Path, text: str) -> Path:
    """Write a page, whole or not at all; gives its path. Raises `CannotWrite`."""
    write_text(path, text)
    return path


def figures_in(answer: Answer) -> list[Figure]:
    """Every figure of an answer, of its sections and of its parts."""
    sections = (figure for section in answer.sections for figure in section.figures)
    parts = (figure for answer_part in answer.parts for figure in answer_part.figures)
    return [*parts, *sections, *answer.figures]


def _ids(figures: list[Figure]) -> Mapping[int, str]:
    """An id for each figure, made of its title."""
    names: dict[int, str] = {}
    for figure in figures:
        name = re.sub(r"[^a-z0-9]+", "-", f"chart-{figure.title}".lower()).strip("-")
        candidates = chain([name], (f"{name}-{number}" for number in count(2)))
        names[id(figure)] = next(each for each in candidates if each not in names.values())
    return names


def _plotly_json(figure: Figure) -> dict[str, Any]:
    """A figure without the template, which the page has once."""
    spec: dict[str, Any] = figure.figure.to_plotly_json()
    layout = spec["layout"]
    layout.pop("template", None)
    drawn = [*spec["data"], *layout.get("shapes", ())]
    layout["showlegend"] = any(each.get("name") for each in drawn)
    for each in drawn:  # what has no name would stand there as `trace 1`
        each.setdefault("showlegend", bool(each.get("name")))
    return spec


def _embedded(value: Mapping[str, Any]) -> Markup:
    """A value as JSON that cannot end the script element it stands in."""
    text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_SERIALIZE_NUMPY).decode()
    return Markup(text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029"))


@cache
def _packed_library() -> str:
    path = shipped("reports") / "plotly" / "plotly-cartesian.min.js.gz"
    return b64encode(path.read_bytes()).decode("ascii")


@cache
def _template(name: str) -> str:
    """The text of a file in reports/templates."""
    return (shipped("reports") / "templates" / name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=DictLoader({PAGE: _template(PAGE)}), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters.update(glued=glued, capital=capital)
    return environment
