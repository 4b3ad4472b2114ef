"""The operations on items, by name."""

from tablemodel.endpoint.items.batches import batch_get_item, batch_write_item
from tablemodel.endpoint.items.reads import query, scan
from tablemodel.endpoint.items.single import delete_item, get_item, put_item, update_item
from tablemodel.endpoint.items.transactions import transact_get_items, transact_write_items
from tablemodel.endpoint.service import Handler

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
