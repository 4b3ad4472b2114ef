"""A wrong scenario file as far as it can be read, so that rules find its other mistakes."""

from collections.abc import Collection, Iterator, Mapping
from types import UnionType
from typing import Annotated, Any, Final, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

Place = tuple[str | int, ...]
"""The way to a value: names of fields, and numbers in lists."""
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
