"""What things cost in dollars: capacity by the unit or by the hour, and what a run asks of other services.

Source of the two ways to pay: https://aws.amazon.com/dynamodb/pricing/ ; the numbers and their date are in
configs/prices.toml, or in a file of one's own. A price that a list does not have is None, never zero.
"""

from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import Field

from keyheat.shipped import shipped
from keyheat.validation import Part, checked_toml

DEFAULT = shipped("configs") / "prices.toml"
MILLION: Final = 1_000_000
HOUR_S: Final = 3600
DAY_H: Final = 24.0
MONTH_S: Final = 730 * HOUR_S
"""Seconds of a month as AWS counts it in its price examples: https://aws.amazon.com/dynamodb/pricing/"""

Dollars = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class OnDemandPrices(Part):
    """Dollars per million units consumed."""

    write_per_million: Dollars
    read_per_million: Dollars


class ProvisionedPrices(Part):
    """Dollars for one unit per second that is provisioned for an hour, used or not."""

    write_per_hour: Dollars
    read_per_hour: Dollars


class WarmPrices(Part):
    """Dollars for one unit per second of warm throughput, paid once for what was not there by itself."""

    write_once: Dollars
    read_once: Dollars


class StreamPrices(Part):
    """Dollars per million GetRecords requests."""

    read_per_million: Dollars
    as_of: date | None = None


class CloudWatchPrices(Part):
    """Dollars per thousand metrics that GetMetricData is asked for: of every query, in every request."""

    metrics_per_thousand: Dollars
    as_of: date | None = None


class InsightsPrices(Part):
    """Dollars of Contributor Insights for DynamoDB: per rule and month, and per million events."""

    rule_per_month: Dollars
    events_per_million: Dollars
    as_of: date | None = None


class Prices(Part):
    """A price list: of which region, of which day, and from where."""

    format: Literal["keyheat.prices/1"]
    region: Annotated[str, Field(min_length=1, max_length=60)]
    as_of: date
    sources: tuple[str, ...] = ()
    on_demand: OnDemandPrices
    provisioned: ProvisionedPrices
    warm: WarmPrices | None = None
    streams: StreamPrices | None = None
    cloudwatch: CloudWatchPrices | None = None
    contributor_insights: InsightsPrices | None = None

    @property
    def shown(self) -> str:
        """Which list this is, as it is said beside a number."""
        return f"list prices of {self.region}, {self.as_of:%Y-%m-%d}"


@dataclass(frozen=True, slots=True)
class Billing:
    """What a month is paid by: a price list, and how many hours a day the load is on."""

    prices: Prices
    hours_per_day: float = DAY_H

    @property
    def loaded_s(self) -> float:
        """Seconds of a month with load."""
        return MONTH_S * self.hours_per_day / DAY_H


def load_prices(path: Path = DEFAULT) -> Prices:
    """A price list from a file. Raises `FileProblem` with every mistake as `message @ $.path`."""
    return checked_toml(path, Prices)


def consumed_dollars(prices: OnDemandPrices, *, write_units: float = 0, read_units: float = 0) -> float:
    """What units cost in on-demand mode."""
    return (write_units * prices.write_per_million + read_units * prices.read_per_million) / MILLION


def provisioned_dollars(
    prices: ProvisionedPrices, seconds: float, *, write_per_s: float = 0, read_per_s: float = 0
) -> float:
    """What provisioned units per second cost over a time, at the hourly price."""
    per_hour = write_per_s * prices.write_per_hour + read_per_s * prices.read_per_hour
    return per_hour * seconds / HOUR_S


def per_million(dollars: float, number: float) -> float | None:
    """Dollars for a million of something of which `number` were had; None where none was."""
    return dollars / number * MILLION if number else None
