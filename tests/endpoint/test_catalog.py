"""Who sees a table, and when, while it changes."""

import pytest

from keyheat.endpoint.errors import ServiceError
from tests.endpoint.account import Account

ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/orders"


def code(catalog, name):
    with pytest.raises(ServiceError) as caught:
        catalog.get(name)
    return caught.value.code


def test_items_of_a_table_being_created_or_deleted_are_not_found():
    account = Account(create_s=5.0, delete_s=5.0)
    catalog = account.service.catalog
    assert code(catalog, "orders") == "ResourceNotFoundException"
    account.create()
    assert code(catalog, "orders") == "ResourceNotFoundException"
    account.clock.advance(5.0)
    assert catalog.get("orders") is catalog.get(ARN)
    account.call("DeleteTable", TableName="orders")
    assert code(catalog, "orders") == code(catalog, ARN) == "ResourceNotFoundException"
    assert catalog.names() == ["orders"]
    account.clock.advance(5.0)
    assert catalog.names() == []
