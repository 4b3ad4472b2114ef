"""Rules of faults as a person writes them, in TOML or in JSON: which requests, how often, what befalls them.

    [[rules]]
    name = "hot-order"
    operations = ["PutItem"]
    key = "order-7"
    throttle = "TableWriteKeyRangeThroughputExceeded"
    share = 0.5

Everything is checked before any of it is used, and every mistake is said at once.
"""

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    WithJsonSchema,
)
from pydantic_core import PydanticCustomError

from keyheat.bounds import NotAccepted, parsed_toml, text_of
from keyheat.endpoint.operations import CONTROL, DATA
from keyheat.endpoint.options import REGION_NAME
from keyheat.endpoint.stream_operations import STREAMS
from keyheat.model.resources import REASONS, Cause, parse_reason
from keyheat.validation import listed, mistakes
from keyheat.words import Direction

FORMAT: Final = "keyheat.faults/1"
MOST_RULES: Final = 1_000
MOST_DELAY_MS: Final = 600_000
NAME: Final = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,59}$"
TABLE: Final = r"^[a-zA-Z0-9_.-]{3,255}$"
REGION: Final = f"^{REGION_NAME}$"
IN_WORDS: Final = {
    NAME: "1 to 60 letters, digits, dots, underscores and hyphens",
    TABLE: "3 to 255 letters, digits, underscores, dots and hyphens",
    REGION: "the name of a Region, such as eu-west-1",
}

OPERATIONS: Final = (*DATA, *CONTROL, *STREAMS)
READS: Final = frozenset({"GetItem", "BatchGetItem", "Query", "Scan", "TransactGetItems"})
WRITES: Final = frozenset({"PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"})
OF_TABLES_ALONE: Final = WRITES | {"GetItem", "BatchGetItem", "TransactGetItems"}
CONFLICTS: Final = frozenset(DATA) - {"GetItem", "BatchGetItem", "Query", "Scan", "BatchWriteItem"}
"""What meets a transaction: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis.html"""
KINDS: Final = ("throttle", "conflict", "error", "cut")


class FaultRulesError(ValueError):
    """Rules that are not accepted, with every reason why."""

    def __init__(self, source: str, errors: Sequence[str]) -> None:
        self.errors = list(errors)
        super().__init__(f"{source}: {listed(self.errors)}")


