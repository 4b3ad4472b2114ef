"""What a run at an endpoint can prove: only AWS and the local table limit capacity as DynamoDB does."""

from typing import Final

from keyheat.runs.formats import Evidence, Verdict
from keyheat.words import has_capacity_model

NO_CAPACITY_MODEL: Final = "no-capacity-model"
NO_MODEL: Final = (
    "This endpoint has no capacity model: that nothing was throttled says nothing about DynamoDB."
)
FOREIGN: Final = (
    "Only DynamoDB in AWS and Keyheat's local table are known to limit capacity; this endpoint is neither."
)
FOREIGN_UNITS: Final = (
    "The consumed capacity that this endpoint reports may not be DynamoDB's: units, shares and costs of this "
    "run are unreliable, and utilisation is not judged."
)


def without_a_model(evidence: Evidence, client: str | None) -> Verdict | None:
    """The verdict of a run without throttles at an endpoint without a capacity model; else None.

    `client`: a sentence about the client's attempts.
    """
    if has_capacity_model(evidence.endpoint):
        return None
    return Verdict(
        constraint="undetermined",
        grade="none",
        confidence=0,
        valid=False,
        because=(FOREIGN, client) if client else (FOREIGN,),
        rule=NO_CAPACITY_MODEL,
    )
