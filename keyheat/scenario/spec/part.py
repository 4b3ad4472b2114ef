"""What every part of a scenario file is made of; and two small ones: what ends a run early, and the cache."""

import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal, Self, TypeGuard, TypeVar, get_args, get_origin

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from keyheat.words import TOGETHER

NAME, TABLE, FILE = r"^[a-z0-9][a-z0-9-]*$", r"^[a-zA-Z0-9_.-]{3,255}$", r"^([a-z][a-z0-9_]*|.+\.py)$"
KEY_PREFIX = r"^[A-Za-z0-9_.:/-]{1,40}$"
REGION = r"^[a-z]{2}(-[a-z]+)+-\d{1,2}$"
IN_WORDS = {
    NAME: "lower-case letters, digits and hyphens",
    TABLE: "3 to 255 letters, digits, underscores, dots and hyphens",
    FILE: "the name of a file in loadtests/, without .py, or the path of a Locust file, such as ./mine.py",
    REGION: "the name of an AWS Region, such as eu-west-1",
    KEY_PREFIX: "1 to 40 letters, digits and any of _ . : / -",
}
MOST_UNITS: Final = 10_000_000
NAME_LENGTH: Final = 60
Name = Annotated[str, Field(pattern=NAME, max_length=NAME_LENGTH)]
TableName = Annotated[str, Field(pattern=TABLE)]
Region = Annotated[str, Field(pattern=REGION)]
AttributeName = Annotated[str, Field(min_length=1, max_length=255)]
Units = Annotated[int, Field(ge=1, le=MOST_UNITS)]
Share = Annotated[float, Field(ge=0.0, le=1.0)]
Rate = Annotated[float, Field(gt=0, le=10_000_000)]
Seconds = Annotated[float, Field(gt=0, le=7 * 86_400)]


Mistake = tuple[str | int, ...]
"""A message, and the path to what is wrong within the part: names of fields, and numbers in lists."""


class ScenarioPart(BaseModel):
    """One part of a scenario file."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)

    @property
    def stated(self) -> set[str]:
        """The fields that the file sets."""
        return {name for name in self.model_fields_set if getattr(self, name) is not None}

    def broken(self) -> Iterator[Mistake]:
        """Every disagreement between fields; checked where each field by itself is right."""
        yield from ()

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        wrong = []
        for message, *path in self.broken():
            error = PydanticCustomError(TOGETHER, "{said}", {"said": message})
            wrong.append(InitErrorDetails(type=error, loc=(*path,), input=None))
        if wrong:
            raise ValidationError.from_exception_data(type(self).__name__, wrong)
        return self

    @field_validator("*", mode="before")
    @classmethod
    def _numbers_are_numbers(cls, value: Any, info: ValidationInfo) -> Any:
        """Text or a truth value is no number."""
        annotation = cls.model_fields[str(info.field_name)].annotation
        if not isinstance(value, str | bool) or not _takes(annotation, int, float):
            return value
        if isinstance(value, bool) and not _takes(annotation, bool):
            raise PydanticCustomError("truth", "Input should be a number")
        if isinstance(value, str) and not _takes(annotation, str):
            raise PydanticCustomError("quoted", "Input should be a number, without quotes")
        return value


def _takes(annotation: Any, *kinds: type) -> bool:
    """Whether a field may be of one of these kinds itself."""
    if get_origin(annotation) is Literal:
        return any(type(kind) in kinds for kind in get_args(annotation))
    return annotation in kinds or any(_takes(kind, *kinds) for kind in get_args(annotation))


def name_from(table: str) -> str:
    """A scenario's name from a table's: lower-case letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", table.lower()).strip("-")[:NAME_LENGTH].strip("-") or "table"


def is_number(value: Any) -> TypeGuard[float]:
    """Whether a value of a file that is not checked yet is a number, which a truth value is not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


Value = TypeVar("Value")


def stated(value: Value | None) -> Value:
    """The value of a field that its kind needs: the rules of a scenario have seen to it."""
    assert value is not None, "checked with the scenario"
    return value


Fields = Mapping[str, Sequence[str]]


def broken_kind(part: Any, needed: Fields, more: Fields = MappingProxyType({})) -> Iterator[Mistake]:
    """Fields that a part's kind needs, and fields without a meaning for it.

    `needed` and `more` are the fields of each kind: those that it needs, and those that it may have.
    """
    for name in needed[part.kind]:
        if getattr(part, name) is None:
            yield f"kind = {part.kind!r} needs it", name
    allowed = {*needed[part.kind], *more.get(part.kind, ())}
    for name in dict.fromkeys(name for fields in (*needed.values(), *more.values()) for name in fields):
        if name not in allowed and getattr(part, name) is not None:
            yield f"no meaning with kind = {part.kind!r}", name


Dollars = Annotated[float, Field(gt=0, le=1_000_000)]
BudgetUnits = Annotated[float, Field(gt=0, le=1e15)]
Minutes = Annotated[float, Field(gt=0, le=7 * 1440)]


class BudgetSpec(ScenarioPart):
    """The most that one run may cost: a run is refused if its plan exceeds it, and stopped at it."""

    dollars: Dollars = Field(5.0, description="of the table's capacity, at the price list's prices")
    units: BudgetUnits | None = Field(None, description="read and write units consumed together; absent: any")
    minutes: Minutes | None = Field(None, description="of load, from its start; absent: no limit")


class AbortSpec(ScenarioPart):
    """Limits at which a run stops itself. Absent: not checked."""

    throttle_share: Share | None = Field(None, description="of all attempts in the last `over_s` seconds")
    error_share: Share | None = Field(None, description="of all attempts in the last `over_s` seconds")
    p99_ms: Annotated[float, Field(gt=0)] | None = Field(
        None, description="service time of accepted requests in the last `over_s` seconds"
    )
    over_s: Seconds = Field(10.0, description="length of the window that is checked")
    after_s: Annotated[float, Field(ge=0, le=86_400)] = Field(
        0.0, description="seconds of load before the first check, for connections and bursts"
    )


class CacheSpec(ScenarioPart):
    """A read-through cache in every process that sends, for the load tests that read through one."""

    ttl_s: Seconds = Field(description="seconds for which a cached item answers reads")
    items: Annotated[int, Field(ge=1, le=10_000_000)] = Field(
        10_000, description="capacity in items; the least recently used one is evicted"
    )
