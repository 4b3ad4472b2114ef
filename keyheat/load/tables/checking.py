"""What keeps a run from a table: it cannot be made, cannot be used, is somebody else's, or is another one."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from keyheat.load.tables.creating import mistake
from keyheat.load.tables.differences import differences
from keyheat.load.tables.errors import Refused, TableError
from keyheat.load.tables.lease import live_in, refusal
from keyheat.load.tables.ownership import Unread, refusals, standing, tags_read, unusable
from keyheat.load.tables.waiting import all_active
from keyheat.scenario.spec.tables import TableSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """What a person said of tables that are there: which may be loaded, and which is loaded as it is.

    On this machine (`local`) no table is somebody's, so that none is refused there, but for one that another
    run is loading: that one is refused everywhere, unless it is said to be shared.
    """

    local: bool
    foreign: Collection[str] = ()
    protected: Collection[str] = ()
    existing: str | None = None
    share: bool = False


def check_tables(
    found: Iterable[tuple[TableSpec, Mapping[str, Any] | None]],
    client: Any,
    allowed: Allowed,
    now: datetime,
) -> None:
    """Hold tables, each with DescribeTable's answer or None, against what is allowed and described.

    Raises `Refused` or `TableError` with everything that is in the way.
    """
    refused, wrong = list[str](), list[str]()
    for spec, description in found:
        wrong += obstacles(spec, description, allowed)
        if description is not None:
            refused += _refusals(spec.name, description, client, allowed, now)
    if refused:
        raise Refused(*refused, *wrong)
    if wrong:
        raise TableError(*wrong)


def _refusals(
    name: str, description: Mapping[str, Any], client: Any, allowed: Allowed, now: datetime
) -> list[str]:
    """Why a table that is there must not be loaded: for whose it is, and for who is loading it."""
    if allowed.local:
        lines, tags = list[str](), tags_read(client, description)
    else:
        table = standing(client, description)
        lines, tags = refusals(table, allowed.foreign, allowed.protected), table.tags
    if isinstance(tags, Unread) or allowed.share:
        return lines
    return [*lines, *(refusal(name, hold) for hold in live_in(tags, now))]


def obstacles(spec: TableSpec, description: Mapping[str, Any] | None, allowed: Allowed) -> list[str]:
    """Why the table cannot be made, or cannot be loaded as the scenario says, whoever owns it."""
    why = _obstacle(spec, description, as_it_is=spec.name == allowed.existing)
    return [f"table {spec.name} {why}"] if why else []


def _obstacle(spec: TableSpec, description: Mapping[str, Any] | None, *, as_it_is: bool) -> str | None:
    if description is None:
        return f"is not there, and --table {spec.name} loads only one that is" if as_it_is else mistake(spec)
    if (why := unusable(description)) is not None:
        return f"cannot be loaded: {why}"
    if as_it_is or not all_active(description):
        return None  # what is being changed is compared when it has changed
    found = "; ".join(differences(spec, description))
    return found and (
        f"is there, but not as the scenario describes it: {found}. "
        f"Load it as it is with --table {spec.name}, or delete it, and the run makes it anew"
    )
