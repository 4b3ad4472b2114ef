"""The capacity that a scenario's table has, as the model takes it."""

from keyheat.model.resources import IndexCapacity, TableCapacity
from keyheat.scenario.spec.table import CapacityPair, IndexSpec, TableSpec
from keyheat.words import Capacity


def capacity_of(table: TableSpec) -> TableCapacity:
    """The capacity of a table to be created and of its global indexes; a local index has none of its own."""
    return TableCapacity(
        billing_mode=table.billing_mode,
        provisioned=_pair(table.provisioned),
        max_on_demand=_pair(table.max_on_demand),
        warm=_pair(table.warm),
        indexes=tuple(_index(index) for index in table.indexes if not index.local),
        has_lsi=any(index.local for index in table.indexes),
    )


def _index(index: IndexSpec) -> IndexCapacity:
    return IndexCapacity(
        name=index.name,
        provisioned=_pair(index.provisioned),
        max_on_demand=_pair(index.max_on_demand),
        warm=_pair(index.warm),
    )


def _pair(pair: CapacityPair | None) -> Capacity | None:
    return None if pair is None else Capacity(pair.read, pair.write)
