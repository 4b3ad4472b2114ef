"""Which attributes a Query or a Scan answers with: `Select`, ProjectionExpression and what the index has.

https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Query.html
"""

from dataclasses import dataclass
from typing import Any

from keyheat.endpoint.errors import validation_error
from keyheat.endpoint.expressions.projections import Projection
from keyheat.endpoint.schema import IndexSchema, KeySchema
from keyheat.endpoint.store.itemkeys import attributes
from keyheat.endpoint.store.itemstore import projected_names
from keyheat.endpoint.store.values import INVALID


@dataclass(frozen=True, slots=True)
class Selection:
    """What is answered; `fetches`: a local index lacks some of it, so the table is read as well."""

    count_only: bool
    projection: Projection | None
    fetches: bool


def selection_of(
    request: dict[str, Any],
    keys: KeySchema,
    index: IndexSchema | None,
    projection: Projection | None,
) -> Selection:
    """What the request selects. Raises ValidationException for a combination that DynamoDB does not take."""
    select = request.get("Select")
    _check_select(select, index, projection)
    lacking = _lacking(keys, index, projection)
    if lacking and index is not None and not index.local:
        raise validation_error(
            INVALID + f"Global secondary index {index.name} does not project [{', '.join(sorted(lacking))}]"
        )
    everything = select == "ALL_ATTRIBUTES" and index is not None and index.projection != "ALL"
    return Selection(select == "COUNT", projection, bool(lacking) or everything)


def _check_select(select: str | None, index: IndexSchema | None, projection: Projection | None) -> None:
    if select == "SPECIFIC_ATTRIBUTES" and projection is None:
        raise validation_error(
            "One or more parameter values were invalid: Must specify the AttributesToGet or "
            "ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES"
        )
    if projection is not None and select not in (None, "SPECIFIC_ATTRIBUTES"):
        what = "only the Count" if select == "COUNT" else select
        raise validation_error(f"Cannot specify the ProjectionExpression when choosing to get {what}")
    if select == "ALL_PROJECTED_ATTRIBUTES" and index is None:
        raise validation_error(
            INVALID + "ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName"
        )
    if select == "ALL_ATTRIBUTES" and index is not None and not index.local and index.projection != "ALL":
        raise validation_error(
            INVALID + "Select type ALL_ATTRIBUTES is not supported for global secondary index "
            f"{index.name} because its projection type is not ALL"
        )


def _lacking(keys: KeySchema, index: IndexSchema | None, projection: Projection | None) -> frozenset[str]:
    """Attributes that are to be answered and that the index does not have; a filter does not see those."""
    if index is None or index.projection == "ALL":
        return frozenset()
    wanted: frozenset[str] = frozenset() if projection is None else projection.names
    primary = frozenset(attribute.name for attribute in attributes(keys))
    return wanted - projected_names(primary, index)
