"""Auto scaling of a scenario's table: the bounds and the target that a scaling policy is given."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from pydantic import Field

from keyheat.model import limits
from keyheat.scenario.spec.changing import SIDES, is_number, pair_of
from keyheat.scenario.spec.part import Part, Units

LEAST, MOST = limits.SCALING_TARGETS
Cooldown = Annotated[float, Field(ge=0, le=86_400)]


class ScalingSpec(Part):
    """A target tracking policy for reads or writes of the table or of one index.

    Sources: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/AutoScaling.html and, for the
    cooldowns and their defaults,
    https://docs.aws.amazon.com/autoscaling/application/APIReference/API_TargetTrackingScalingPolicyConfiguration.html
    """

    min: Units = Field(description="units per second; auto scaling never asks for less")
    max: Units = Field(description="units per second; auto scaling never asks for more")
    target: Annotated[float, Field(ge=LEAST, le=MOST)] = Field(
        0.7, description="consumed as a share of provisioned that it steers for"
    )
    scale_out_cooldown_s: Cooldown = Field(
        0.0, description="after adding capacity, only a larger addition is made for so long"
    )
    scale_in_cooldown_s: Cooldown = Field(
        0.0, description="after taking capacity away, no more is taken away for so long"
    )


class AutoScalingSpec(Part):
    """Which sides of a table or of an index are scaled; one that is absent keeps its capacity."""

    read: ScalingSpec | None = None
    write: ScalingSpec | None = None

    def sides(self) -> dict[str, ScalingSpec]:
        """The sides that are scaled."""
        return {side: spec for side in SIDES if (spec := getattr(self, side)) is not None}


def broken_scaling(path: str, owner: Mapping[str, Any]) -> Iterator[str]:
    """What the auto scaling of a table or of an index disagrees with, as `message @ $.path`."""
    scaling, provisioned = owner.get("auto_scaling"), pair_of(owner, "provisioned")
    sides = scaling if isinstance(scaling, Mapping) else {}
    for side in SIDES:
        bounds = sides.get(side)
        least, most = (bounds.get("min"), bounds.get("max")) if isinstance(bounds, Mapping) else (None, None)
        if not (is_number(least) and is_number(most)):
            continue
        where = f"{path}.auto_scaling.{side}"
        if least > most:
            yield f"min = {least} is more than max = {most} @ {where}.min"
        elif side in provisioned and not least <= provisioned[side] <= most:
            units = provisioned[side]
            yield f"provisioned.{side} = {units} is not between min = {least} and max = {most} @ {where}"
