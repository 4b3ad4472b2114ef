"""A plan: what a scenario is going to ask for, what that costs, and what will not be enough."""

from dataclasses import dataclass
from pathlib import Path

from keyheat.plan.bill import Bill, bill_of_run
from keyheat.plan.expected import expected
from keyheat.plan.forecast import Forecast, forecast
from keyheat.plan.foretold import Foretold, foretold
from keyheat.plan.prices import Prices
from keyheat.plan.quotas import DEFAULT_QUOTAS, Quotas, over_quota
from keyheat.plan.sent import Expected
from keyheat.scenario.scenario import Scenario


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A scenario before anything is sent."""

    scenario: Scenario
    forecast: Forecast
    sent: Expected | None  # None where nobody knows what the load test sends
    bill: Bill
    quotas: Quotas
    over_quota: tuple[str, ...]
    foretold: tuple[Foretold, ...]
    margin: float  # by which the formula's number of shards is multiplied
    scale: float  # of every limit of the table
    region: str | None  # of the target, where one was named

    @property
    def other_region(self) -> str | None:
        """The target's region, where the prices are those of another one."""
        return self.region if self.region not in (None, self.bill.prices.region) else None


def planned(
    scenario: Scenario,
    prices: Prices,
    *,
    margin: float,
    folder: Path = Path(),
    metric_requests: float = 0,
    throttled_keys: bool = False,
    existing: bool = False,
    clean_up: bool = False,
    table_bytes: float = 0,
    quotas: Quotas = DEFAULT_QUOTAS,
    scale: float | None = None,
    region: str | None = None,
) -> Planned:
    """The plan of a run; what is not named here, as `forecast` and `bill_of_run` have it.

    `scale` is that of the target's limits; absent: as the scenario's local table has it. Raises `TraceError`.
    """
    limits_scale = scenario.local.scale if scale is None else scale
    sent = expected(scenario, folder=folder, scale=limits_scale)
    return Planned(
        scenario=scenario,
        forecast=forecast(scenario, prices, margin=margin, folder=folder),
        sent=sent,
        bill=bill_of_run(
            scenario,
            prices,
            folder=folder,
            metric_requests=metric_requests,
            throttled_keys=throttled_keys,
            existing=existing,
            clean_up=clean_up,
            table_bytes=table_bytes,
            sent=sent,
        ),
        quotas=quotas,
        over_quota=() if existing else over_quota(scenario, quotas),
        foretold=foretold(scenario, sent, quotas=quotas, scale=limits_scale) if sent is not None else (),
        margin=margin,
        scale=limits_scale,
        region=region,
    )
