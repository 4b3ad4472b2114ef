"""Items that are there from the beginning: they cost no capacity, and no stream tells of them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from keyheat.endpoint.errors import ServiceError
from keyheat.endpoint.itemkeys import check_index_keys, checked_item_key
from keyheat.endpoint.items.capacity import check_size
from keyheat.endpoint.tables.catalog import Table
from keyheat.endpoint.values import check_item

MOST_SAID: Final = 20
FORM: Final = 'a line is an item in DynamoDB JSON, {"pk": {"S": "a"}}, or the same as the value of "Item"'


@dataclass(slots=True)
class SeededItems:
    """The items of one file, put into a table line by line; what is wrong with lines is collected."""

    table: Table
    now_s: float
    count: int = 0
    replaced: int = 0
    wrong: list[str] = field(default_factory=list)
    _more: int = 0

    def put(self, lines: Iterable[tuple[int, bytes]]) -> None:
        """Put every line, with its number, that is an item of the table.

        `replaced` of them took the place of one with the same key.
        """
        for number, line in lines:
            if line.strip():
                self._put(line, number)

    def _put(self, line: bytes, number: int) -> None:
        try:
            self._store(_item_of(line))
        except (ServiceError, ValueError) as error:
            if len(self.wrong) < MOST_SAID:
                wrong_type = isinstance(error, ServiceError) and error.code == "SerializationException"
                self.wrong.append(f"{error}{'; ' + FORM if wrong_type else ''} @ line {number:,}")
            else:
                self._more += 1

    def _store(self, parsed_line: Any) -> None:
        item, table = check_item(parsed_line), self.table
        key = checked_item_key(table.schema.keys, item)
        if table.schema.indexes:
            check_index_keys(table.schema.indexes, item)
        before = table.items.get(key[0])
        change = table.items.plan(key, before, item)
        check_size(change)
        table.items.apply(change)
        table.model.grown(key[1], change.new_bytes - change.old_bytes, self.now_s)
        self.count += 1
        self.replaced += before is not None

    def problems(self) -> Iterator[str]:
        yield from self.wrong
        if self._more:
            yield f"and {self._more:,} lines more"


def _item_of(line: bytes) -> Any:
    try:
        parsed_line = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise ValueError(f"not JSON ({error}); {FORM}") from None
    if not isinstance(parsed_line, dict):
        raise ValueError(f"no item; {FORM}")
    # As an export to S3 has it: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/S3DataExport.Output.html
    wrapped = set(parsed_line) == {"Item"} and isinstance(parsed_line["Item"], dict)
    return parsed_line["Item"] if wrapped and not _is_value(parsed_line["Item"]) else parsed_line


def _is_value(content: dict[str, Any]) -> bool:
    """Whether this is an attribute's value, of a table whose only attribute is called Item."""
    return len(content) == 1 and not isinstance(next(iter(content.values())), dict)
