"""Auto scaling as DynamoDB's target tracking does it: minutes of consumption in, a new capacity out.

    utilisation
    100 % |        ____                consumed / provisioned, minute by minute
          |    __ /    \\
     70 % |---/-----------\\--- target: above it for 2 minutes on end -> more capacity
          |__/             \\
     50 % |-----------------\\- target - 20 points: below it for 15 minutes on end -> less
          |                  \\______

The new capacity is the one at which the consumption would be the target again. Throttled requests consume
nothing, so a table that throttles is given at most 1 / target of what it has, step by step. Sources:
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/AutoScaling.html (the two minutes and the
fifteen), https://repost.aws/knowledge-center/dynamodb-auto-scaling (the 20 points) and
https://docs.aws.amazon.com/autoscaling/application/APIReference/API_TargetTrackingScalingPolicyConfiguration.html
(cooldowns). AWS does not publish the sum: that adding goes by the last minute, and taking away by the highest
of the fifteen, is our reading.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf

from keyheat.model import limits
from keyheat.scenario.spec.scaling import ScalingSpec
from keyheat.words import Direction


@dataclass(frozen=True, slots=True)
class Wanted:
    """The capacity that auto scaling asks for, units per second, and the numbers it went by."""

    units: int
    because: str


def wanted(spec: ScalingSpec, minutes: Sequence[float | None], provisioned: float) -> Wanted | None:
    """What auto scaling would ask for after these minutes; None where neither alarm is raised.

    `minutes` are consumed units per second, the latest last; None where nothing was consumed, for then there
    is no data, and a table without any traffic is not scaled in.
    """
    return _out(spec, minutes[-limits.SCALE_OUT_MINUTES :], provisioned) or _in(
        spec, minutes[-limits.SCALE_IN_MINUTES :], provisioned
    )


def _out(spec: ScalingSpec, minutes: Sequence[float | None], provisioned: float) -> Wanted | None:
    seen = [units for units in minutes if units is not None]
    if len(seen) < limits.SCALE_OUT_MINUTES or min(seen) <= spec.target * provisioned:
        return None
    units = min(spec.max, math.ceil(seen[-1] / spec.target))
    if units <= provisioned:
        return None
    shares = " and ".join(f"{100 * one / provisioned:.0f} %" for one in seen)
    return Wanted(units, f"{shares} used in two minutes on end, target {100 * spec.target:.0f} %")


def _in(spec: ScalingSpec, minutes: Sequence[float | None], provisioned: float) -> Wanted | None:
    seen = [units for units in minutes if units is not None]
    low = spec.target - limits.SCALE_IN_BELOW
    if len(seen) < limits.SCALE_IN_MINUTES or max(seen) >= low * provisioned:
        return None
    units = max(spec.min, math.ceil(max(seen) / spec.target))
    if units >= provisioned:
        return None
    most = 100 * max(seen) / provisioned
    return Wanted(units, f"at most {most:.0f} % used in {len(seen)} minutes on end, below {100 * low:.0f} %")


@dataclass(slots=True)
class Scaler:
    """One scaling policy at work: which minutes it has seen, and which cooldown it is in.

    `delay_s` is how long after the end of a minute its alarms act on it. Times are epoch seconds.
    """

    index: str | None
    side: Direction
    spec: ScalingSpec
    delay_s: float
    seen: int = -1  # the latest minute since the epoch that it has looked at
    out_until_s: float = -inf
    in_until_s: float = -inf
    added: float = field(default=0.0)  # by the addition whose cooldown is going on
    refused: bool = False  # whether its last request was: it is told once

    def newly_seen(self, now_s: float) -> int | None:
        """The latest minute whose data point has arrived, where that is a new one."""
        minute = int((now_s - self.delay_s) // limits.MINUTE_S) - 1
        if minute <= self.seen:
            return None
        self.seen = minute
        return minute

    def look(self, minutes: Sequence[float | None], provisioned: float, now_s: float) -> Wanted | None:
        """What to ask for now. During the cooldown of an addition only a larger one is made."""
        found = wanted(self.spec, minutes, provisioned)
        if found is None:
            return None
        more = found.units - provisioned
        if more > 0:
            return found if now_s >= self.out_until_s or more > self.added else None
        return found if now_s >= self.in_until_s else None

    def changed(self, more: float, in_force_s: float) -> None:
        """Its request is in force: `more` units were added, or taken away where that is below zero."""
        if more > 0:
            self.added, self.out_until_s = more, in_force_s + self.spec.scale_out_cooldown_s
            self.in_until_s = -inf  # an addition ends the cooldown of a reduction
        else:
            self.in_until_s = in_force_s + self.spec.scale_in_cooldown_s
