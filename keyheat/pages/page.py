"""A page: a template filled in, with its style and scripts inside, so that the file needs nothing else."""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any

import orjson
from jinja2 import DictLoader, Environment, StrictUndefined
from markupsafe import Markup

from keyheat.pages.charts.figures import Chart
from keyheat.shipped import shipped
from keyheat.show import style
from keyheat.words import capital, glued

SCRIPTS = ("library.js", "page.js", "ticket.js")
TEMPLATES = (
    "index.html.j2", "answer.html.j2", "side-by-side.html.j2", "regression.html.j2",
    "runs.html.j2", "macros.html.j2", "style.css", *SCRIPTS,
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Stat:
    """One number of a first screen, with what it is and what it is to be held against."""

    name: str
    value: str
    beside: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PageAnswer:
    """The first screen of a page over several runs."""

    kind: str
    title: str
    chip: str
    role: str
    sentence: str
    question: str | None = None
    where: str = ""
    stats: tuple[Stat, ...] = ()
    warnings: tuple[str, ...] = ()
    expected: str | None = None  # how many runs came to what their scenarios expect; None where none says
    surprise: bool = False


def page(name: str, **values: Any) -> str:
    """A template filled in; everything that is not `Markup` is escaped."""
    styles = Markup(style.css_variables() + template("style.css"))
    return (
        _environment()
        .get_template(name)
        .render(styles=styles, script=Markup("".join(map(template, SCRIPTS))), **values)
    )


def said_at(moment: datetime) -> str:
    """When a page was made, as it is printed on it."""
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")


def library(instead: str | None) -> Markup:
    """The library that draws, packed, which a page holds inside; a test puts `instead` in its place."""
    return Markup(_packed_library() if instead is None else instead)


@cache
def _packed_library() -> str:
    path = shipped("reports") / "plotly" / "plotly-cartesian.min.js.gz"
    return b64encode(path.read_bytes()).decode("ascii")


def figures_json(charts: Sequence[Chart], **more: Any) -> Markup:
    """Figures and colours for the page's script, as JSON that cannot end its script element."""
    content = {
        "dark": style.dark_partners(),
        "figures": {chart.id: chart.figure.to_plotly_json() for chart in charts},
        **more,
    }
    return embedded(content, orjson.OPT_SORT_KEYS | orjson.OPT_SERIALIZE_NUMPY)


def embedded(content: Mapping[str, Any], option: int | None = None) -> Markup:
    """A value as JSON that cannot end the script element it stands in."""
    text = orjson.dumps(content, option=option).decode()
    return Markup(text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029"))


@cache
def template(name: str) -> str:
    """The text of a file in reports/templates."""
    return (shipped("reports") / "templates" / name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    sources: Mapping[str, str] = {name: template(name) for name in TEMPLATES if name.endswith(".j2")}
    environment = Environment(
        loader=DictLoader(sources),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["glued"] = glued
    environment.filters["capital"] = capital
    return environment
