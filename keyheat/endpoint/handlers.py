"""Every operation that the endpoint has, by name."""

from keyheat.endpoint.items.data import DATA
from keyheat.endpoint.tables.control import CONTROL

__all__ = ["CONTROL", "DATA"]
