"""A load that burst or a write buffer carries for minutes, and what it exceeds."""

from math import inf

import pytest

from keyheat.analysis.advice.demand import Scheduled, on_burst
from keyheat.words import WRITE
from tests.make import a_scenario

HAS = {"read": 100, "write": 3_000}
INDEX = {"name": "by-depot", "partition_key": "depot", "provisioned": HAS}
TABLE = {"name": "scans", "provisioned": HAS, "indexes": [INDEX]}


@pytest.mark.parametrize(
    ("hottest_per_s", "key_per_s", "buffer_full_s", "is_exceeded"),
    [
        (1_080, 925, 222.0, True),  # keys that share a partition fill its buffer
        (1_080, 925, None, False),  # they are parted before it is full
        (1_200, 1_150, None, True),  # one key is never parted
    ],
)
def test_a_partition_of_an_index_is_exceeded_while_its_buffer_fills(
    hottest_per_s: float, key_per_s: float, buffer_full_s: float | None, is_exceeded: bool
) -> None:
    needs = Scheduled(
        per_s=1_600, mean_per_s=1_600, partition_per_s=1_000, partitions=3,
        hottest_per_s=hottest_per_s, key_per_s=key_per_s, buffer_full_s=buffer_full_s,
    )  # fmt: skip
    carried = on_burst(a_scenario(table=TABLE), {("by-depot", WRITE): needs})
    limit = ("partition", "by-depot", WRITE)
    assert carried == ({limit: buffer_full_s or inf} if is_exceeded else {})
