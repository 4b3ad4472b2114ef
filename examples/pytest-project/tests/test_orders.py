"""What the shop's own code sends: counted on a local DynamoDB, then imagined at 2,000 orders a second."""

import pytest
from orders import Orders

import keyheat

DAY = "2026-11-27"  # no date of today: a check says the same every time
PEAK_PER_S = 2_000


def a_busy_day(orders: Orders) -> None:
    orders.create_table()
    for number in range(200):
        orders.place(f"order-{number}", DAY, "two lamps")


def test_an_order_is_found_again(dynamodb_local: keyheat.LocalDynamoDB) -> None:
    orders = Orders(shards=20)
    a_busy_day(orders)
    assert len(list(orders.of_day(DAY))) == 200
    dynamodb_local.assert_no_throttles()


def test_one_key_a_day_is_too_hot_for_the_peak(dynamodb_local: keyheat.LocalDynamoDB) -> None:
    a_busy_day(Orders())
    with pytest.raises(keyheat.CheckFailed, match="partition"):
        dynamodb_local.assert_no_hot_partition(requests_per_s=PEAK_PER_S)


def test_twenty_shards_a_day_take_the_peak(dynamodb_local: keyheat.LocalDynamoDB) -> None:
    a_busy_day(Orders(shards=20))
    dynamodb_local.assert_no_hot_partition(requests_per_s=PEAK_PER_S)
