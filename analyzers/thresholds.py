"""The labelling numbers of configs/thresholds.toml as a frozen value, checked once, all mistakes at once."""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from tablemodel.checked import checked_toml

DEFAULT = Path(__file__).parents[1] / "configs" / "thresholds.toml"
Share = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Noise(_Part):
    """Below both numbers, throttles are a sprinkle and make no verdict."""

    throttles: Annotated[int, Field(ge=0)]
    share: Share


class Failures(_Part):
    """Shares of attempts that failed for another reason than a throttle: worth saying, and too many."""

    mention_share: Share
    invalid_share: Share


class Spans(_Part):
    """How throttled moments become spans."""

    gap_s: Annotated[float, Field(ge=0, le=86_400)]
    skew_s: Annotated[float, Field(ge=0, le=60)]


class Inferred(_Part):
    """Consumed against provisioned: shares of the capacity, and how much must agree."""

    at_provisioned_low: Annotated[float, Field(gt=0, le=1)]
    at_provisioned_high: Annotated[float, Field(ge=1, le=10)]
    burst_spent_share: Share
    at_limit: Annotated[float, Field(gt=0, le=1)]
    smoothing_s: Annotated[int, Field(ge=1, le=60)]
    client_share: Share
    majority: Annotated[float, Field(gt=0.5, le=1)]
    decide_at: Share
    warm_share: Share


class ConfidenceNumbers(_Part):
    """Confidence of each grade, and factors for agreement and conflict."""

    reason: Share
    reason_confirmed: Share
    cause_metric: Share
    seconds: Share
    minutes: Share
    conflict: Share
    inferred_conflict: Share
    unreasoned: Share

    @model_validator(mode="after")
    def _better_grades_are_surer(self) -> Self:
        if not self.reason_confirmed >= self.reason >= self.cause_metric >= self.seconds >= self.minutes:
            raise ValueError("confidence must not grow from reason_confirmed down to minutes")
        return self


class Recommend(_Part):
    """Margins of the recommendations."""

    shard_margin: Annotated[float, Field(ge=1, le=100)]
    target_utilisation: Annotated[float, Field(gt=0, le=1)]
    hot_share: Share


class Thresholds(_Part):
    """Every number that the labelling rests on."""

    format: Literal["keyheat.thresholds/1"]
    noise: Noise
    failures: Failures
    spans: Spans
    inferred: Inferred
    confidence: ConfidenceNumbers
    recommend: Recommend


def load_thresholds(path: Path = DEFAULT) -> Thresholds:
    """The labelling numbers. Raises `FileProblem` with every mistake as `message @ $.path`."""
    return checked_toml(path, Thresholds)
