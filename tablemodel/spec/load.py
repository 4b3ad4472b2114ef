"""The load of a scenario: how much is sent, and how large the items are."""

from typing import Annotated, Literal

from pydantic import Field

from tablemodel import limits
from tablemodel.spec.part import Part, Rate, Seconds


class LoadSpec(Part):
    """How much is sent.

    In a closed loop (`arrivals = "closed"`) users wait for their answer before they send again. In an open
    loop requests arrive at their own times, whatever the answers do; users are then only how many requests
    can be under way at once.
    """

    users: Annotated[int, Field(ge=1, le=100_000)] = 50
    spawn_per_s: Annotated[float, Field(gt=0)] = Field(50.0, description="users started per second")
    duration_s: Seconds = 60.0
    requests_per_s: Rate = Field(
        1_000.0, description="by all users together; each user paces itself at its even part"
    )
    item_bytes: Annotated[int, Field(ge=100, le=limits.MAX_ITEM_BYTES)] = Field(
        1_000, description="size of one written item as DynamoDB counts it, names and keys included"
    )
    arrivals: Literal["closed", "constant", "poisson"] = Field(
        "closed", description="closed: users wait for answers; constant, poisson: an open loop"
    )
    write_units_per_s: Rate | None = Field(
        None, description="open loop: so many WCU/s, steered by what comes back, in place of requests_per_s"
    )
    read_units_per_s: Rate | None = Field(
        None, description="open loop: so many RCU/s, steered by what comes back, in place of requests_per_s"
    )
