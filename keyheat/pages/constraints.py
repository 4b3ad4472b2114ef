"""What a throttle is put down to: reasons and metrics as constraints, and the words for them."""

from collections.abc import Iterable
from typing import get_args

from keyheat.analysis.endpoint import NO_CAPACITY_MODEL, NOT_KNOWN
from keyheat.runs.formats import Diagnosis, Label
from keyheat.words import Constraint, Resource, whose

SHOWN: tuple[Constraint, ...] = ("partition", "table", "max_on_demand", "account", "undetermined")

NAMES: dict[Constraint, str] = {
    "partition": "Partition limit",
    "table": "Table capacity",
    "max_on_demand": "On-demand maximum",
    "account": "Account limit",
    "undetermined": "Undetermined",
    "none": "No throttles",
}
SHORT: dict[str | None, str] = {
    NO_CAPACITY_MODEL: "No capacity model",
    NOT_KNOWN: "Capacity model not known",
}
"""Verdicts that rest on the endpoint alone, by rule."""
MEANINGS: dict[Constraint, str] = {
    "partition": "one key range was asked for more than a partition admits, whatever the table has left",
    "table": "the table or index as a whole was asked for more than it is provisioned for",
    "max_on_demand": "the table's own on-demand maximum was reached",
    "account": "the account's limit for one table was reached",
    "undetermined": "there were throttles, and the evidence does not say which limit they met",
    "none": "nothing was throttled",
}

LIMITS: dict[Constraint, str] = {
    "partition": "one partition",
    "table": "the provisioned capacity",
    "max_on_demand": "the on-demand maximum",
    "account": "the account's quota for one table",
    "undetermined": "a limit that the evidence does not tell",
    "none": "no limit",
}
"""What throttled, as the subject of a sentence."""

assert set(get_args(Constraint)) == set(NAMES) == set(LIMITS)


def limit_of(constraint: Constraint, resource: str | None) -> str:
    """A limit with whose it is: `one partition of index by-country`."""
    limit = LIMITS[constraint]
    return limit if constraint == "account" else f"{limit} of {whose(resource)}"


def labels_of(diagnosis: Diagnosis, resource: Resource) -> list[Label]:
    """The labels of one resource in one direction, in order of time."""
    mine = [
        label
        for label in diagnosis.labels
        if (label.resource, label.direction) == (resource.label_name, resource.direction)
    ]
    return sorted(mine, key=lambda label: label.start)


def labelled_at(labels: Iterable[Label], epoch_s: float) -> Constraint:
    """What throttles without a reason are put down to at a moment: the label of that span."""
    for label in labels:
        if label.start.timestamp() <= epoch_s < label.end.timestamp() and label.constraint != "none":
            return label.constraint
    return "undetermined"
