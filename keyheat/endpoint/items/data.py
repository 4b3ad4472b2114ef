"""The operations on items, by name."""

from keyheat.endpoint.items.batches import batch_get_item, batch_write_item
from keyheat.endpoint.items.reads import query, scan
from keyheat.endpoint.items.single import delete_item, get_item, put_item, update_item
from keyheat.endpoint.items.transactions import transact_get_items, transact_write_items
from keyheat.endpoint.service import Handler

DATA: dict[str, Handler] = {
    "PutItem": put_item,
    "GetItem": get_item,
    "UpdateItem": update_item,
    "DeleteItem": delete_item,
    "Query": query,
    "Scan": scan,
    "BatchWriteItem": batch_write_item,
    "BatchGetItem": batch_get_item,
    "TransactWriteItems": transact_write_items,
    "TransactGetItems": transact_get_items,
}
