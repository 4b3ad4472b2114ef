"""What a team asserts of its key designs in its own tests: `keyheat.assert_no_hot_partition(...)` and so on.

what is sent (asked) --simulated or recorded--> is it so? (checks)  no: CheckFailed (failing)
"""

from assertions.checks import (
    assert_headroom,
    assert_label,
    assert_no_hot_partition,
    assert_no_throttles,
    assert_shards_suffice,
    assert_units_per_operation,
)
from assertions.failing import CheckFailed
from assertions.local import LocalDynamoDB

CheckFailed.__module__ = "keyheat"  # where a test finds it, and what pytest shows

__all__ = [
    "CheckFailed",
    "LocalDynamoDB",
    "assert_headroom",
    "assert_label",
    "assert_no_hot_partition",
    "assert_no_throttles",
    "assert_shards_suffice",
    "assert_units_per_operation",
]
