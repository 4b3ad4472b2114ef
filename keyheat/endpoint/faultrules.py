"""Rules of faults as a person writes them, in TOML or in JSON: which requests, how often, what befalls them.

    [[rules]]
    name = "hot-order"
    operations = ["PutItem"]
    key = "order-7"
    throttle = "TableWriteKeyRangeThroughputExceeded"
    share = 0.5

Everything is checked before any of it is used, and every mistake is said at once.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import PydanticCustomError

from keyheat.endpoint.dynamodb import CONTROL, DATA
from keyheat.endpoint.stream_operations import STREAMS
from keyheat.inputs import NotAccepted, parsed_toml, text_of
from keyheat.model.resources import REASONS, Cause, parse_reason
from keyheat.validation import listed, mistakes, suggest
from keyheat.words import TOGETHER, Direction

FORMAT: Final = "keyheat.faults/1"
MOST_RULES: Final = 1_000
MOST_DELAY_MS: Final = 600_000
NAME: Final = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,59}$"
TABLE: Final = r"^[a-zA-Z0-9_.-]{3,255}$"
IN_WORDS: Final = {
    NAME: "1 to 60 letters, digits, dots, underscores and hyphens",
    TABLE: "3 to 255 letters, digits, underscores, dots and hyphens",
}

OPERATIONS: Final = (*DATA, *CONTROL, *STREAMS)
READS: Final = frozenset({"GetItem", "BatchGetItem", "Query", "Scan", "TransactGetItems"})
WRITES: Final = frozenset({"PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"})
OF_TABLES_ALONE: Final = WRITES | {"GetItem", "BatchGetItem", "TransactGetItems"}
CONFLICTS: Final = frozenset(DATA) - {"GetItem", "BatchGetItem", "Query", "Scan", "BatchWriteItem"}
"""What meets a transaction: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis.html"""
KINDS: Final = ("throttle", "conflict", "error", "cut")


class FaultRulesError(ValueError):
    def __init__(self, source: str, errors: Sequence[str]) -> None:
        self.errors = list(errors)
        super().__init__(f"{source}: {listed(self.errors)}")


class FaultPart(BaseModel):
    """A part of the rules: numbers are numbers, and an unknown field is a mistake."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


KeyText = Annotated[
    str,
    BeforeValidator(lambda value: str(value) if type(value) is int else value),
    Field(min_length=1, max_length=2_048),
    WithJsonSchema({"type": ["string", "integer"], "maxLength": 2_048}),
]


def _one_of(names: Sequence[str], what: str) -> Callable[[str], str]:
    def check(name: str) -> str:
        if name not in names:
            raise PydanticCustomError("name", f"no {what}, {{accepted}}", {"accepted": suggest(name, names)})
        return name

    return check


Reason = Annotated[
    str, AfterValidator(_one_of(REASONS, "reason for a throttle")), WithJsonSchema({"enum": [*REASONS]})
]
OperationName = Annotated[
    str, AfterValidator(_one_of(OPERATIONS, "operation")), WithJsonSchema({"enum": [*OPERATIONS]})
]
Span = Annotated[float, Field(ge=0, le=7 * 86_400)]


