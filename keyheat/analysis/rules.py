"""Every rule that a label can rest on, and configs/thresholds.toml: how sure each is, as was measured.

The ids are stable: a label names the rule that decided it. Which rule holds at a moment is decided in
`analyzers/partition_or_table`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Final, Literal, Self

from pydantic import Field, field_validator, model_validator

from keyheat.shipped import shipped
from keyheat.validation import Part, checked_toml
from keyheat.words import Constraint, Grade

NOT_GROWN: Final = "on-demand-not-grown"
WHOSE: Final = "undetermined-resource"
NEITHER: Final = "undetermined-neither"
CHANGED: Final = "undetermined-capacity-changed"
WEAK: Final = "undetermined-weak"
AT_CEILING: Final = "undetermined-at-ceiling"
OTHERS_UNKNOWN: Final = "undetermined-others"


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule; `meaning` is when it speaks, in sentences."""

    id: str
    constraint: Constraint
    grade: Grade
    meaning: str


def _rules(grade: Grade, *rows: tuple[str, Constraint, str]) -> tuple[Rule, ...]:
    return tuple(Rule(id, constraint, grade, meaning) for id, constraint, meaning in rows)


_BY_CAUSE: Final[tuple[tuple[str, Constraint, str], ...]] = (
    ("key-range", "partition", "KeyRangeThroughput"),
    ("provisioned", "table", "ProvisionedThroughput"),
    ("max-on-demand", "max_on_demand", "MaxOnDemandThroughput"),
    ("account", "account", "AccountLimit"),
)
"""What the ids, a throttling reason (`*Exceeded`) and a metric (`*ThrottleEvents`) call each cause."""


STATED: Final[Mapping[tuple[Grade, Constraint], Rule]] = {
    ("reason", constraint): Rule(
        f"reason-{name}", constraint, "reason", f"The client got a `*{cause}Exceeded` reason."
    )
    for name, constraint, cause in _BY_CAUSE
} | {
    ("cause_metric", constraint): Rule(
        f"metric-{name}",
        constraint,
        "cause_metric",
        f"The client got no reason, and `*{cause}ThrottleEvents` is above zero.",
    )
    for name, constraint, cause in _BY_CAUSE
}
"""The rules of the two grades in which DynamoDB or CloudWatch names the cause."""

BY_SECONDS: Final = _rules(
    "inferred",
    ("seconds-too-few-units", "table",
     "Fewer units than one partition serves within a second, in any two seconds around the throttles."),
    ("seconds-below-provisioned", "partition",
     "The table gave less than is provisioned in each second around the throttles, or more was consumed "
     "later than came in: it was not empty."),
    ("seconds-burst-in-hand", "partition",
     "More than provisioned was consumed in the throttled seconds, and more was consumed later than came "
     "in: the burst was not spent."),
    ("seconds-at-provisioned", "table",
     "Just what is provisioned was consumed, second after second: no burst was granted."),
    ("seconds-burst-spent", "table",
     "Just what is provisioned was consumed in most throttled seconds, or the burst was spent even if all "
     "of it had been granted."),
    ("seconds-above-provisioned", "partition",
     "More than provisioned was consumed, nothing shows that the burst was spent, and few throttled "
     "seconds are at what is provisioned."),
    ("seconds-near-provisioned", "partition",
     "About what is provisioned was consumed, but in no throttled second just that."),
    ("seconds-others-even", "partition",
     "Less than provisioned was consumed, if other clients consumed evenly over the minute."),
    ("seconds-at-maximum", "max_on_demand",
     "At least 90 % of the on-demand maximum was consumed in the throttled seconds."),
    ("seconds-at-quota", "account",
     "Table and indexes consumed at least 90 % of the account's quota in the throttled seconds."),
    ("seconds-below-limits", "partition",
     "On-demand, throttled in seconds below the maximum and below the account's quota."),
)  # fmt: skip
"""From the client's seconds, where they hold most of what CloudWatch says was consumed."""

