"""Facts about a table, and the one reader of DescribeTable's answer."""

from collections.abc import Mapping
from typing import Any, Final, Literal

from keyheat.masking import masked
from keyheat.model.resources import BillingMode, capacities_from_aws
from keyheat.validation import Count, LenientPart, Part, Quantity, Time
from keyheat.words import Capacity, Direction, Resource


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


class KeyAttribute(Part):
    """One attribute of a key."""

    name: str
    type: Literal["S", "N", "B"]
    role: Literal["HASH", "RANGE"]


class IndexFacts(Part):
    """Facts about one global secondary index."""

    name: str
    keys: tuple[KeyAttribute, ...] = ()  # as DescribeTable orders them; empty: unknown
    projection: Literal["ALL", "KEYS_ONLY", "INCLUDE"] | None = None
    include: tuple[str, ...] = ()  # attributes that INCLUDE projects
    provisioned: Capacity | None = None
    provisioned_now: Capacity | None = None  # as described, if it changed after the window began
    max_on_demand: Capacity | None = None
    warm: Capacity | None = None


class TableFacts(Part):
    """Facts about the table; only its name is certain."""

    name: str
    arn: str | None = None
    created: Time | None = None
    keys: tuple[KeyAttribute, ...] = ()  # empty: unknown
    billing_mode: Literal["PROVISIONED", "PAY_PER_REQUEST"] | None = None
    on_demand_since: Time | None = None  # if it was switched after the window began
    provisioned: Capacity | None = None
    provisioned_now: Capacity | None = None  # as described, if it changed after the window began
    max_on_demand: Capacity | None = None
    warm: Capacity | None = None
    has_lsi: bool | None = None
    replicas: tuple[str, ...] = ()  # other Regions of a global table
    region: str | None = None  # of a global table: that of the evidence
    table_class: str | None = None  # STANDARD or STANDARD_INFREQUENT_ACCESS
    indexes: tuple[IndexFacts, ...] = ()


class AccountFacts(Part):
    """Quotas of the account for one table, units per second."""

    table_read: Quantity | None = None
    table_write: Quantity | None = None


def table_facts(described: Mapping[str, Any]) -> TableFacts:
    """Facts from the `Table` member of a DescribeTable answer.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TableDescription.html
    """
    mode, types = mode_of(described), types_of(described)
    return TableFacts(
        name=described["TableName"],
        arn=masked(described.get("TableArn", "")) or None,
        keys=_keys(described, types),
        billing_mode=mode,
        **_capacities(described, mode),
        has_lsi=bool(described.get("LocalSecondaryIndexes")),
        replicas=replicas_of(described),
        region=region_of_arn(described.get("TableArn", "")) if described.get("Replicas") else None,
        table_class=described.get("TableClassSummary", {}).get("TableClass"),
        indexes=indexes_of(described, "Global"),
    )


def indexes_of(described: Mapping[str, Any], kind: Literal["Global", "Local"]) -> tuple[IndexFacts, ...]:
    """Facts about the secondary indexes of a kind; local ones have no capacity of their own."""
    mode, types = mode_of(described), types_of(described)
    return tuple(
        IndexFacts(
            name=index["IndexName"],
            keys=_keys(index, types),
            projection=index.get("Projection", {}).get("ProjectionType"),
            include=index.get("Projection", {}).get("NonKeyAttributes", ()),
            **_capacities(index, mode),
        )
        for index in described.get(f"{kind}SecondaryIndexes") or ()
    )


def types_of(described: Mapping[str, Any]) -> dict[str, str]:
    """Types of the key attributes of a table and its indexes."""
    attributes = described.get("AttributeDefinitions", ())
    return {attribute["AttributeName"]: attribute["AttributeType"] for attribute in attributes}


def _capacities(owner: Mapping[str, Any], mode: BillingMode) -> dict[str, Capacity | None]:
    unused = {} if mode == "PROVISIONED" else {"provisioned": None}
    return capacities_from_aws(owner) | unused


def _keys(owner: Mapping[str, Any], types: Mapping[str, Any]) -> tuple[KeyAttribute, ...]:
    """The key attributes of a table or an index, with types."""
    names = {key["AttributeName"]: key["KeyType"] for key in owner.get("KeySchema", ())}
    if not names.keys() <= types.keys():  # a key without one of its attributes is another key
        return ()
    return tuple(KeyAttribute(name=name, type=types[name], role=role) for name, role in names.items())


def replicas_of(described: Mapping[str, Any]) -> tuple[str, ...]:
    """The other Regions of a global table."""
    named = (replica.get("RegionName") for replica in described.get("Replicas") or ())
    here = region_of_arn(described.get("TableArn", ""))
    return tuple(region for region in named if region and region != here)


def region_of_arn(arn: str) -> str | None:
    """The Region in a table's ARN; None without one."""
    _, _, here = arn.partition(":dynamodb:")
    return here.partition(":")[0] or None


def mode_of(described: Mapping[str, Any]) -> BillingMode:
    """The billing mode, also of a CreateTable request.

    DescribeTable omits it for a table that was never on-demand, and some endpoints always do: without it,
    zero provisioned units mean on-demand.
    """
    summary = described.get("BillingModeSummary") or described
    mode: BillingMode | None = summary.get("BillingMode")
    units = described.get("ProvisionedThroughput", {})
    nothing = [units.get("ReadCapacityUnits"), units.get("WriteCapacityUnits")] == [0, 0]
    return mode or ("PAY_PER_REQUEST" if nothing else "PROVISIONED")
