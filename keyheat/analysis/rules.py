"""Every rule that a label can rest on: when it fires, what it rests on, what it means, and what helps.

The ids are stable: a label names the rule that decided it, and docs and reports go by them. Which rule is
right of a moment is decided in `analyzers/partition_or_table`; how sure each is was measured, and stands in
configs/thresholds.toml.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from keyheat.words import Constraint, Grade

NOT_GROWN: Final = "on-demand-not-grown"
WHOSE: Final = "undetermined-resource"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule, in words that end in full stops."""

    id: str
    constraint: Constraint
    grade: Grade
    trigger: str  # when it fires
    evidence: str  # what it rests on
    meaning: str
    mitigation: str  # what helps now
    cure: str  # what lasts


REASONS = "The `ThrottlingReasons` of the exceptions that the client got, counted."
CAUSES = "The sum of the cause-specific CloudWatch metric, by minute."
SECONDS = "The client's seconds, where they hold most of what CloudWatch says was consumed."
MINUTES = "CloudWatch's minutes: consumed units, provisioned units, throttle events."
LIMITS_SET = "Consumed units, the maximum that is set, and the account's quota."

PARTITION = "One key range is at its ceiling, while the resource as a whole may have room."
TABLE = "The throughput provisioned for the whole table, or for the whole index, is used up."
MAXIMUM = "The maximum that the owner set for on-demand requests is reached."
QUOTA = "What the account allows one table with its indexes is used up."

RETRY = "Retry with jitter, or queue."
SPREAD = "Spread the keys: shard the hot one, or choose a key with more values. More capacity does not help."
RAISE = "Raise the provisioned capacity."
SCALE = "Auto scaling with a lower target or a higher minimum, or on-demand mode."
RAISE_MAXIMUM = "Raise or remove the maximum."
RAISE_QUOTA = "Ask for a higher quota, or spread the load over more tables."
COLLECT = "Collect the evidence that the label asks for."
WITH_REASONS = "Keep the `ThrottlingReasons` of exceptions, or collect the cause-specific metrics."

HELP: Final[dict[Constraint, tuple[str, str, str]]] = {
    "partition": (PARTITION, RETRY, SPREAD),
    "table": (TABLE, RAISE, SCALE),
    "max_on_demand": (MAXIMUM, RETRY, RAISE_MAXIMUM),
    "account": (QUOTA, RETRY, RAISE_QUOTA),
    "undetermined": (
        "There were throttles, and the evidence does not decide why.", COLLECT, WITH_REASONS,
    ),
}  # fmt: skip


def a_rule(
    id: str, constraint: Constraint, grade: Grade, trigger: str, evidence: str, *, meaning: str = "",
    mitigation: str = "", cure: str = "",
) -> Rule:  # fmt: skip
    """A rule with the help for its constraint, where it has no words of its own."""
    usual = HELP[constraint]
    return Rule(
        id=id,
        constraint=constraint,
        grade=grade,
        trigger=trigger,
        evidence=evidence,
        meaning=meaning or usual[0],
        mitigation=mitigation or usual[1],
        cure=cure or usual[2],
    )


def _inferred(evidence: str, *rows: tuple[str, Constraint, str]) -> tuple[Rule, ...]:
    """Rules that rest on the same evidence, each by its id, its constraint, and when it fires."""
    return tuple(a_rule(id, constraint, "inferred", trigger, evidence) for id, constraint, trigger in rows)


_BY_CAUSE: Final[tuple[tuple[str, Constraint, str], ...]] = (
    ("key-range", "partition", "KeyRangeThroughput"),
    ("provisioned", "table", "ProvisionedThroughput"),
    ("max-on-demand", "max_on_demand", "MaxOnDemandThroughput"),
    ("account", "account", "AccountLimit"),
)
"""What the ids, a throttling reason (`*Exceeded`) and a metric (`*ThrottleEvents`) call each cause."""


def _stated() -> Iterator[Rule]:
    """The rules of the two grades in which DynamoDB or CloudWatch names the cause."""
    for name, constraint, cause in _BY_CAUSE:
        trigger = f"The client got a `*{cause}Exceeded` reason."
        yield a_rule(f"reason-{name}", constraint, "reason", trigger, REASONS)
    for name, constraint, cause in _BY_CAUSE:
        trigger = f"No reason is known of that time; `*{cause}ThrottleEvents` is above zero."
        yield a_rule(f"metric-{name}", constraint, "cause_metric", trigger, CAUSES)


STATED: Final = tuple(_stated())

