"""Whether what came back is an answer: HTTP 200 alone is any proxy's login page, and a bare `{}`, too.

Judged once, where it comes in, so that whoever reads an accepted answer finds in it what DynamoDB says there.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

import orjson

from keyheat.load.transport.answer import Answer, Transport
from keyheat.load.transport.failures import NO_UNITS, NOT_AN_ANSWER

MOST_UNITS: Final = 1e6  # of one request: twice a full batch with all of its index entries
UNITS_ASKED: Final = b'"ReturnConsumedCapacity":"'
ITEM_ASKED: Final = b'"ReturnValues":"ALL_NEW"'

Shape = tuple[str, str, frozenset[tuple[str, str]]]
"""An item of a batch: its table, what was to be done with it, and the names and types of its attributes."""


class Judged:
    """A transport whose accepted answers are what DynamoDB would say, or are not accepted.

    `without_units`: operations of which the endpoint was seen to tell no consumed capacity.
    """

    def __init__(self, transport: Transport, without_units: frozenset[str] = frozenset()) -> None:
        self._transport = transport
        self._without_units = without_units

    def send(self, operation: str, body: bytes) -> Answer:
        """Send one request and wait; see `Transport`."""
        answer = self._transport.send(operation, body)
        if not answer.accepted:
            return answer
        failure = self._fault(operation, body, answer)
        return answer if failure is None else replace(answer, failure=failure)

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def _fault(self, operation: str, body: bytes, answer: Answer) -> str | None:
        content = answer.content()
        if not (content or answer.legible):
            return NOT_AN_ANSWER
        has_shape = SHAPES.get(operation)
        if has_shape is not None and not has_shape(content, body):
            return NOT_AN_ANSWER
        capacity = content.get("ConsumedCapacity")
        if not capacity:
            missed = UNITS_ASKED in body and operation not in self._without_units
            return NO_UNITS if missed else None
        return None if _plausible(capacity) else NOT_AN_ANSWER


def _plausible(capacity: object) -> bool:
    """Whether it may have been consumed: of one table, or a list with an entry for each."""
    if isinstance(capacity, list):
        return all(isinstance(entry, dict) and _plausible(entry) for entry in capacity)
    if not isinstance(capacity, dict):
        return False
    units, indexes = capacity.get("CapacityUnits"), capacity.get("GlobalSecondaryIndexes")
    return _are_units(units) and (not indexes or _indexes_within(indexes, units))


def _indexes_within(indexes: object, units: Any) -> bool:
    """Whether indexes consumed no more than their table did with all of them."""
    if not isinstance(indexes, dict):
        return False
    for part in indexes.values():
        if not isinstance(part, dict) or not _are_units(of_index := part.get("CapacityUnits")):
            return False
        units -= of_index
    return bool(units >= 0)


def _are_units(said: Any) -> bool:
    return type(said) in (float, int) and 0 <= said <= MOST_UNITS


def _has_page(content: Mapping[str, Any], _body: bytes) -> bool:
    more = content.get("LastEvaluatedKey")
    return isinstance(content.get("Items"), list) and (more is None or isinstance(more, dict))


def _has_item(content: Mapping[str, Any], _body: bytes) -> bool:
    return isinstance(content.get("Item", {}), dict)


def _has_attributes(content: Mapping[str, Any], body: bytes) -> bool:
    return isinstance(content.get("Attributes", None if ITEM_ASKED in body else {}), dict)


def _leaves_items(content: Mapping[str, Any], body: bytes) -> bool:
    left = content.get("UnprocessedItems")
    return not left or _were_asked_for(left, body)


def _leaves_keys(content: Mapping[str, Any], body: bytes) -> bool:
    left = content.get("UnprocessedKeys")
    return not left or _were_asked_for(left, body)


def _were_asked_for(left: Any, body: bytes) -> bool:
    """Whether what of a batch came back unprocessed looks like what was in it."""
    try:
        return set(_shapes(left)) <= set(_shapes(orjson.loads(body)["RequestItems"]))
    except (AttributeError, KeyError, TypeError, ValueError):
        return False


def _shapes(tables: Mapping[str, Any]) -> Iterator[Shape]:
    """Raises any of several errors where it is no list of a batch's items."""
    for table, part in tables.items():
        entries = [{"Key": {"Key": key}} for key in part["Keys"]] if isinstance(part, dict) else part
        for entry in entries:
            ((action, held),) = entry.items()
            item = held["Item" if action == "PutRequest" else "Key"]
            yield table, action, frozenset((name, _type_of(value)) for name, value in item.items())


def _type_of(value: Mapping[str, object]) -> str:
    ((kind, said),) = value.items()
    if kind in ("S", "N", "B") and not isinstance(said, str):
        raise TypeError(kind)
    return kind


SHAPES: Final[Mapping[str, Callable[[Mapping[str, Any], bytes], bool]]] = {
    "Query": _has_page,
    "Scan": _has_page,
    "GetItem": _has_item,
    "UpdateItem": _has_attributes,
    "BatchWriteItem": _leaves_items,
    "BatchGetItem": _leaves_keys,
}
"""Whether the members that readers of an answer rely on are there, and of their kind."""
