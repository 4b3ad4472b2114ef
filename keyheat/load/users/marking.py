"""Items on a table of somebody else's: each says which run wrote it, and none of theirs is overwritten.

Keys of a run begin with its prefix, so a write meets no item but one of the run's own. That is certain for
text and bytes; for numbers see `users.keyvalues`. Writes have no condition therefore: a batch can
have none, and every key of a run is found by nobody else.
"""

from collections.abc import Mapping
from typing import Any

RUN_ATTRIBUTE = "keyheat_run"


def prefix_of(run_id: str) -> str:
    """What the partition keys of a run begin with, on a table that no run of ours created."""
    return f"keyheat-{run_id}-"


def marked(update: Mapping[str, Any], run_id: str | None) -> dict[str, Any]:
    """An UpdateItem that marks the item as the run's as well; as it is where `run_id` is None."""
    if run_id is None:
        return dict(update)
    expression, names = update["UpdateExpression"], update.get("ExpressionAttributeNames", {})
    mark = "SET #keyheat_run = :keyheat_run"
    rest = f", {expression[4:]}" if expression.startswith("SET ") else f" {expression}"
    return {
        **update,
        "UpdateExpression": mark + rest,
        "ExpressionAttributeNames": {**names, "#keyheat_run": RUN_ATTRIBUTE},
        "ExpressionAttributeValues": {**update["ExpressionAttributeValues"], ":keyheat_run": {"S": run_id}},
    }
