"""What DynamoDB allows before anything is known of a table: a partition's ceiling, an account's quotas."""

from typing import Final

from keyheat.model import limits
from keyheat.words import READ, WRITE, Direction

_CEILINGS: Final[dict[Direction, int]] = {
    READ: limits.PARTITION_READ_UNITS_PER_S,
    WRITE: limits.PARTITION_WRITE_UNITS_PER_S,
}
QUOTAS: Final[dict[Direction, int]] = {
    READ: limits.TABLE_READ_UNITS_PER_S,
    WRITE: limits.TABLE_WRITE_UNITS_PER_S,
}
"""Units per second that an account allows one table with its indexes, unless the quota was raised."""


def partition_ceiling(direction: Direction, scale: float = 1.0) -> float:
    """Units per second that one partition sustains, times the scale of a local table."""
    return _CEILINGS[direction] * scale