BY_SECONDS: Final = _inferred(
    SECONDS,
    ("seconds-too-few-units", "table",
     "Fewer units than one partition serves within a second, in any two seconds around the throttled."),
    ("seconds-below-provisioned", "partition",
     "The table gave less than comes in, in each second around the throttled ones, or more was spent later "
     "than came in: it was not empty."),
    ("seconds-burst-in-hand", "partition",
     "More than provisioned was consumed in the throttled seconds, and more was spent later than came in: "
     "the burst was not spent."),
    ("seconds-at-provisioned", "table",
     "Just what is provisioned was consumed, second after second: no burst came, whatever was saved."),
    ("seconds-at-ceiling", "partition",
     "Just what is provisioned was consumed, which is what whole partitions serve, too; by estimate there "
     "was burst left."),
    ("seconds-burst-spent", "table",
     "Other than what is provisioned was consumed, but in most throttled seconds just that; or the burst "
     "was spent even if all of it had been granted."),
    ("seconds-above-provisioned", "partition",
     "More than provisioned was consumed, nothing shows that the burst was spent, and few throttled "
     "seconds are at what is provisioned."),
    ("seconds-near-provisioned", "partition",
     "About what is provisioned was consumed, but in no throttled second just that."),
    ("seconds-at-with-others", "table",
     "Just what is provisioned was consumed in the mean, with what others consumed in the minute."),
    ("seconds-others-even", "partition",
     "Less than provisioned was consumed, if others consumed theirs evenly over the minute."),
    ("seconds-others-unknown", "table",
     "Others consumed enough in the minute to make up for what the throttled seconds fall short."),
    ("seconds-at-maximum", "max_on_demand",
     "At least 90 % of the on-demand maximum was consumed in the throttled seconds."),
    ("seconds-at-quota", "account",
     "Table and indexes consumed at least 90 % of the account's quota in the throttled seconds."),
    ("seconds-below-limits", "partition",
     "On-demand, throttled in seconds below the maximum and below the account's quota."),
    ("seconds-limits-unknown", "partition",
     "The same, where others consumed enough in the minute to make up for what the seconds fall short."),
)  # fmt: skip

BY_MINUTES: Final = _inferred(
    MINUTES,
    ("minutes-too-few-units", "table",
     "Fewer units in the whole minute than one partition serves within a second."),
    ("minutes-in-chunks", "table",
     "So little is provisioned that the table is given its capacity and its burst in chunks, with pauses."),
    ("minutes-below-provisioned", "partition",
     "A minute's average is below provisioned, and more was spent later than came in: the table was not "
     "empty."),
    ("minutes-burst-in-hand", "partition",
     "A minute's average is at provisioned or above, and more was spent later than came in."),
    ("minutes-at-provisioned", "table",
     "A minute's average is what is provisioned, within 3 %: no burst came, whatever was saved."),
    ("minutes-at-once", "table",
     "A minute's average is what is provisioned, within 3 %, but few throttled minutes are: perhaps by "
     "chance."),
    ("minutes-at-ceiling", "partition",
     "A minute's average is what is provisioned, and what whole partitions serve, with burst by estimate."),
    ("minutes-burst-running-out", "partition",
     "A minute's average is above provisioned, and whether the burst ran out is not known."),
    ("minutes-burst-spent", "table",
     "The burst ran out by estimate within the minute or before it, or other throttled minutes are at just "
     "what is provisioned."),
    ("minutes-burst-estimated", "partition",
     "The averages of two throttled minutes on end are above provisioned, with burst left by estimate."),
    ("minutes-partly-loaded", "table",
     "A minute's average is below provisioned, and other throttled minutes are at just that."),
    ("minutes-below-estimated", "partition",
     "A minute's average is below half of what is provisioned, with burst in hand by estimate: only a "
     "short spike that was given none could have met the table's limit."),
    ("minutes-near-provisioned", "partition", "The same of a minute above half of what is provisioned."),
    ("minutes-small-table", "table",
     "A minute's average is below half of what is provisioned, which is less than one partition serves."),
    ("minutes-small-table-near", "table", "The same of a minute above half of what is provisioned."),
)  # fmt: skip

ON_DEMAND: Final = _inferred(
    LIMITS_SET,
    ("on-demand-at-maximum", "max_on_demand",
     "At least 90 % of the on-demand maximum was consumed in a minute."),
    ("on-demand-small-maximum", "max_on_demand",
     "The maximum is below what one partition serves, so that no partition can be the limit."),
    ("on-demand-at-quota", "account",
     "Table and indexes consumed at least 90 % of the account's quota in a minute."),
    ("on-demand-near-maximum", "max_on_demand",
     "A partly loaded minute beside a throttled one at the maximum."),
    ("on-demand-near-quota", "account",
     "A partly loaded minute beside a throttled one at the account's quota."),
    ("on-demand-together", "account",
     "The table and an index throttled in one minute; short bursts may have reached their shared quota."),
    ("on-demand-below-maximum", "partition",
     "Throttled below the maximum on average, where a short burst may have reached it."),
    ("on-demand-below-quota", "partition",
     "Throttled below the quota on average, where a short burst may have reached it."),
    ("on-demand-below-limits", "partition",
     "An on-demand table or index throttled far below its maximum and the account's quota, or with fewer "
     "partitions than the quota takes."),
)  # fmt: skip

