"""What ends a run early: caps on what it may cost, and signs that it does harm."""

from typing import Annotated

from pydantic import Field

from keyheat.scenario.spec.part import Part, Seconds, Share

Dollars = Annotated[float, Field(gt=0, le=1_000_000)]
Units = Annotated[float, Field(gt=0, le=1e15)]
Minutes = Annotated[float, Field(gt=0, le=7 * 1440)]


class BudgetSpec(Part):
    """The most that one run may cost; it is refused where its plan needs more, and stopped where it does."""

    dollars: Dollars = Field(5.0, description="of the table's capacity, at the price list's prices")
    units: Units | None = Field(None, description="read and write units consumed together; absent: any")
    minutes: Minutes | None = Field(None, description="of load, from its start; absent: as long as it lasts")


class AbortSpec(Part):
    """Signs at which a run stops by itself, as a person who watches it would stop it. Absent: not watched."""

    throttle_share: Share | None = Field(None, description="of all attempts in the last `over_s` seconds")
    error_share: Share | None = Field(None, description="of all attempts in the last `over_s` seconds")
    p99_ms: Annotated[float, Field(gt=0)] | None = Field(
        None, description="service time of accepted requests in the last `over_s` seconds"
    )
    over_s: Seconds = Field(10.0, description="how long a sign is looked for")
    after_s: Annotated[float, Field(ge=0, le=86_400)] = Field(
        0.0, description="seconds of load before anything is judged: connections and bursts come first"
    )