BY_MINUTES: Final = _rules(
    "inferred",
    ("minutes-too-few-units", "table",
     "Fewer units in the whole minute than one partition serves within a second."),
    ("minutes-in-chunks", "table",
     "So little is provisioned that the table is given its capacity and its burst in chunks, with pauses."),
    ("minutes-below-provisioned", "partition",
     "The minute's average is below provisioned, and more was consumed later than came in: the table was "
     "not empty."),
    ("minutes-burst-in-hand", "partition",
     "The minute's average is at provisioned or above, and more was consumed later than came in."),
    ("minutes-at-provisioned", "table",
     "The minute's average is what is provisioned, within 3 %: no burst was granted."),
    ("minutes-at-once", "table",
     "The minute's average is what is provisioned, within 3 %, but few throttled minutes are."),
    ("minutes-burst-spent", "table",
     "The burst ran out by estimate within the minute or before it, or other throttled minutes are at just "
     "what is provisioned."),
    ("minutes-burst-estimated", "partition",
     "The averages of two consecutive throttled minutes are above provisioned, with burst left by estimate."),
    ("minutes-below-estimated", "partition",
     "The minute's average is below half of what is provisioned, with burst in hand by estimate: only a "
     "short spike without burst could have met the table's limit."),
    ("minutes-near-provisioned", "partition", "The same of a minute above half of what is provisioned."),
)  # fmt: skip
"""From CloudWatch's minutes: consumed and provisioned units, throttle events."""

ON_DEMAND: Final = _rules(
    "inferred",
    ("on-demand-at-maximum", "max_on_demand",
     "At least 90 % of the on-demand maximum was consumed in a minute."),
    ("on-demand-small-maximum", "max_on_demand",
     "The maximum is below what one partition serves, so that no partition can be the limit."),
    ("on-demand-at-quota", "account",
     "Table and indexes consumed at least 90 % of the account's quota in a minute."),
    ("on-demand-near-quota", "account",
     "A partly loaded minute beside a throttled one at the account's quota."),
    ("on-demand-together", "account",
     "The table and an index throttled in one minute; short bursts may have reached their shared quota."),
    ("on-demand-below-limits", "partition",
     "An on-demand table or index throttled far below its maximum and the account's quota, or with fewer "
     "partitions than the quota takes."),
)  # fmt: skip
"""From CloudWatch's minutes of an on-demand table: consumed units, the maximum, the account's quota."""

CIRCUMSTANCES: Final = _rules(
    "inferred",
    ("table-scaled-down", "table", "The provisioned throughput was lowered below what the load takes."),
    ("auto-scaling-late", "table",
     "The provisioned throughput was raised only after the load was there: auto scaling takes minutes."),
    ("key-range-split", "partition",
     "The throttles ended by themselves, while as much was consumed afterwards: the partition was most "
     "likely split, and two serve its keys now."),
    ("key-range-split-seen", "partition",
     "The throttles ended with a split of a partition, which the table's stream shows."),
    (NOT_GROWN, "partition",
     "An on-demand table at 70 % or more of its warm throughput, and no key near a partition's ceiling: all "
     "partitions together are too few, since the table has not grown yet."),
)  # fmt: skip
"""What happened around a label that another rule made: constraint, grade and confidence stay."""

LACKING: Final = _rules(
    "none",
    ("no-capacity-model", "undetermined",
     "Nothing was throttled, and the endpoint has no capacity model: that says nothing about DynamoDB."),
    ("undetermined-no-consumed", "undetermined", "The consumed units of the throttled time are not known."),
    ("undetermined-no-provisioned", "undetermined",
     "What was provisioned when it throttled is not known."),
    (CHANGED, "undetermined",
     "The provisioned throughput changed within five minutes, and its two values fit to different limits."),
    (NEITHER, "undetermined",
     "Fewer units than one partition serves within a second, and fewer than the table is given in one: "
     "neither can have been at its limit by what is known."),
    (AT_CEILING, "undetermined",
     "Just what is provisioned was consumed, which is also what whole partitions serve, with burst left by "
     "estimate. More capacity helps either way."),
    (OTHERS_UNKNOWN, "undetermined",
     "Other clients consumed enough within the minute to make up for what the throttled seconds fall short."),
    (WEAK, "undetermined", "What was consumed leans to one limit, too weakly to name it."),
    (WHOSE, "undetermined",
     "The client or `ThrottledRequests` counts throttles where CloudWatch counts none on the table, or an "
     "index is at its limit and its throttle events are not known: an index, another service or another "
     "table may have refused."),
)  # fmt: skip
"""Throttles without a constraint; `because` says what is lacking."""

