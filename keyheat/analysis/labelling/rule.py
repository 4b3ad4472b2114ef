"""One rule that a label can rest on, and the words that rules of one constraint share."""

from dataclasses import dataclass
from typing import Final

from keyheat.words import Constraint, Grade


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

_HELP: Final[dict[Constraint, tuple[str, str, str]]] = {
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
    usual = _HELP[constraint]
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
