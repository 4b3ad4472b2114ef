"""Prices in dollars of capacity and of other services that a run uses.

Source of both billing modes: https://aws.amazon.com/dynamodb/pricing/ ; configs/prices.toml, or a
custom file, has the numbers and their date. A price missing from the list is None, never zero.
"""

from datetime import date
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import Field

from keyheat.shipped import shipped
from keyheat.validation import Part, checked_toml
from keyheat.words import Capacity, Direction

DEFAULT = shipped("configs") / "prices.toml"
MILLION: Final = 1_000_000
HOUR_S: Final = 3600
MONTH_S: Final = 730 * HOUR_S
"""Length of a month in AWS price examples: https://aws.amazon.com/dynamodb/pricing/"""

Dollars = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class OnDemandPrices(Part):
    """Dollars per million units consumed."""

    write_per_million: Dollars
    read_per_million: Dollars

    def each(self, direction: Direction) -> float:
        """Price of one unit, in dollars."""
        writes = direction is Direction.WRITE
        return (self.write_per_million if writes else self.read_per_million) / MILLION

    def dollars(self, *, write_units: float = 0, read_units: float = 0) -> float:
        """Cost of units, in dollars."""
        return (write_units * self.write_per_million + read_units * self.read_per_million) / MILLION


class ProvisionedPrices(Part):
    """Dollars per hour for one provisioned unit per second."""

    write_per_hour: Dollars
    read_per_hour: Dollars

    def each(self, direction: Direction) -> float:
        """Price of one unit per second for an hour, in dollars."""
        return self.write_per_hour if direction is Direction.WRITE else self.read_per_hour

    def hourly(self, pair: Capacity) -> float:
        """Price of a capacity for an hour, in dollars."""
        return (pair.write or 0) * self.write_per_hour + (pair.read or 0) * self.read_per_hour


class WarmPrices(Part):
    """Dollars for one unit per second of warm throughput, paid once for what exceeds the table's own."""

    write_once: Dollars
    read_once: Dollars

    def each(self, direction: Direction) -> float:
        """Price of one unit per second, in dollars."""
        return self.write_once if direction is Direction.WRITE else self.read_once


class StreamPrices(Part):
    """Dollars per million GetRecords requests."""

    read_per_million: Dollars
    as_of: date | None = None


class CloudWatchPrices(Part):
    """Dollars per thousand metrics of GetMetricData: every query of every request counts."""

    metrics_per_thousand: Dollars
    as_of: date | None = None


class InsightsPrices(Part):
    """Dollars of Contributor Insights for DynamoDB: per rule and month, and per million events."""

    rule_per_month: Dollars
    events_per_million: Dollars
    as_of: date | None = None


class Prices(Part):
    """A price list with its region, date and sources."""

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
    def title(self) -> str:
        """The name of the list, to print with a price."""
        return f"list prices of {self.region}, {self.as_of:%Y-%m-%d}"


def load_prices(path: Path = DEFAULT) -> Prices:
    """Load a price list. Raises `FileProblem` with every mistake as `message @ $.path`."""
    return checked_toml(path, Prices)
