"""Mistakes of a scenario file: the line of each, and the file as far as it can be read, for further ones."""

import re
import tomllib
from collections.abc import Collection, Iterator, Mapping
from types import UnionType
from typing import Annotated, Any, Final, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

Place = tuple[str | int, ...]
"""The way to a value: names of tables and fields, and numbers in arrays of tables."""
HEAD: Final = re.compile(r"\s*(\[\[?)([^\]\n]+)\]\]?\s*(?:#.*)?")
MOST_LINES: Final = 500  # of one value; a longer one is taken to have ended
ENDS: Final = ("]", "}", '"""', "'''")
NAME: Final = r"(?:[\w-]+|\"[^\"\n]*\"|'[^'\n]*')"
PART: Final = re.compile(NAME)
ASSIGNED: Final = re.compile(rf"\s*({NAME}(?:\s*\.\s*{NAME})*)\s*=")
STEP: Final = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]")
POINTS_TO: Final = re.compile(r"^(.*) @ \$((?:\.[^.\[\]]+|\[\d+\])+)$", re.DOTALL)


def located(errors: list[str], text: str) -> list[str]:
    """Mistakes of a TOML file (`message @ $.keys.share`), each with the line that it is about."""
    lines = dict(_lines(text))
    return [_with_line(error, lines) for error in errors]


def marked(text: str, mark: str) -> Iterator[str]:
    """The fields of a TOML file on whose line a comment has the mark, as `keys.exponent = 0.8`."""
    lines = text.splitlines()
    for path, number in _lines(text):
        setting, _, comment = lines[number - 1].partition(" #")
        if mark in comment and "=" in setting:
            steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
            yield f"{''.join(steps).lstrip('.')} = {setting.partition('=')[2].strip()}"


def _with_line(error: str, lines: Mapping[Place, int]) -> str:
    match = POINTS_TO.match(error)
    if match is None:
        return error
    steps = (name or int(number) for name, number in STEP.findall(match[2]))
    path: Place = tuple(steps)
    while path and path not in lines:
        path = path[:-1]
    return f"{error} (line {lines[path]})" if path else error


def _lines(text: str) -> Iterator[tuple[Place, int]]:
    """The line on which each table and each field begins."""
    table: Place = ()
    counts: dict[Place, int] = {}
    value, since = "", 0  # of a field that goes on over several lines
    for number, line in enumerate(text.splitlines(), start=1):
        if value:
            value = f"{value}\n{line}"
            if number - since > MOST_LINES:
                value = ""
            elif line.partition("#")[0].rstrip().endswith(ENDS):
                value = _going_on(value)
        elif head := HEAD.fullmatch(line):
            table = _within(_parts(head[2]), counts)
            if head[1] == "[[":
                counts[table] = counts.get(table, -1) + 1
                table = (*table, counts[table])
            yield table, number
        elif field := ASSIGNED.match(line):
            yield (*table, *_parts(field[1])), number
            value, since = _going_on(line), number


def _going_on(assigned: str) -> str:
    """A field whose value does not end here; nothing where it does."""
    try:
        tomllib.loads(assigned)
    except tomllib.TOMLDecodeError:
        return assigned
    return ""


def _parts(name: str) -> tuple[str, ...]:
    return tuple(step.strip("\"'") for step in PART.findall(name))


def _within(parts: tuple[str, ...], counts: Mapping[Place, int]) -> Place:
    """A table's place; within an array of tables it is in the last one so far."""
    path: Place = ()
    for number, name in enumerate(parts, start=1):
        path = (*path, name)
        if path in counts and number < len(parts):
            path = (*path, counts[path])
    return path


WRONG: Final = float("nan")
"""Stands for a wrong value: it is there, and no comparison with it is true."""


def places_of(error: ValidationError) -> set[Place]:
    """The places of mistakes; `<part>` only tells kinds apart, `[key]` is the name of a value."""
    locations = (item["loc"] for item in error.errors(include_url=False))
    return {tuple(step for step in at if not str(step).startswith(("<", "["))) for at in locations}


def draft_of(part: type[BaseModel], raw: Mapping[str, Any], wrong: Collection[Place], at: Place = ()) -> Any:
    """A part of a file, unchecked: a part that is wrong or missing is its default, or None.

    `wrong` are the places of mistakes; `at` is the place of the part.
    """
    values = {}
    for name, field in part.model_fields.items():
        place = (*at, name)
        inner = _part_in(field.annotation)
        if name not in raw or (place in wrong and inner and field.default is not None):
            continue
        values[name] = (
            _unread(inner) if place in wrong and inner else _value(field.annotation, raw[name], wrong, place)
        )
    missing = {name: None for name, field in part.model_fields.items() if field.is_required()}
    draft = part.model_construct(**missing | values)
    draft.__pydantic_fields_set__.intersection_update(values)
    return draft


def _unread(part: type[BaseModel]) -> Any:
    """An optional part that is there, and none of whose values can be read."""
    annotations = {name: field.annotation for name, field in part.model_fields.items()}
    values = {name: _value(kind, None, {()}, ()) for name, kind in annotations.items() if not _part_in(kind)}
    return part.model_construct(**values)


def _value(annotation: Any, raw: Any, wrong: Collection[Place], at: Place) -> Any:
    """A value; what stands for it where it is wrong."""
    many, part = _many_in(annotation), _part_in(annotation)
    if at in wrong:
        return None if part else get_origin(many)() if many else WRONG
    if isinstance(raw, list | tuple):
        return tuple(_value(get_args(many)[0], each, wrong, (*at, n)) for n, each in enumerate(raw))
    if not isinstance(raw, Mapping):
        return raw
    if many:
        return {name: _value(get_args(many)[1], each, wrong, (*at, name)) for name, each in raw.items()}
    return None if part is None else draft_of(part, raw, wrong, at)


def _kinds(annotation: Any) -> Iterator[Any]:
    """The types of a field that may be of several."""
    if get_origin(annotation) not in (Annotated, Union, UnionType):
        yield annotation
        return
    of = get_args(annotation)
    for kind in of[:1] if get_origin(annotation) is Annotated else of:
        yield from _kinds(kind)


def _many_in(annotation: Any) -> Any:
    """The list or table of values that a field holds; None if it holds one value."""
    return next((kind for kind in _kinds(annotation) if get_origin(kind) in (tuple, dict)), None)


def _part_in(annotation: Any) -> type[BaseModel] | None:
    """The part that a field holds; None if it holds something else."""
    kinds = (kind for kind in _kinds(annotation) if isinstance(kind, type))
    return next((kind for kind in kinds if issubclass(kind, BaseModel)), None)