CIRCUMSTANCES: Final = (
    a_rule(
        "table-scaled-down", "table", "inferred",
        "A `table` label after the provisioned throughput was lowered within the window.",
        "Provisioned throughput over time, beside the evidence of the label.",
        meaning="The capacity was lowered below what the load takes.",
        cure="A higher minimum for auto scaling, or a slower scale-in.",
    ),
    a_rule(
        "auto-scaling-late", "table", "inferred",
        "A `table` label during which, or soon after which, the provisioned throughput was raised.",
        "Provisioned throughput over time, beside the evidence of the label.",
        meaning="The capacity was raised, but only after the load was there: auto scaling takes minutes.",
        mitigation="Raise the minimum before a peak that is known.",
        cure="A lower target, scheduled scaling, or on-demand mode.",
    ),
    a_rule(
        "key-range-split", "partition", "inferred",
        "A `partition` label that ended by itself after minutes, while as much was consumed afterwards.",
        "Consumption after the last throttle, beside the evidence of the label.",
        meaning="The partition was most likely split: its keys are served by two now.",
        mitigation="Nothing: it is over.",
        cure="Spread the keys, or ramp up and pre-warm before the next peak.",
    ),
    a_rule(
        "key-range-split-seen", "partition", "inferred",
        "A `partition` label of the table that ended with a split of a partition, which its stream shows, "
        "while as much was consumed afterwards.",
        "The shards of the table's stream, beside the evidence of the label: one closed, and two follow it.",
        meaning="The partition was split: its keys are served by two now.",
        mitigation="Nothing: it is over.",
        cure="Spread the keys, or ramp up and pre-warm before the next peak.",
    ),
    a_rule(
        NOT_GROWN, "partition", "inferred",
        "A `partition` label of an on-demand table at 70 % or more of its warm throughput, no key near a "
        "partition's ceiling.", "Warm throughput, and the hottest keys.",
        meaning="The keys are even, and all partitions together are too few: the table has not grown yet.",
        mitigation="Ramp the load up.", cure="Pre-warm the table.",
    ),
)  # fmt: skip
"""What happened around a label that another rule made."""

LACKING: Final = (
    a_rule(
        "no-capacity-model", "undetermined", "none",
        "Nothing was throttled, and the endpoint is neither DynamoDB in AWS nor Keyheat's local table.",
        "Whose endpoint it is.",
        meaning="The endpoint has no capacity model: that nothing was throttled says nothing about DynamoDB.",
        mitigation="Run the same scenario on the local table (`--target local`), or in AWS.",
        cure="Use the endpoint to see whether requests are valid, and nothing more.",
    ),
    a_rule(
        "undetermined-no-consumed", "undetermined", "none",
        "Throttled, and the consumed units of that time are not known.", "Throttle events alone.",
        cure="Collect `Consumed*CapacityUnits` of the table and of each index.",
    ),
    a_rule(
        "undetermined-no-provisioned", "undetermined", "none",
        "Throttled, and what was provisioned then is not known.", "Throttle events and consumed units.",
        cure="Collect `Provisioned*CapacityUnits`, and describe the table.",
    ),
    a_rule(
        "undetermined-capacity-changed", "undetermined", "none",
        "What was provisioned changed within five minutes, and both values fit to another limit.", MINUTES,
    ),
    a_rule(
        "undetermined-neither", "undetermined", "none",
        "Fewer units than one partition serves within a second, and fewer than the table is given in one: "
        "neither can have been at its limit by what is known.",
        "What was consumed, and what is provisioned.",
        cure="Look for what is not in the evidence: an index, other counters, a wrong figure of what is "
        "provisioned; and collect the metrics by cause.",
    ),
    a_rule(
        WHOSE, "undetermined", "none",
        "The client or `ThrottledRequests` counts throttles where CloudWatch counts no throttle event on the "
        "table; or an index is at its limit, and its throttle events are not known.",
        "The client's throttles, `ThrottledRequests`, and the throttle events of the table and its indexes.",
        meaning="Whose throttles these are is not known: an index's, another service's, or another table's.",
        cure="Collect the throttle events of each index, and log the service and table of each exception.",
    ),
)  # fmt: skip


LEANING: Final = "undetermined-"
"""Before the id of a rule that fired without being sure enough."""


def _leaning(rule: Rule) -> Rule:
    """The same rule where it is too weak to decide."""
    trigger = f"As `{rule.id}`, but with what is known it is not sure enough to say so."
    return a_rule(f"{LEANING}{rule.id}", "undetermined", "none", trigger, rule.evidence)


MEASURED_RULES: Final = (*BY_SECONDS, *BY_MINUTES, *ON_DEMAND)
MEASURED: Final = tuple(rule.id for rule in MEASURED_RULES)
"""The rules whose confidence is measured one by one."""

RULES: Final[Mapping[str, Rule]] = MappingProxyType(
    {
        rule.id: rule
        for rule in (*STATED, *MEASURED_RULES, *CIRCUMSTANCES, *LACKING, *map(_leaning, MEASURED_RULES))
    }
)
"""Every rule by its id, better grades first."""
