"""ExecuteStatement, BatchExecuteStatement and ExecuteTransaction.

https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ExecuteStatement.html
https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchExecuteStatement.html
https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ExecuteTransaction.html
"""

from collections.abc import Iterable, Iterator
from typing import Any

from orjson import Fragment

from keyheat.endpoint.errors import ServiceError, validation_error
from keyheat.endpoint.items.capacity import ConsumedCapacity, level_of, rendered, rendered_by_table
from keyheat.endpoint.items.single import returned, write
from keyheat.endpoint.items.transactions import DUPLICATE, TransactionStep, read_together, write_together
from keyheat.endpoint.itemstore import digest_of
from keyheat.endpoint.partiql.plans import write_request_of
from keyheat.endpoint.partiql.reading import keyed_read, selected
from keyheat.endpoint.partiql.statements import Change, Delete, Insert, Select, Statement, parsed_statement
from keyheat.endpoint.requests import Request, check_shape, checked
from keyheat.endpoint.service import Context, Handler
from keyheat.model.limits import STATEMENT_CHARACTERS

Answer = dict[str, Any]
ONE, BATCH, TRANSACTION = "ExecuteStatement", "BatchExecuteStatement", "ExecuteTransaction"
CODES = {
    "ProvisionedThroughputExceededException": "ProvisionedThroughputExceeded",
    "ThrottlingException": "ThrottlingError",
    "ValidationException": "ValidationError",
    "SerializationException": "ValidationError",
}
"""Those of the errors of a batch's statements that are not the exception's name without its last word."""


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
    _check_no_exists(select)
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


def _check_no_exists(select: Select) -> None:
    if select.exists:
        raise validation_error("EXISTS is a condition of a transaction: use ExecuteTransaction")


def _written(
    context: Context, operation: str, statement: Statement, entry: Request
) -> tuple[Any, str, ConsumedCapacity]:
    """One write: what it returns, its table, its cost. An INSERT of an item that is there is an error."""
    table = context.service.catalog.get(statement.table)
    write_request = write_request_of(table, entry)
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
    consumed: dict[str, ConsumedCapacity] = {}
    operation = metric_of(BATCH, request)
    responses = [_response(context, operation, entry, consumed) for entry in entries]
    return {"Responses": responses, **rendered_by_table(consumed, level_of(request))}


def _response(
    context: Context, operation: str, entry: Request, consumed: dict[str, ConsumedCapacity]
) -> Answer:
    """What one statement of a batch came to, whose cost is added up by table."""
    try:
        statement = parsed_statement(entry["Statement"])
        if isinstance(statement, Select):
            item, table, cost = _one_item(context, operation, statement, entry)
        else:
            item, table, cost = _written(context, operation, statement, entry)
    except ServiceError as error:
        code = CODES.get(error.code) or error.code.removesuffix("Exception")
        failed_item = {"Item": error.members["Item"]} if "Item" in error.members else {}
        return {"Error": {"Code": code, "Message": error.message, **failed_item}}
    consumed.setdefault(table, ConsumedCapacity()).add(cost)
    return {"TableName": table} if item is None else {"TableName": table, "Item": item}


def _one_item(
    context: Context, operation: str, select: Select, entry: Request
) -> tuple[Any, str, ConsumedCapacity]:
    _check_no_exists(select)
    page = selected(context, operation, entry, single=True)
    item = Fragment(page.items[0]) if page.items else None
    return item, context.service.catalog.get(select.table).name, page.consumed


def execute_transaction(context: Context, request: Request) -> Answer:
    """Up to 100 statements on different items, all reads or all writes and checks; all are done or none."""
    digest = digest_of(request.get("TransactStatements"))
    check_shape(TRANSACTION, request)
    entries = request["TransactStatements"]
    statements = [_parsed_in(number, entry) for number, entry in enumerate(entries)]
    operation = metric_of(TRANSACTION, request)
    if len({statement.writes for statement in statements}) > 1:
        raise validation_error(
            "A transaction must consist of either read statements or write statements, not both"
        )
    pairs = list(zip(statements, entries, strict=True))
    if not statements[0].writes:
        find = context.service.catalog.get
        reads = [keyed_read(find(select.table), entry) for select, entry in pairs]
        return read_together(context, operation, reads, level_of(request))
    steps = [_step(context, statement, entry) for statement, entry in pairs]
    return {"Responses": [], **write_together(context, operation, steps, request, digest)}


def _parsed_in(number: int, entry: Request) -> Statement:
    try:
        return parsed_statement(entry["Statement"])
    except ServiceError as error:
        raise validation_error(
            f"Validation failed in TransactStatements[{number}]: {error.message}"
        ) from None


def _step(context: Context, statement: Statement, entry: Request) -> TransactionStep:
    if isinstance(statement, Change | Delete) and statement.returning != "NONE":
        raise validation_error("RETURNING is not supported in a transaction")
    table = context.service.catalog.get(statement.table)
    write_request = write_request_of(table, entry)
    return TransactionStep(statement.kind, table, write_request, entry)


STATEMENTS: dict[str, Handler] = {
    ONE: execute_statement,
    BATCH: batch_execute_statement,
    TRANSACTION: execute_transaction,
}
