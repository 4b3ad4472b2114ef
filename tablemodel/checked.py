"""Content from outside held against its model: every mistake at once, each with the place where it stands."""

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError

from tablemodel.runfiles import FileProblem, read_text

MOST_SHOWN: Final = 20
LONGEST_INPUT: Final = 80
NO_WORDS: Final[Mapping[str, str]] = MappingProxyType({})

Model = TypeVar("Model", bound=BaseModel)


def checked(path: Path, model: type[Model], content: object) -> Model:
    """The content of a file as its model. Raises `FileProblem` with every mistake in it."""
    try:
        return model.model_validate(content)
    except ValidationError as error:
        raise FileProblem(f"{path}: {listed(mistakes(error))}") from error


def checked_toml(path: Path, model: type[Model]) -> Model:
    """A TOML file as its model. Raises `FileProblem` with every mistake in it."""
    try:
        raw = tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise FileProblem(f"{path} is not TOML: {error}") from error
    return checked(path, model, raw)


def mistakes(error: ValidationError, patterns: Mapping[str, str] = NO_WORDS) -> list[str]:
    """The mistakes that pydantic found, each as `message @ $.path[2].field`.

    `patterns` says in words what a regular expression accepts.
    """
    return [f"{_message(item, patterns)} @ ${path_of(item['loc'])}" for item in error.errors()]


def listed(lines: list[str]) -> str:
    """Mistakes below their number, the first twenty of them."""
    shown = lines[:MOST_SHOWN]
    if len(lines) > MOST_SHOWN:
        shown.append(f"and {len(lines) - MOST_SHOWN:,} more")
    return "\n  ".join([f"{len(lines):,} error{'s' if len(lines) > 1 else ''}", *shown])


def path_of(location: Iterable[int | str]) -> str:
    """A place within parsed JSON or TOML: `.path[2].field`; `<part>` only tells kinds apart."""
    named = (part for part in location if not str(part).startswith("<"))
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in named)


def _message(item: Any, patterns: Mapping[str, str]) -> str:
    if item["type"] == "extra_forbidden":
        return "unknown field"
    if item["type"] == "missing":
        return "missing"
    message = str(item["msg"])
    if item["type"] == "string_pattern_mismatch" and item["ctx"]["pattern"] in patterns:
        message = f"should be {patterns[item['ctx']['pattern']]}"
    said = repr(item["input"])
    return message if len(said) > LONGEST_INPUT else f"{message}, got {said}"
