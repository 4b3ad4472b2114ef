"""ConsumedCapacity: what an operation cost, as an answer tells it.

`NONE` tells nothing, `TOTAL` one number, `INDEXES` the table and each index apart. Transactions also say
which kind of units they are; single operations do not.
https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ConsumedCapacity.html
"""

from dataclasses import dataclass, field
from typing import Any

Kind = str
"""`ReadCapacityUnits` or `WriteCapacityUnits`."""


@dataclass(slots=True)
class Consumed:
    """Units of one table spent by one request: on the table, and on each index by name."""

    table: float = 0.0
    local: dict[str, float] = field(default_factory=dict)
    glob: dict[str, float] = field(default_factory=dict)

    def add(self, other: "Consumed") -> None:
        """Add what another part of the request spent."""
        self.table += other.table
        for mine, theirs in ((self.local, other.local), (self.glob, other.glob)):
            for name, units in theirs.items():
                mine[name] = mine.get(name, 0.0) + units

    @property
    def total(self) -> float:
        """Units altogether."""
        return self.table + sum(self.local.values()) + sum(self.glob.values())


def level_of(request: dict[str, Any]) -> str:
    """How much the request, whose members were checked, wants to be told."""
    return request.get("ReturnConsumedCapacity") or "NONE"


def rendered(table: str, consumed: Consumed, level: str, kind: Kind | None = None) -> dict[str, Any]:
    """One ConsumedCapacity; `kind` is the member that a transaction adds beside CapacityUnits."""
    answer: dict[str, Any] = {"TableName": table, **_units(consumed.total, kind)}
    if level == "INDEXES":
        answer["Table"] = _units(consumed.table, kind)
        for member, parts in (
            ("LocalSecondaryIndexes", consumed.local),
            ("GlobalSecondaryIndexes", consumed.glob),
        ):
            if parts:
                answer[member] = {name: _units(units, kind) for name, units in parts.items()}
    return answer


def _units(units: float, kind: Kind | None) -> dict[str, float]:
    return {"CapacityUnits": units} if kind is None else {"CapacityUnits": units, kind: units}
