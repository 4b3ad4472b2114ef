"""The thresholds of configs/thresholds.toml as a frozen value; all errors are reported at once."""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from keyheat.analysis.rules import MEASURED
from keyheat.shipped import shipped
from keyheat.validation import Part, checked_toml

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
