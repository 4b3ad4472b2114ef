"""What an expression says: its parts as values, which the parser makes and everything else reads.

Document paths have their names already, `#placeholders` replaced; values are still names, since a parsed
expression is kept and serves requests with other values.
"""

from dataclasses import dataclass

Path = tuple[str | int, ...]
"""Attribute name first, then map keys and list positions."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """What the item has at a path."""

    path: Path


@dataclass(frozen=True, slots=True)
class Reference:
    """A value that comes with the request, `:name`."""

    name: str


@dataclass(frozen=True, slots=True)
class Call:
    """A function and its arguments: a condition, or the operand of one or of an update."""

    function: str
    arguments: tuple["Operand", ...]


@dataclass(frozen=True, slots=True)
class Sum:
    """Two numbers added, or the second taken from the first."""

    sign: str
    left: "Operand"
    right: "Operand"


Operand = Attribute | Reference | Call | Sum


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two operands compared by `=`, `<>`, `<`, `<=`, `>` or `>=`."""

    operator: str
    left: Operand
    right: Operand


@dataclass(frozen=True, slots=True)
class Between:
    """An operand from a lowest to a highest, both included."""

    tested: Operand
    low: Operand
    high: Operand


@dataclass(frozen=True, slots=True)
class In:
    """An operand equal to one of several."""

    tested: Operand
    choices: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """What does not hold."""

    inner: "Tree"


@dataclass(frozen=True, slots=True)
class Both:
    """Two conditions joined by `AND` or `OR`."""

    operator: str
    left: "Tree"
    right: "Tree"


Tree = Comparison | Between | In | Call | Not | Both


@dataclass(frozen=True, slots=True)
class Action:
    """One thing that an update does: the clause that it stands in, where, and with what."""

    clause: str
    path: Path
    operand: Operand | None = None
