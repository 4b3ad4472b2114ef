"""Every operation that the endpoint has, by name."""

from tablemodel.endpoint.control import CONTROL
from tablemodel.endpoint.service import Handler

DATA: dict[str, Handler] = {}

__all__ = ["CONTROL", "DATA"]
