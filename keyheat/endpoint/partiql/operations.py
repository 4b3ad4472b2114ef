"""ExecuteStatement, BatchExecuteStatement and ExecuteTransaction.

A SELECT reads the ranges of keys that it looks at, one after another; its token says where it goes on.
https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ExecuteStatement.html
https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchExecuteStatement.html
https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ExecuteTransaction.html
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import orjson
from orjson import Fragment
from xxhash import xxh3_64_hexdigest

from keyheat.endpoint.errors import ServiceError, validation_error
from keyheat.endpoint.expressions.keyconditions import Range, key_range
from keyheat.endpoint.itemkeys import checked_key
from keyheat.endpoint.items.capacity import ConsumedByTable, ConsumedCapacity, level_of, rendered
from keyheat.endpoint.items.pages import selection_of, starting_key
from keyheat.endpoint.items.reads import WHOLE_LINE, PageRead, ReadRequest, read, requested_index
from keyheat.endpoint.items.single import returned, write
from keyheat.endpoint.items.transactions import (
    DUPLICATE,
    KeyedRead,
    TransactionStep,
    read_together,
    write_together,
)
from keyheat.endpoint.itemstore import digest_of
from keyheat.endpoint.partiql import plans
from keyheat.endpoint.partiql.statements import Change, Delete, Insert, Select, Statement, parsed_statement
from keyheat.endpoint.requests import Request, check_shape, checked
from keyheat.endpoint.service import Context, Handler
from keyheat.endpoint.tables.catalog import Table
from keyheat.endpoint.values import check_item
from keyheat.model.limits import PAGE_BYTES, STATEMENT_CHARACTERS

Answer = dict[str, Any]
ONE, BATCH, TRANSACTION = "ExecuteStatement", "BatchExecuteStatement", "ExecuteTransaction"
CODES = {
    "ProvisionedThroughputExceededException": "ProvisionedThroughputExceeded",
    "ThrottlingException": "ThrottlingError",
    "ValidationException": "ValidationError",
    "SerializationException": "ValidationError",
}
"""Those of the errors of a batch's statements that are not the exception's name without its last word."""


WRONG_TOKEN = "NextToken does not match request"
ONE_ITEM = "Select statements within BatchExecuteStatement must specify the primary key in the where clause."


@dataclass(slots=True)
class Selected:
    """What a SELECT answers: items as JSON, how many, what it cost, and where it goes on."""

    items: list[bytes] = field(default_factory=list)
    count: int = 0
    consumed: ConsumedCapacity = field(default_factory=ConsumedCapacity)
    last: bytes | None = None
    token: str | None = None

    def add(self, page: PageRead) -> None:
        self.consumed.add(page.consumed)
        self.count += page.count
        if page.count and page.items is not None:
            self.items.append(page.items[1:-1])

    def json(self) -> bytes:
        return b"[" + b",".join(self.items) + b"]"


def selected(context: Context, operation: str, request: Request, *, single: bool) -> Selected:
    """Read a page of a SELECT; `single`: it has to name one item by its whole key. Raises `ServiceError`."""
    text = request["Statement"]
    select = parsed_statement(text)
    assert isinstance(select, Select), "others are writes"
    if select.exists:
        raise validation_error("EXISTS is a condition of a transaction: use ExecuteTransaction")
    table = context.service.catalog.get(select.table)
    named = {"IndexName": select.index, "ConsistentRead": request.get("ConsistentRead")}
    index = requested_index(table, named)
    keys = table.schema.keys if index is None else index.keys
    plan = plans.key_plan(text, keys)
    if single and (index is not None or not plan.whole or len(plan.keyed) != 1):
        raise validation_error(ONE_ITEM)
    descending = plans.descends(select, keys, plan)
    values, columns = select.bound(request), plans.Columns(select.paths) if select.paths else None
    whole = ReadRequest(
        operation=operation,
        keyed=bool(plan.keyed),
        table=table,
        index=index,
        stored=WHOLE_LINE,
        descending=descending,
        expressions=plans.with_values(values),
        filter=plans.checked_condition(plan.rest, values),
        selection=selection_of({}, table.schema.keys, index, columns),
    )
    keyed = dict.fromkeys(key_range(tree, keys, values) for tree in plan.keyed)  # no range twice
    ranges = list(keyed) or [WHOLE_LINE]

    def digest() -> str:
        return xxh3_64_hexdigest(orjson.dumps([text, values], option=orjson.OPT_SORT_KEYS))

    first = _go_on(whole, ranges, request.get("NextToken"), digest)
    parts = [(number, replace(whole, stored=stored)) for number, stored in enumerate(ranges)][first:]
    return _pages(context, parts, request, digest)


def _go_on(whole: ReadRequest, ranges: list[Range], token: str | None, digest: Callable[[], str]) -> int:
    """The range to go on in, of which is left what is behind the token's key. Raises ValidationException."""
    if token is None:
        return 0
    try:
        number, last, of = orjson.loads(urlsafe_b64decode(token))
    except (ValueError, TypeError):
        raise validation_error(WRONG_TOKEN) from None
    if of != digest() or type(number) is not int or not 0 <= number < len(ranges):
        raise validation_error(WRONG_TOKEN)
    if last is not None:
        try:
            start = starting_key(check_item(last), whole.table.schema.keys, whole.index)
        except ServiceError:
            raise validation_error(WRONG_TOKEN) from None
        low, high = ranges[number]
        if not low <= start < high:
            raise validation_error(WRONG_TOKEN)
        ranges[number] = (low, start) if whole.descending else (start + b"\0", high)
    return number


