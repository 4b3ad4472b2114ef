"""Auto scaling of a table and its indexes: where it is on, it undoes a capacity that somebody sets.

https://docs.aws.amazon.com/autoscaling/application/APIReference/API_DescribeScalableTargets.html
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from keyheat.answer_shape import bounded_pages
from keyheat.evidence.clients import ClientFactory
from keyheat.masking import masked
from keyheat.words import Direction, Resource

SERVICE: Final = "application-autoscaling"


@dataclass(frozen=True, slots=True)
class ScalingRange:
    """Between which capacities a resource is scaled, units per second."""

    resource: Resource
    least: int
    most: int


@dataclass(frozen=True, slots=True)
class ScalingFound:
    """The ranges of a table and its indexes, or why they are not known."""

    ranges: tuple[ScalingRange, ...] = ()
    problem: str | None = None

    def of(self, resource: Resource) -> ScalingRange | None:
        """The range of a resource; None if it is not scaled."""
        return next((one for one in self.ranges if one.resource == resource), None)


def scaling_of(factory: ClientFactory, table: str) -> ScalingFound:
    """What Application Auto Scaling holds of a table. What it does not answer is the `problem`."""
    try:
        return ScalingFound(tuple(_ranges(factory(SERVICE), table)))
    except (BotoCoreError, ClientError) as error:
        return ScalingFound(problem=f"auto scaling, which may undo a change: {masked(str(error))}")


def _ranges(client: Any, table: str) -> Iterator[ScalingRange]:
    pages = client.get_paginator("describe_scalable_targets").paginate(ServiceNamespace="dynamodb")
    for page in bounded_pages("DescribeScalableTargets", pages):
        for target in page["ScalableTargets"]:
            _table, _slash, rest = target["ResourceId"].partition("/")
            name, _slash, rest = rest.partition("/")
            if name == table:
                index = rest.removeprefix("index/") or None
                direction = Direction.READ if "Read" in target["ScalableDimension"] else Direction.WRITE
                yield ScalingRange(Resource(index, direction), target["MinCapacity"], target["MaxCapacity"])
