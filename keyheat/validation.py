"""Validate content from outside: report every error at once, each with its path."""

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from reprlib import Repr
from types import MappingProxyType
from typing import Annotated, Any, Final, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from keyheat.inputs import NotAccepted, parsed_toml, text_of
from keyheat.runfiles import FileProblem
from keyheat.words import TOGETHER

MOST_SHOWN: Final = 20
LONGEST_INPUT: Final = 80
KINDS: Final = {
    "tuple_type": "should be a list",
    "model_type": "should have fields with names",
    "model_attributes_type": "should have fields with names",
    "dict_type": "should have fields with names",
    "date_from_datetime_parsing": "should be a date such as 2026-11-20",
    "date_parsing": "should be a date such as 2026-11-20",
}
"""Messages in place of pydantic's, which use Python's terms."""
NO_WORDS: Final[Mapping[str, str]] = MappingProxyType({})
ROWS_AT_ONCE: Final = 1_000
TOO_FEW: Final = "too_short"  # pydantic's type, also of a list whose items are all wrong
MORE: Final = "and_more"  # type of an error that represents `count` others

Place = tuple[int | str, ...]
"""The way to a value in a file: names of fields, and numbers in lists."""
PASSES: Final = 3  # of looking for further mistakes: a part's own, what two parts agree on, the file's

Model = TypeVar("Model", bound=BaseModel)


