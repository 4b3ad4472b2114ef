"""The order in which recommendations are tried: by `keyheat fix`, by a search, and on the first screen."""

from collections.abc import Sequence
from typing import Final

from keyheat.runs.formats import Diagnosis, Recommendation
from keyheat.words import TABLE, WRITE

PREFERRED: Final = (
    "shard_writes", "shard_date_key", "change_index_key", "raise_maximum", "raise_minimum", "raise_capacity",
    "raise_max_on_demand", "pre_warm", "cache_reads", "replicate_reads", "on_demand", "auto_scaling",
    "read_eventually_consistent",
)  # fmt: skip
"""Actions in the order of preference, if dollars do not decide."""


def rank(action: str) -> int:
    """Return the rank of an action; the last one if no rerun can show it."""
    return PREFERRED.index(action) if action in PREFERRED else len(PREFERRED)


def in_order(advised: Sequence[Recommendation], diagnosis: Diagnosis) -> list[Recommendation]:
    """Sort advice: the verdict's own limit first, then by preference."""
    verdict = diagnosis.verdict
    side = {"resource": verdict.resource or TABLE, "direction": verdict.direction or WRITE}
    sided = [advice if advice.resource else advice.model_copy(update=side) for advice in advised]
    own_side = tuple(side.values())
    return sorted(
        sided, key=lambda advice: ((advice.resource, advice.direction) != own_side, rank(advice.action))
    )