def _pages(
    context: Context, parts: Sequence[tuple[int, ReadRequest]], request: Request, digest: Callable[[], str]
) -> Selected:
    """One range after another, each admitted by itself, until the limit or 1 MB is reached."""
    answer, seen_bytes, limit = Selected(), 0, request.get("Limit")
    for number, read_request in parts:
        page = read(context, read_request, limit, consistent=bool(request.get("ConsistentRead")))
        answer.add(page)
        seen_bytes += page.scanned_bytes
        limit = None if limit is None else limit - page.scanned
        if page.last is not None:
            answer.last, answer.token = page.last, _token(number, page.last, digest())
            break
        if number < parts[-1][0] and (limit == 0 or seen_bytes >= PAGE_BYTES):
            answer.token = _token(number + 1, b"null", digest())
            break
    return answer


def _token(number: int, last: bytes, digest: str) -> str:
    return urlsafe_b64encode(b'[%d,%b,"%b"]' % (number, last, digest.encode())).decode()


def keyed_read(table: Table, request: Request) -> KeyedRead:
    """The item that a SELECT of a transaction names. Raises ValidationException where it names none."""
    text, keys = request["Statement"], table.schema.keys
    select = parsed_statement(text)
    assert isinstance(select, Select), "others are writes"
    values, written, plan = select.bound(request), plans.write_plan(text, keys), plans.key_plan(text, keys)
    if select.index is not None or not plan.whole or plan.rest is not None:
        raise validation_error(
            "A SELECT of a transaction names one item of a table by its whole key; "
            "the local endpoint does not support further conditions in it"
        )
    named = {name: values[reference] for name, reference in written.key}
    return table, checked_key(keys, named), plans.Columns(select.paths) if select.paths else None


def metric_of(operation: str, request: Request) -> str:
    """The operation as CloudWatch tells it apart: by its verb, or by whether it reads or writes."""
    statements = _statements(operation, request)
    if operation == ONE:
        return f"{ONE},Verb={statements[0].verb}"
    writes = any(statement.writes for statement in statements)
    return f"{operation},OperationType={'Write' if writes else 'Read'}"


def tables_of(operation: str, request: Request) -> set[str]:
    return {statement.table for statement in _statements(operation, request)}


def _statements(operation: str, request: Request) -> list[Statement]:
    if operation == ONE:
        return [parsed_statement(request["Statement"])]
    return list(_readable(request["Statements" if operation == BATCH else "TransactStatements"]))


def _readable(entries: Iterable[Request]) -> Iterator[Statement]:
    """The statements that parse; what the others come to is said for each of them."""
    for entry in entries:
        try:
            yield parsed_statement(entry["Statement"])
        except ServiceError:
            continue


def execute_statement(context: Context, request: Request) -> Answer:
    """One statement: a page of a SELECT, or a write of one item."""
    checked(ONE, request)
    text = request["Statement"]
    if not 1 <= len(text) <= STATEMENT_CHARACTERS:
        check_shape(ONE, request)
    statement = parsed_statement(text)
    if isinstance(statement, Select):
        return _page(context, statement, request)
    item, table, consumed = _written(context, metric_of(ONE, request), statement, request)
    answer: Answer = {"Items": [] if item is None else [item]}
    level = level_of(request)
    return answer if level == "NONE" else {**answer, "ConsumedCapacity": rendered(table, consumed, level)}


