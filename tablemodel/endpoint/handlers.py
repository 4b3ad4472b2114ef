"""Every operation that the endpoint has, by name."""

from tablemodel.endpoint.items.data import DATA
from tablemodel.endpoint.tables.control import CONTROL

__all__ = ["CONTROL", "DATA"]
