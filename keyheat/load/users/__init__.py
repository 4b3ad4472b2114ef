"""The users that load tests are made of: what they write, read, and check."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from keyheat.shipped import require

if TYPE_CHECKING:
    from keyheat.load.users.operations import ItemUser
    from keyheat.load.users.user import TableUser

__all__ = ["ItemUser", "TableUser"]

require("load")


def __getattr__(name: str) -> Any:
    """A class of users, whose module imports Locust: it is imported on first use."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = "user" if name == "TableUser" else "operations"
    return getattr(import_module(f"{__name__}.{module}"), name)
