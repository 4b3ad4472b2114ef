"""The same design as numbers, before there is any code: on the simulator, in milliseconds."""

from pathlib import Path

import pytest

import keyheat

ORDERS = Path(__file__).parents[1] / "scenarios" / "orders.toml"
SHARDS = "keys.shards=20"


def test_one_key_a_day_has_a_hot_partition() -> None:
    with pytest.raises(keyheat.CheckFailed, match="Shard"):
        keyheat.assert_no_hot_partition(ORDERS)


def test_twenty_shards_have_none_and_leave_room() -> None:
    keyheat.assert_no_throttles(ORDERS, set=[SHARDS])
    keyheat.assert_headroom(ORDERS, times=1.3, set=[SHARDS])


def test_ten_shards_would_be_enough() -> None:
    keyheat.assert_shards_suffice(ORDERS, shards=10)


def test_an_order_costs_one_unit() -> None:
    keyheat.assert_units_per_operation(ORDERS, at_most=1)
