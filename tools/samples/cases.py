"""Six stories that a run can tell, in numbers: what was asked for, what was admitted, and why."""

from collections.abc import Callable
from dataclasses import dataclass

from keyheat.runs.formats import Recommendation
from keyheat.words import Constraint, Grade

HOT = "customer-42"


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleCase:
    """One made-up run of writes of one unit each; rates are per second."""

    name: str
    question: str
    constraint: Constraint
    grade: Grade
    reason: str | None
    because: tuple[str, ...]
    demand_per_s: float
    provisioned: int
    hot_share: float  # of the demand, on the hottest key of the moment
    ceiling_per_s: float  # what is admitted once the burst is spent: of the hottest key, or of all keys
    hot_key_at: Callable[[int], str] = lambda second: HOT
    burst_s: int = 8
    burst_again_s: int | None = None  # the burst is there again every so often: at each new date
    limits_table: bool = False
    confidence: float = 0.98
    asked_per_s: float | None = None  # by the scenario, where the generator could not send it
    published: bool = True  # CloudWatch had points
    recommendations: tuple[Recommendation, ...] = ()
    expects: Constraint | None = None  # what the scenario said beforehand

    @property
    def generator_bound(self) -> bool:
        return self.asked_per_s is not None


def _recommend(action: str, kind: str, why: str, expected: str, **more: float) -> Recommendation:
    return Recommendation.model_validate(
        {"action": action, "kind": kind, "why": why, "expected": expected, **more}
    )


HOT_KEY = SampleCase(
    name="hotkey",
    question="One key takes 90 % of the writes: does its partition throttle while the table has room?",
    constraint="partition",
    expects="partition",
    grade="reason",
    reason="TableWriteKeyRangeThroughputExceeded",
    because=(
        "DynamoDB gave the reason TableWriteKeyRangeThroughputExceeded with every throttled answer.",
        "CloudWatch's WriteKeyRangeThroughputThrottleEvents agree within 1 %.",
        "The table consumed 1,200 of 4,000 provisioned WCU/s (30 %) while it throttled.",
    ),
    demand_per_s=2_000,
    provisioned=4_000,
    hot_share=0.9,
    ceiling_per_s=1_000,
    recommendations=(
        _recommend(
            "back_off", "mitigation",
            "Of 2,000 writes a second, 800 are refused.",
            "No request is lost in short peaks, but a steady 1,800 WCU/s to one key still throttles.",
        ),
        _recommend(
            "shard_writes", "cure",
            "One key was asked for 1,800 WCU/s, so it takes ceil(1.5 × 1,800 / 1,000) = 3 shards.",
            "Each of 3 keys then takes 600 WCU/s, and reading the whole collection costs 3 queries.",
            shards=3,
        ),
    ),
)  # fmt: skip

DATE_KEY = SampleCase(
    name="datekey",
    question="Today's date is the key: what happens to its partition, and what at midnight?",
    constraint="partition",
    grade="reason",
    reason="TableWriteKeyRangeThroughputExceeded",
    because=(
        "DynamoDB gave the reason TableWriteKeyRangeThroughputExceeded with every throttled answer.",
        "The hottest key changed with the date, and the throttles went with it.",
    ),
    demand_per_s=1_500,
    provisioned=4_000,
    hot_share=1.0,
    ceiling_per_s=1_000,
    hot_key_at=lambda second: f"2026-11-{20 + second // 30:02d}",
    burst_s=4,
    burst_again_s=30,
    recommendations=(
        _recommend(
            "shard_date_key", "cure",
            "The date of the day was asked for 1,500 WCU/s, and one partition sustains 1,000.",
            "Each of 3 keys then takes 500 WCU/s, and reading a day costs 3 queries.",
            shards=3,
        ),
    ),
)  # fmt: skip

SHARDED = SampleCase(
    name="sharded",
    question="The same demand with suffixes on the key: is it even now?",
    constraint="none",
    expects="none",
    grade="none",
    reason=None,
    because=(
        "The client recorded 240,000 attempts, none of them throttled.",
        "CloudWatch published no throttle events.",
    ),
    demand_per_s=2_000,
    provisioned=4_000,
    hot_share=0.05,
    ceiling_per_s=1_000,
    confidence=1.0,
)

TOO_SMALL = SampleCase(
    name="too-small",
    question="Keys are even, the table is small: what is it that throttles?",
    constraint="table",
    expects="partition",
    grade="reason",
    reason="TableWriteProvisionedThroughputExceeded",
    because=(
        "DynamoDB gave the reason TableWriteProvisionedThroughputExceeded with every throttled answer.",
        "The table consumed 300 of 300 provisioned WCU/s (100 %) once the burst was spent.",
    ),
    demand_per_s=800,
    provisioned=300,
    hot_share=0.002,
    ceiling_per_s=300,
    burst_s=25,
    limits_table=True,
    recommendations=(
        _recommend(
            "raise_capacity", "mitigation",
            "The client's demand was 830 WCU/s, and 300 WCU/s are provisioned for the table.",
            "The demand is then 86 % of 960 WCU/s, and UpdateTable takes effect within minutes.",
            units=960,
        ),
    ),
)  # fmt: skip

GENERATOR_BOUND = SampleCase(
    name="generator-bound",
    question="5,000 writes a second: does the table take them?",
    constraint="none",
    expects="none",
    grade="none",
    reason=None,
    because=("The generator sent 2,100 of 5,000 requests/s of demand.",),
    demand_per_s=2_100,
    provisioned=8_000,
    hot_share=0.01,
    ceiling_per_s=1_000,
    asked_per_s=5_000,
    confidence=0.2,
)

UNDETERMINED = SampleCase(
    name="undetermined",
    question="An endpoint that gives no reasons, and no CloudWatch: what can be said?",
    constraint="undetermined",
    grade="none",
    reason=None,
    because=(
        "The endpoint gave no reasons.",
        "There are no CloudWatch minutes to hold the throttles against.",
    ),
    demand_per_s=900,
    provisioned=1_000,
    hot_share=0.4,
    ceiling_per_s=300,
    confidence=0.3,
    published=False,
)

CASES = (HOT_KEY, DATE_KEY, SHARDED, TOO_SMALL, GENERATOR_BOUND, UNDETERMINED)
