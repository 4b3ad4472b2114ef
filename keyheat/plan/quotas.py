"""Capacity quotas of an account, and what of a scenario AWS would refuse because of them.

Provisioned capacity counts a table together with its global indexes, and an account's quota all of its
provisioned tables. In on-demand mode a table's quota is what it serves at most, with its indexes:
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from keyheat.model import limits
from keyheat.model.resources import TABLE_QUOTA
from keyheat.plan.given import Given, given_to
from keyheat.scenario.scenario import Scenario
from keyheat.words import Capacity, Direction

UNITS: Final = {Direction.WRITE: "WCU", Direction.READ: "RCU"}
RAISED: Final = "the Service Quotas console raises it (dynamodb), or give the scenario less"


@dataclass(frozen=True, slots=True, kw_only=True)
class Quotas:
    """Units per second; a side is None where it is not known."""

    table: Capacity  # of one table with its global indexes
    account: Capacity  # of all provisioned tables of the account, in the region
    source: Literal["default", "account", "unknown"]
    problem: str | None = None  # why they are unknown


DEFAULT_QUOTAS: Final = Quotas(
    table=TABLE_QUOTA,
    account=Capacity(limits.ACCOUNT_READ_UNITS_PER_S, limits.ACCOUNT_WRITE_UNITS_PER_S),
    source="default",
)


def unknown_quotas(problem: str) -> Quotas:
    """What is known where nobody said."""
    return Quotas(table=Capacity(), account=Capacity(), source="unknown", problem=problem)


def quotas_of(answer: Mapping[str, Any]) -> Quotas:
    """Quotas from a DescribeLimits answer:
    https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DescribeLimits.html
    """
    table, account = _pair(answer, "TableMax"), _pair(answer, "AccountMax")
    if table == account == Capacity():
        return unknown_quotas("DescribeLimits answered without any")
    return Quotas(table=table, account=account, source="account")


def _pair(answer: Mapping[str, Any], whose: str) -> Capacity:
    read, write = (answer.get(f"{whose}{side}CapacityUnits") for side in ("Read", "Write"))
    return Capacity(_units(read), _units(write))


def _units(value: Any) -> float | None:
    known = isinstance(value, int | float) and not isinstance(value, bool) and value > 0
    return float(value) if known else None


def provisioned_of(given: Sequence[Given], direction: Direction) -> float:
    """Units per second that these tables and indexes have provisioned together, at the most."""
    return sum(one.provisioned.of(direction) or 0.0 for one in given)


def over_quota(scenario: Scenario, quotas: Quotas) -> tuple[str, ...]:
    """What AWS would refuse to create or change, as sentences; nothing where a quota is not known.

    What other tables of the account have is not in it: AWS may refuse earlier.
    """
    given = given_to(scenario)
    return (*_of_tables(given, quotas), *_of_account(given, quotas), *_of_settings(given, quotas))


def _of_tables(given: Sequence[Given], quotas: Quotas) -> Iterator[str]:
    for table in dict.fromkeys(one.table for one in given):
        own = [one for one in given if one.table == table]
        for direction, unit in UNITS.items():
            quota, asked = quotas.table.of(direction), provisioned_of(own, direction)
            if quota is not None and asked > quota:
                indexes = " with its indexes" if len(own) > 1 else ""
                yield (
                    f"table {table}{indexes} is to have {asked:,.0f} {unit}/s, and the quota of a table is "
                    f"{quota:,.0f}: {RAISED}"
                )


def _of_account(given: Sequence[Given], quotas: Quotas) -> Iterator[str]:
    for direction, unit in UNITS.items():
        quota, asked = quotas.account.of(direction), provisioned_of(given, direction)
        if quota is not None and asked > quota:
            yield (
                f"the scenario's tables are to have {asked:,.0f} {unit}/s, and the quota of the account is "
                f"{quota:,.0f}: {RAISED}"
            )


def _of_settings(given: Sequence[Given], quotas: Quotas) -> Iterator[str]:
    """Maxima and warm throughput of one table or index are bound by the table's quota, too."""
    for one in given:
        for direction, unit in UNITS.items():
            quota = quotas.table.of(direction)
            for what, asked in (
                ("a maximum", one.max_on_demand.of(direction)),
                ("warm throughput", one.warm.of(direction)),
            ):
                if quota is not None and asked is not None and asked > quota:
                    yield (
                        f"{one.name} is to have {what} of {asked:,.0f} {unit}/s, and the quota of a table is "
                        f"{quota:,.0f}: {RAISED}"
                    )