class Part(BaseModel):
    """A strict part of a file: frozen, without unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class LenientPart(BaseModel):
    """A part of a file that ignores unknown fields: frozen."""

    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)


class _Briefly(Repr):
    """A short text of any input, quickly; only JSON has a `None`, and calls it null."""

    def repr_NoneType(self, _nothing: None, _level: int) -> str:
        return "null"


_BRIEFLY: Final = _Briefly()
_BRIEFLY.maxlevel, _BRIEFLY.maxlist, _BRIEFLY.maxdict, _BRIEFLY.maxtuple = 3, 10, 10, 10
_BRIEFLY.maxstring = _BRIEFLY.maxlong = _BRIEFLY.maxother = LONGEST_INPUT * 2


@dataclass(slots=True)
class Mistakes:
    """Collected mistakes: the first twenty as text, the others counted."""

    lines: list[str] = field(default_factory=list)
    more: int = 0

    def add(self, message: str, path: str) -> None:
        """Add a mistake, as `message @ $.path`; `path` begins with a dot."""
        if len(self.lines) < MOST_SHOWN:
            self.lines.append(f"{message} @ ${path}")
        else:
            self.more += 1

    def __bool__(self) -> bool:
        return bool(self.lines)

    def __str__(self) -> str:
        return listed(self.lines, self.more)


def checked(path: Path, model: type[Model], content: object) -> Model:
    """Validate the content of a file. Raises `FileProblem` with every mistake."""
    try:
        return model.model_validate(content)
    except ValidationError as error:
        more = sum(item["ctx"]["count"] for item in error.errors() if item["type"] == MORE)
        raise FileProblem(f"{path}: {listed(mistakes(error), more)}") from error


def table_in(content: object) -> object:
    """The table in AWS CLI output of describe-table, create-table and the like."""
    if isinstance(content, Mapping):
        return next((content[name] for name in ("Table", "TableDescription") if name in content), content)
    return content


def checked_toml(path: Path, model: type[Model]) -> Model:
    """Validate a TOML file. Raises `FileProblem` with every mistake."""
    try:
        raw = parsed_toml(text_of(path))
    except NotAccepted as error:
        raise FileProblem(f"{path} is {error}") from error
    except FileNotFoundError as error:
        raise FileProblem(f"{path} is missing") from error
    except OSError as error:
        raise FileProblem(f"cannot read {path}: {error.strerror or error}") from error
    return checked(path, model, raw)


def mistakes(
    error: ValidationError, patterns: Mapping[str, str] = NO_WORDS, model: type[BaseModel] | None = None
) -> list[str]:
    """Convert pydantic's errors to `message @ $.path[2].field`.

    `patterns` describes regular expressions in words; an unknown field comes with the nearest of `model`.
    """
    items = error.errors()
    deeper = {item["loc"][:depth] for item in items for depth in range(len(item["loc"]))}
    return [
        _line(item, patterns, model)
        for item in items
        if item["type"] != MORE and not (item["type"] == TOO_FEW and item["loc"] in deeper)
    ]


def _line(item: Any, patterns: Mapping[str, str], model: type[BaseModel] | None) -> str:
    return f"{_message(item, patterns)}{_meant(item, model)} @ ${path_of(item['loc'])}"


def mistakes_of_the_rest(
    model: type[BaseModel],
    raw: Mapping[str, Any],
    error: ValidationError,
    patterns: Mapping[str, str],
    deciding: Collection[str],
) -> list[str]:
    """What else is wrong in a file: what its parts have to agree on is checked once each of them is right.

    The fields of the mistakes so far are left out meanwhile, and nothing is said of where they stood, nor of
    a part of which a `deciding` field is among them: on its value it depends which others the part has.
    """
    rest, gone, lines = deepcopy(dict(raw)), set[Place](), []
    for _ in range(PASSES):
        new = {_in_file(item["loc"]) for item in error.errors()} - gone
        gone |= new
        for place in sorted(new, key=len, reverse=True):
            part: Any = rest
            with suppress(KeyError, IndexError, TypeError):
                for step in place[:-1]:
                    part = part[step]
                if isinstance(part, dict):  # of a list nothing is taken out: its places are numbered
                    part.pop(place[-1] if place else None, None)
        try:
            model.model_validate(rest)
            break
        except ValidationError as found:
            error = found
        # A mistake may only be there because other fields were left out.
        around = {each[:-1] for each in gone}
        within = {each[:-1] if each[-1:] and each[-1] in deciding else each for each in gone}
        for item in error.errors():
            place = _in_file(item["loc"])
            follows = place in around or any(place[: len(each)] == each for each in within)
            if item["type"] != "missing" and not follows:
                lines.append(_line(item, patterns, model))
    return list(dict.fromkeys(lines))


def _in_file(location: Iterable[int | str]) -> Place:
    """The place of a mistake; `<part>` only tells kinds apart, `[key]` is the name of a value."""
    return tuple(step for step in location if not str(step).startswith(("<", "[")))


def suggest(name: str, names: Iterable[str]) -> str:
    """The name nearest to an unknown one, as a question; else all that there are."""
    near = get_close_matches(name, names := list(names), n=1)
    return f"did you mean {near[0]}?" if near else f"there are {', '.join(names)}"


def listed(lines: list[str], more: int = 0) -> str:
    """Format mistakes below their number: the first twenty, and `more` as a count."""
    first_lines, number = lines[:MOST_SHOWN], len(lines) + more
    if number > len(first_lines):
        first_lines.append(f"and {number - len(first_lines):,} more")
    return "\n  ".join([f"{number:,} error{'s' if number > 1 else ''}", *first_lines])


def _in_parts(rows: Any, check: ValidatorFunctionWrapHandler) -> Any:
    """Validate a long list in parts, so that many errors take little memory."""
    if not isinstance(rows, list | tuple) or len(rows) <= ROWS_AT_ONCE:
        return check(rows)
    good: list[Any] = []
    wrong: list[InitErrorDetails] = []
    number = 0
    for first in range(0, len(rows), ROWS_AT_ONCE):
        try:
            good += check(rows[first : first + ROWS_AT_ONCE])
        except ValidationError as error:
            number += error.error_count()
            if len(wrong) < MOST_SHOWN:
                wrong += _moved(error, first)
    if not number:
        return tuple(good)
    wrong = wrong[:MOST_SHOWN]
    rest = PydanticCustomError(MORE, "and more", {"count": number - len(wrong)})
    raise ValidationError.from_exception_data("rows", [*wrong, InitErrorDetails(type=rest, input=None)])


Rows: Final = WrapValidator(_in_parts)
"""Marks a tuple that may be long: `Annotated[tuple[Row, ...], Rows]`."""


def _moved(error: ValidationError, by: int) -> list[InitErrorDetails]:
    """Errors of a part of a list, with positions in the whole list."""
    return [
        InitErrorDetails(
            type=PydanticCustomError(item["type"], "{said}", {"said": item["msg"]}),
            loc=(int(item["loc"][0]) + by, *item["loc"][1:]),
            input=item["input"],
        )
        for item in error.errors()[:MOST_SHOWN]
    ]


def path_of(location: Iterable[int | str]) -> str:
    """A path in parsed JSON or TOML: `.path[2].field`; skips `<part>`, which only tells kinds apart."""
    named = (step for step in location if not str(step).startswith("<"))
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in named)


def _meant(item: Any, model: type[BaseModel] | None) -> str:
    """The field of a model that is most like an unknown one, as a question."""
    if model is None or item["type"] != "extra_forbidden":
        return ""
    near = get_close_matches(str(item["loc"][-1]), _fields_of(model), n=1)
    return f", did you mean {near[0]}?" if near else ""


@lru_cache
def _fields_of(model: type[BaseModel]) -> list[str]:
    """The names of all fields of a model and of its parts."""
    schema = model.model_json_schema()
    parts = (schema, *schema.get("$defs", {}).values())
    return sorted({field for part in parts for field in part.get("properties", ())})


def _message(item: Any, patterns: Mapping[str, str]) -> str:
    if item["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        return "unknown field"
    if item["type"] == "missing":
        return "missing"
    if item["type"] == TOO_FEW:
        return f"needs {item['ctx']['min_length']} or more, and has {item['ctx']['actual_length']}"
    message = KINDS.get(item["type"]) or str(item["msg"])
    if item["type"] == "too_long":
        return f"has {item['ctx']['actual_length']:,}, and may have {item['ctx']['max_length']:,}"
    if item["type"] == "string_pattern_mismatch" and item["ctx"]["pattern"] in patterns:
        message = f"should be {patterns[item['ctx']['pattern']]}"
    if item["type"] == TOGETHER:
        return message
    given = _BRIEFLY.repr(item["input"])
    return message if len(given) > LONGEST_INPUT else f"{message}, got {given}"


@lru_cache(maxsize=1 << 16)  # series of one window repeat the same minutes
def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _in_utc(value: Any) -> Any:
    if isinstance(value, str):
        value = _moment(value)
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise ValueError("a time needs its zone, such as 2026-11-20T12:00:00Z")
        try:
            return value.astimezone(UTC)
        except OverflowError:
            raise ValueError("a time in UTC has a year from 1 to 9999") from None
    raise ValueError("a time is text such as 2026-11-20T12:00:00Z")


Time = Annotated[
    datetime, BeforeValidator(_in_utc), PlainSerializer(lambda t: t.isoformat().replace("+00:00", "Z"))
]
Quantity = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0)]
Points = Annotated[tuple[tuple[Time, Quantity], ...], Rows]