def _page(context: Context, select: Select, request: Request) -> Answer:
    operation = metric_of(ONE, request)
    page = selected(context, operation, request, single=False)
    answer: Answer = {"Items": Fragment(page.json())}
    if page.token is not None:
        answer["NextToken"] = page.token
    if page.last is not None:
        answer["LastEvaluatedKey"] = Fragment(page.last)
    table, level = context.service.catalog.get(select.table), level_of(request)
    if level != "NONE":
        answer["ConsumedCapacity"] = rendered(table.name, page.consumed, level)
    table.model.minutes.returned_items(operation, page.count, context.now_s)
    return answer


def _written(
    context: Context, operation: str, statement: Statement, entry: Request
) -> tuple[Any, str, ConsumedCapacity]:
    """One write: what it returns, its table, its cost. An INSERT of an item that is there is an error."""
    table = context.service.catalog.get(statement.table)
    write_request = plans.write_request_of(table, entry)
    shows_failed = entry.get("ReturnValuesOnConditionCheckFailure")
    try:
        change, cost = write(context, operation, table, write_request, shows_failed)
    except ServiceError as error:
        if not (isinstance(statement, Insert) and error.code == "ConditionalCheckFailedException"):
            raise
        raise ServiceError("DuplicateItemException", DUPLICATE[1], **error.members) from None
    wish = statement.returning if isinstance(statement, Change | Delete) else "NONE"
    return returned(write_request, change, wish).get("Attributes"), table.name, cost.consumed


def batch_execute_statement(context: Context, request: Request) -> Answer:
    """Up to 25 statements, all reads of one item each or all writes; each is answered by itself."""
    check_shape(BATCH, request)
    entries = request["Statements"]
    if len({statement.writes for statement in _readable(entries)}) > 1:
        raise validation_error("A batch must consist of either read statements or write statements, not both")
    consumed = ConsumedByTable()
    operation = metric_of(BATCH, request)
    responses = [_response(context, operation, entry, consumed) for entry in entries]
    return {"Responses": responses, **consumed.rendered(level_of(request))}


def _response(context: Context, operation: str, entry: Request, consumed: ConsumedByTable) -> Answer:
    """What one statement of a batch came to, whose cost is added up by table."""
    try:
        statement = parsed_statement(entry["Statement"])
        if isinstance(statement, Select):
            page = selected(context, operation, entry, single=True)
            item = Fragment(page.items[0]) if page.items else None
            table, cost = context.service.catalog.get(statement.table).name, page.consumed
        else:
            item, table, cost = _written(context, operation, statement, entry)
    except ServiceError as error:
        code = CODES.get(error.code) or error.code.removesuffix("Exception")
        failed_item = {"Item": error.members["Item"]} if "Item" in error.members else {}
        return {"Error": {"Code": code, "Message": error.message, **failed_item}}
    consumed.spend(table, cost)
    return {"TableName": table} if item is None else {"TableName": table, "Item": item}


def execute_transaction(context: Context, request: Request) -> Answer:
    """Up to 100 statements on different items, all reads or all writes and checks; all are done or none."""
    digest = digest_of(request.get("TransactStatements"))
    check_shape(TRANSACTION, request)
    entries = request["TransactStatements"]
    statements = []
    for number, entry in enumerate(entries):
        try:
            statements.append(parsed_statement(entry["Statement"]))
        except ServiceError as error:
            message = f"Validation failed in TransactStatements[{number}]: {error.message}"
            raise validation_error(message) from None
    operation = metric_of(TRANSACTION, request)
    if len({statement.writes for statement in statements}) > 1:
        raise validation_error(
            "A transaction must consist of either read statements or write statements, not both"
        )
    find, pairs = context.service.catalog.get, list(zip(statements, entries, strict=True))
    if not statements[0].writes:
        reads = [keyed_read(find(select.table), entry) for select, entry in pairs]
        return read_together(context, operation, reads, level_of(request))
    steps = [_step(context, statement, entry) for statement, entry in pairs]
    return {"Responses": [], **write_together(context, operation, steps, request, digest)}


def _step(context: Context, statement: Statement, entry: Request) -> TransactionStep:
    if isinstance(statement, Change | Delete) and statement.returning != "NONE":
        raise validation_error("RETURNING is not supported in a transaction")
    table = context.service.catalog.get(statement.table)
    write_request = plans.write_request_of(table, entry)
    return TransactionStep(statement.kind, table, write_request, entry)


STATEMENTS: dict[str, Handler] = {
    ONE: execute_statement,
    BATCH: batch_execute_statement,
    TRANSACTION: execute_transaction,
}