class FaultRule(FaultPart):
    """One rule: the requests that it is for, how often it strikes, and what befalls them then."""

    name: Annotated[str, Field(pattern=NAME)] | None = Field(
        None, description="what the header x-keyheat-fault calls it; absent: rule-1, rule-2, ..."
    )
    operations: Annotated[tuple[OperationName, ...], Field(min_length=1, strict=False)] | None = Field(
        None, description="absent: every operation that it can befall"
    )
    table: Annotated[str, Field(pattern=TABLE)] | None = Field(None, description="absent: every table")
    key: KeyText | None = Field(None, description="the partition key's value; of a number its digits")
    key_prefix: KeyText | None = Field(None, description="what the partition key's value begins with")
    index: Annotated[str, Field(pattern=TABLE)] | None = Field(
        None, description="requests that read this index; with a throttle of its writes, those to its table"
    )
    share: Annotated[float, Field(gt=0, le=1)] = Field(
        1.0, description="of the requests, or items, it is for"
    )
    from_s: Span = Field(0.0, description="seconds after the rules were set")
    to_s: Annotated[float, Field(gt=0, le=7 * 86_400)] | None = Field(None, description="absent: for good")
    times: Annotated[int, Field(ge=1)] | None = Field(None, description="then it is used up; absent: never")
    throttle: Reason | None = Field(None, description="the reason that DynamoDB would give")
    conflict: Literal[True] | None = Field(None, description="a transaction is under way on the item")
    error: Literal[500, 503] | None = Field(None, description="InternalServerError or ServiceUnavailable")
    cut: Literal["before", "after", "middle"] | None = Field(
        None,
        description="the connection ends: before the request is carried out, after it, or within its answer",
    )
    delay_ms: Annotated[float, Field(gt=0, le=MOST_DELAY_MS)] | None = Field(
        None, description="delay of the answer, alone or with another fault"
    )

    @property
    def by_item(self) -> bool:
        """Whether it befalls items one by one, and not a request as a whole."""
        return self.throttle is not None or self.conflict is not None

    @property
    def refuses(self) -> tuple[bool, Direction, Cause] | None:
        """What its throttle says: (an index's?, direction, cause)."""
        return None if self.throttle is None else parse_reason(self.throttle)

    @model_validator(mode="after")
    def _fits(self) -> Self:
        broken = [*self._broken(), *(why for name in self.operations or () for why in self._unfit(name))]
        if broken:
            raise PydanticCustomError(TOGETHER, "{broken}", {"broken": "; ".join(broken)})
        return self

    def _broken(self) -> Iterator[str]:
        kinds = [kind for kind in KINDS if getattr(self, kind) is not None]
        if not kinds and self.delay_ms is None:
            yield f"does nothing: it needs one of {', '.join(KINDS)}, or delay_ms"
        if len(kinds) > 1:
            yield f"has {' and '.join(kinds)}: one of them in a rule"
        if self.key is not None and self.key_prefix is not None:
            yield "has a key and a key_prefix: one of them in a rule"
        if self.to_s is not None and self.to_s <= self.from_s:
            yield f"to_s should be later than from_s, {self.from_s:g}, got {self.to_s:g}"
        if self.refuses is not None and self.refuses[0] and self.index is None:
            yield f"index is missing: {self.throttle} is the reason of an index"
        if self.refuses is not None and not self.refuses[0] and self.index is not None:
            yield f"{self.throttle} is a reason of the table; for an index use its Index... reason"

    def _unfit(self, operation: str) -> Iterator[str]:
        """Yield the reasons why an operation never meets the rule."""
        side = None if self.refuses is None else self.refuses[1]
        if self.by_item and operation not in DATA:
            yield f"{operation} is for no item: it can meet error, cut and delay_ms"
        elif side is not None and operation in (READS if side is Direction.WRITE else WRITES):
            yield f"{operation} does not {side}, so that it never meets {self.throttle}"
        elif self.conflict and operation not in CONFLICTS:
            yield f"{operation} meets no transaction: {', '.join(sorted(CONFLICTS))} do"
        elif self.index is not None and side is not Direction.WRITE and operation in OF_TABLES_ALONE:
            yield f"{operation} reads no index: Query and Scan do"
        if (self.key is not None or self.key_prefix is not None) and (
            operation == "Scan" or operation not in DATA
        ):
            yield f"{operation} is for no key"


class FaultRules(FaultPart):
    """Rules of faults, asked in their order: the first that strikes counts, and delays add up."""

    format: Literal["keyheat.faults/1"] = FORMAT
    seed: Annotated[int, Field(ge=0)] = Field(
        1, description="the same requests in the same order meet the same faults"
    )
    rules: Annotated[tuple[FaultRule, ...], Field(min_length=1, max_length=MOST_RULES, strict=False)]

    @property
    def names(self) -> list[str]:
        return [rule.name or f"rule-{number}" for number, rule in enumerate(self.rules, 1)]

    @model_validator(mode="after")
    def _names_differ(self) -> Self:
        if twice := [name for name, count in Counter(self.names).items() if count > 1]:
            raise PydanticCustomError(
                TOGETHER, "several rules are called {names}", {"names": ", ".join(twice)}
            )
        return self


def json_schema() -> dict[str, Any]:
    """The JSON Schema of a file of rules, for editors."""
    schema = FaultRules.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": FORMAT, **schema}


def load_rules(path: Path) -> FaultRules:
    """The rules in a TOML file. Raises `FaultRulesError`."""
    try:
        return checked_rules(str(path), parsed_toml(text_of(path)))
    except NotAccepted as error:
        raise FaultRulesError(str(path), [f"{error} @ $"]) from error
    except OSError as error:
        raise FaultRulesError(str(path), [f"cannot be read: {error.strerror or error} @ $"]) from error


def checked_rules(source: str, content: object) -> FaultRules:
    """Rules that TOML or JSON states. Raises `FaultRulesError`."""
    try:
        return FaultRules.model_validate(content)
    except ValidationError as error:
        raise FaultRulesError(source, mistakes(error, IN_WORDS, FaultRules)) from None
