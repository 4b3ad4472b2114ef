"""SELECT: pages of items from one range of keys after another, or the one item of a whole key.

https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ExecuteStatement.html
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import orjson
from xxhash import xxh3_64_hexdigest

from keyheat.endpoint.errors import ServiceError, validation_error
from keyheat.endpoint.expressions.keyconditions import Range
from keyheat.endpoint.itemkeys import Key, checked_key
from keyheat.endpoint.items.capacity import ConsumedCapacity
from keyheat.endpoint.items.pages import selection_of, starting_key
from keyheat.endpoint.items.reads import WHOLE_LINE, PageRead, ReadRequest, read, requested_index
from keyheat.endpoint.partiql import plans
from keyheat.endpoint.partiql.statements import Select, parsed_statement
from keyheat.endpoint.requests import Request
from keyheat.endpoint.service import Context
from keyheat.endpoint.tables.catalog import Table
from keyheat.endpoint.values import Item, check_item
from keyheat.model.limits import PAGE_BYTES

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


def columns_of(select: Select) -> plans.Columns | None:
    """The selected columns; None for whole items."""
    return plans.Columns(select.paths) if select.paths else None


def selected(context: Context, operation: str, request: Request, *, single: bool) -> Selected:
    """Read a page of a SELECT; `single`: it has to name one item by its whole key. Raises `ServiceError`."""
    text = request["Statement"]
    select = parsed_statement(text)
    assert isinstance(select, Select), "others are writes"
    table = context.service.catalog.get(select.table)
    named = {"IndexName": select.index, "ConsistentRead": request.get("ConsistentRead")}
    index = requested_index(table, named)
    keys = table.schema.keys if index is None else index.keys
    plan = plans.key_plan(text, keys)
    if single and (index is not None or not plan.whole or len(plan.keyed) != 1):
        raise validation_error(ONE_ITEM)
    descending = plans.descends(select, keys, plan)
    values = select.bound(request)
    whole = ReadRequest(
        operation=operation,
        keyed=bool(plan.keyed),
        table=table,
        index=index,
        stored=WHOLE_LINE,
        descending=descending,
        expressions=plans.with_values(values),
        filter=plans.checked_condition(plan.rest, values),
        selection=selection_of({}, table.schema.keys, index, columns_of(select)),
    )
    ranges = plans.ranges_of(plan, keys, values) if plan.keyed else [WHOLE_LINE]
    digest = partial(_digest, text, values)
    first = _go_on(whole, ranges, request.get("NextToken"), digest)
    parts = [(number, replace(whole, stored=stored)) for number, stored in enumerate(ranges)][first:]
    return _pages(context, parts, request, digest)


def _go_on(whole: ReadRequest, ranges: list[Range], token: str | None, digest: Callable[[], str]) -> int:
    """The range to go on in, of which is left what is behind the token's key. Raises ValidationException."""
    if token is None:
        return 0
    number, last = _parse_token(token, digest())
    if not 0 <= number < len(ranges):
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


def _digest(text: str, values: Item) -> str:
    """A short digest of the statement and its values."""
    return xxh3_64_hexdigest(orjson.dumps([text, values], option=orjson.OPT_SORT_KEYS))


def _token(number: int, last: bytes, digest: str) -> str:
    return urlsafe_b64encode(b'[%d,%b,"%b"]' % (number, last, digest.encode())).decode()


def _parse_token(token: str, digest: str) -> tuple[int, Any]:
    """The number of a range, and the key last read in it. Raises ValidationException for a foreign token."""
    try:
        number, last, of = orjson.loads(urlsafe_b64decode(token))
    except (ValueError, TypeError):
        raise validation_error(WRONG_TOKEN) from None
    if of != digest or type(number) is not int:
        raise validation_error(WRONG_TOKEN)
    return number, last


def keyed_read(table: Table, request: Request) -> tuple[Table, Key, plans.Columns | None]:
    """The item that a SELECT of a transaction names. Raises ValidationException where it names none."""
    text, keys = request["Statement"], table.schema.keys
    select = parsed_statement(text)
    assert isinstance(select, Select), "others are writes"
    values = select.bound(request)
    plan = plans.write_plan(text, keys)
    if (
        select.index is not None
        or not plans.key_plan(text, keys).whole
        or plans.key_plan(text, keys).rest is not None
    ):
        raise validation_error(
            "A SELECT of a transaction names one item of a table by its whole key; "
            "the local endpoint does not support further conditions in it"
        )
    named = {name: values[reference] for name, reference in plan.key}
    return table, checked_key(keys, named), columns_of(select)