class FaultPart(BaseModel):
    """A part of the rules: numbers are numbers, and a field that nobody knows is a mistake."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


def _digits(value: Any) -> Any:
    return str(value) if type(value) is int else value


KeyText = Annotated[
    str,
    BeforeValidator(_digits),
    Field(min_length=1, max_length=2_048),
    WithJsonSchema({"type": ["string", "integer"], "maxLength": 2_048}),
]


def _known_reason(said: str) -> str:
    if said in REASONS:
        return said
    near = get_close_matches(said, REASONS, n=1)
    accepted = f"did you mean {near[0]}?" if near else f"there are {', '.join(REASONS)}"
    raise PydanticCustomError("reason", "no reason for a throttle, {accepted}", {"accepted": accepted})


Reason = Annotated[str, AfterValidator(_known_reason), WithJsonSchema({"enum": [*REASONS]})]
OperationName = Annotated[str, WithJsonSchema({"enum": [*OPERATIONS]})]  # else said by `broken_rules`
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
    region: Annotated[str, Field(pattern=REGION)] | None = Field(
        None, description="requests that are signed for this Region; absent: for any"
    )
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
    done: bool = Field(False, description="error: whether the request is carried out all the same")
    cut: Literal["before", "after", "middle"] | None = Field(
        None,
        description="the connection ends: before the request is carried out, after it, or within its answer",
    )
    delay_ms: Annotated[float, Field(gt=0, le=MOST_DELAY_MS)] | None = Field(
        None, description="the answer waits for so long, alone or beside another fault"
    )

    @property
    def by_item(self) -> bool:
        """Whether it befalls items one by one, and not a request as a whole."""
        return self.throttle is not None or self.conflict is not None

    @property
    def refuses(self) -> tuple[bool, Direction, Cause] | None:
        """What its throttle says: (an index's?, direction, cause)."""
        return None if self.throttle is None else parse_reason(self.throttle)


class FaultRules(FaultPart):
    """Rules of faults, asked in their order: the first that strikes counts, and delays add up."""

    format: Literal["keyheat.faults/1"] = FORMAT
    seed: Annotated[int, Field(ge=0)] = Field(
        1, description="the same requests in the same order meet the same faults"
    )
    rules: Annotated[tuple[FaultRule, ...], Field(min_length=1, max_length=MOST_RULES, strict=False)]

    @property
    def names(self) -> list[str]:
        """What each rule is called."""
        return [_name(rule.name, number) for number, rule in enumerate(self.rules)]


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
    """Rules that TOML or JSON states. Raises `FaultRulesError` with every mistake in them."""
    errors: list[str] = []
    rules = None
    try:
        rules = FaultRules.model_validate(content)
    except ValidationError as error:
        errors += [_did_you_mean(line) for line in mistakes(error, IN_WORDS)]
    given = content.get("rules") if isinstance(content, Mapping) else None
    if isinstance(given, list | tuple):
        errors += broken_rules(given[:MOST_RULES])
    if rules is None or errors:
        raise FaultRulesError(source, errors)
    return rules


def broken_rules(rules: Sequence[Any]) -> Iterator[str]:
    """What is wrong between the fields of rules, each as `message @ $.path`."""
    names: set[str] = set()
    for number, rule in enumerate(rules):
        if not isinstance(rule, Mapping):
            continue
        here, rule = f"$.rules[{number}]", {field: said for field, said in rule.items() if said is not None}
        name = _name(rule.get("name"), number)
        if name in names:
            yield f"another rule is called {name!r} too @ {here}.name"
        names.add(name)
        yield from _broken_effect(rule, here)
        yield from _broken_choice(rule, here)
        yield from _broken_operations(rule, here)


def _name(said: Any, number: int) -> str:
    return said if isinstance(said, str) else f"rule-{number + 1}"


def _broken_effect(rule: Mapping[str, Any], here: str) -> Iterator[str]:
    said = [kind for kind in KINDS if kind in rule]
    if not said and "delay_ms" not in rule:
        yield f"does nothing: it needs one of {', '.join(KINDS)}, or delay_ms @ {here}"
    if len(said) > 1:
        yield f"has {' and '.join(said)}: one of them in a rule @ {here}"
    if "done" in rule and "error" not in rule:
        yield f"only an error has it @ {here}.done"


def _broken_choice(rule: Mapping[str, Any], here: str) -> Iterator[str]:
    if "key" in rule and "key_prefix" in rule:
        yield f"has a key and a key_prefix: one of them in a rule @ {here}"
    begins, ends = rule.get("from_s", 0), rule.get("to_s")
    if isinstance(begins, int | float) and isinstance(ends, int | float) and 0 < ends <= begins:
        yield f"should be later than from_s, {begins:g}, got {ends:g} @ {here}.to_s"
    reason = _reason(rule)
    if reason is not None and reason[0] and "index" not in rule:
        yield f"missing: {rule['throttle']} is the reason of an index @ {here}.index"
    if reason is not None and not reason[0] and "index" in rule:
        yield f"{rule['throttle']} is no reason of an index, which has Index... of its own @ {here}.index"


def _broken_operations(rule: Mapping[str, Any], here: str) -> Iterator[str]:
    operations = rule.get("operations")
    if not isinstance(operations, list | tuple):
        return
    for number, operation in enumerate(operations):
        at = f"{here}.operations[{number}]"
        if operation not in OPERATIONS:
            near = get_close_matches(str(operation), OPERATIONS, n=1)
            yield f"no operation {operation!r}" + (f", did you mean {near[0]}?" if near else "") + f" @ {at}"
        else:
            yield from (f"{why} @ {at}" for why in _unfit(rule, operation))


def _unfit(rule: Mapping[str, Any], operation: str) -> Iterator[str]:
    """Why an operation cannot meet a rule."""
    reason, index = _reason(rule), "index" in rule
    if ("throttle" in rule or "conflict" in rule) and operation not in DATA:
        yield f"{operation} is for no item: it can meet error, cut and delay_ms"
    elif reason is not None and operation in (READS if reason[1] is Direction.WRITE else WRITES):
        yield f"{operation} does not {reason[1]}, so that it never meets {rule['throttle']}"
    elif "conflict" in rule and operation not in CONFLICTS:
        yield f"{operation} meets no transaction: {', '.join(sorted(CONFLICTS))} do"
    elif index and (reason is None or reason[1] is Direction.READ) and operation in OF_TABLES_ALONE:
        yield f"{operation} reads no index: Query and Scan do"
    if ("key" in rule or "key_prefix" in rule) and (operation == "Scan" or operation not in DATA):
        yield f"{operation} is for no key"


def _reason(rule: Mapping[str, Any]) -> tuple[bool, Direction, Cause] | None:
    said = rule.get("throttle")
    return parse_reason(said) if isinstance(said, str) else None


def _did_you_mean(error: str) -> str:
    """A mistake; of a field that nobody knows, with the field that may have been meant."""
    message, _, path = error.rpartition(" @ ")
    if message != "unknown field":
        return error
    fields = FaultRule.model_fields if path.startswith("$.rules[") else FaultRules.model_fields
    near = get_close_matches(path.rpartition(".")[2], fields, n=1)
    accepted = f"did you mean {near[0]}?" if near else f"there are {', '.join(fields)}"
    return f"unknown field, {accepted} @ {path}"
