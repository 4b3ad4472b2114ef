"""Every operation that the endpoint has, by name."""

from tablemodel.endpoint.control import CONTROL
from tablemodel.endpoint.data import DATA

__all__ = ["CONTROL", "DATA"]
