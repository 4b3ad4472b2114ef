"""Auto scaling of a table and its indexes."""

from typing import Final

from keyheat.validation import Count, LenientPart, Quantity
from keyheat.words import Direction, Resource


class ScalingRange(LenientPart):
    """Capacity range of one side of a table or an index, in units per second."""

    index: str | None = None
    side: Direction
    min: Count
    max: Count
    target: Quantity | None = None  # consumed as a share of provisioned; None: no target tracking policy
    scale_out_cooldown_s: Quantity | None = None
    scale_in_cooldown_s: Quantity | None = None
    scale_in: bool = True

    def __str__(self) -> str:
        what = f"index {self.index}" if self.index else "the table"
        steers = "" if self.target is None else f", steered for {self.target:.0%} of it consumed"
        return f"{self.side}s of {what}: {self.min:,} to {self.max:,} units per second{steers}"


class AutoScaling(LenientPart):
    """The auto scaling of a table; `why` it is unknown."""

    scaled: tuple[ScalingRange, ...] = ()
    why: str | None = None

    def of(self, resource: Resource) -> ScalingRange | None:
        """The range of a resource; None if it is not scaled, or unknown."""
        key = (resource.index, resource.direction)
        return next((scaled for scaled in self.scaled if (scaled.index, scaled.side) == key), None)

    def in_words(self) -> list[str]:
        """Notes for the user, one line each."""
        if self.why is not None:
            return [f"whether auto scaling changes its capacity is not known: {self.why}"]
        return [f"auto scaling may change its capacity during this run: {scaled}" for scaled in self.scaled]


NOT_SCALED: Final = AutoScaling()