MEASURED: Final = tuple(rule.id for rule in (*BY_SECONDS, *BY_MINUTES, *ON_DEMAND))
"""The rules whose confidence is measured one by one."""

RULES: Final[Mapping[str, Rule]] = MappingProxyType(
    {
        rule.id: rule
        for rule in (*STATED.values(), *BY_SECONDS, *BY_MINUTES, *ON_DEMAND, *CIRCUMSTANCES, *LACKING)
    }
)
"""Every rule by its id, better grades first."""

DEFAULT = shipped("configs") / "thresholds.toml"
Share = Annotated[float, Field(ge=0, le=1)]


class NoiseThresholds(Part):
    """Below both numbers, throttles are a sprinkle and form no verdict."""

    throttles: Annotated[int, Field(ge=0)]
    share: Share


class Failures(Part):
    """Shares of attempts that failed before the table: to mention, and to call a second blind."""

    mention_share: Share
    blind_share: Share


class Spans(Part):
    """How throttled moments form spans."""

    gap_s: Annotated[float, Field(ge=0, le=86_400)]
    skew_s: Annotated[float, Field(ge=0, le=60)]


class Inferred(Part):
    """Consumed against provisioned: shares of the capacity, and least agreement."""

    at_provisioned_low: Annotated[float, Field(gt=0, le=1)]
    at_provisioned_high: Annotated[float, Field(ge=1, le=10)]
    burst_spent_share: Share
    at_limit: Annotated[float, Field(gt=0, le=1)]
    client_share: Share
    decide_at: Share
    warm_share: Share


class ConfidenceNumbers(Part):
    """Confidence of each grade, and factors for agreement and conflict."""

    reason: Share
    reason_confirmed: Share
    cause_metric: Share
    conflict: Share
    inferred_conflict: Share
    unreasoned: Share
    rules: dict[str, Share]

    @model_validator(mode="after")
    def _better_grades_are_surer(self) -> Self:
        if not self.reason_confirmed >= self.reason >= self.cause_metric:
            raise ValueError("confidence must not grow from reason_confirmed down to cause_metric")
        return self

    @field_validator("rules")
    @classmethod
    def _each_rule_once(cls, rules: dict[str, float]) -> dict[str, float]:
        unknown, lacking = sorted(rules.keys() - set(MEASURED)), sorted(set(MEASURED) - rules.keys())
        if unknown or lacking:
            problems = [f"unknown rules: {', '.join(unknown)}"] * bool(unknown)
            problems += [f"rules without a number: {', '.join(lacking)}"] * bool(lacking)
            raise ValueError("; ".join(problems))
        return rules


class Recommend(Part):
    """Margins of the recommendations."""

    shard_margin: Annotated[float, Field(ge=1, le=100)]
    target_utilisation: Annotated[float, Field(gt=0, le=1)]
    hot_share: Share


class Thresholds(Part):
    """Every number that labelling uses."""

    format: Literal["keyheat.thresholds/1"]
    noise: NoiseThresholds
    failures: Failures
    spans: Spans
    inferred: Inferred
    confidence: ConfidenceNumbers
    recommend: Recommend


def load_thresholds(path: Path = DEFAULT) -> Thresholds:
    """Load the thresholds. Raises `FileProblem` with every error as `message @ $.path`."""
    return checked_toml(path, Thresholds)
