"""What every part of a scenario file is made of: frozen, no unknown field, and the kinds of values."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

NAME, TABLE, FILE, DAY = (
    r"^[a-z0-9][a-z0-9-]*$", r"^[a-zA-Z0-9_.-]{3,255}$", r"^([a-z][a-z0-9_]*|.+\.py)$",
    r"^\d{4}-\d{2}-\d{2}$",
)  # fmt: skip
KEY_PREFIX = r"^[A-Za-z0-9_.:/-]{1,40}$"
IN_WORDS = {
    NAME: "lower-case letters, digits and hyphens",
    TABLE: "3 to 255 letters, digits, underscores, dots and hyphens",
    FILE: "the name of a file in loadtests/, without .py, or the path of a Locust file, such as ./mine.py",
    DAY: "a date such as 2026-11-20",
    KEY_PREFIX: "1 to 40 letters, digits and any of _ . : / -",
}
Name = Annotated[str, Field(pattern=NAME, max_length=60)]
TableName = Annotated[str, Field(pattern=TABLE)]
AttributeName = Annotated[str, Field(min_length=1, max_length=255)]
Units = Annotated[int, Field(ge=1, le=10_000_000)]
Share = Annotated[float, Field(ge=0.0, le=1.0)]
Rate = Annotated[float, Field(gt=0, le=10_000_000)]
Seconds = Annotated[float, Field(gt=0, le=7 * 86_400)]


class Part(BaseModel):
    """One part of a scenario file."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
