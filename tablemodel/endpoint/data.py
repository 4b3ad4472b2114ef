"""The operations on items, by name."""

from tablemodel.endpoint.items import delete_item, get_item, put_item, update_item
from tablemodel.endpoint.reads import query, scan
from tablemodel.endpoint.service import Handler

DATA: dict[str, Handler] = {
    "PutItem": put_item,
    "GetItem": get_item,
    "UpdateItem": update_item,
    "DeleteItem": delete_item,
    "Query": query,
    "Scan": scan,
}
