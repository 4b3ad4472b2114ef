"""What each partition of a local table served and refused, as the endpoint tells it when a run is over.

DynamoDB itself tells nobody: on AWS there is no such record.
"""

import json
from http.client import HTTPException
from typing import Final
from urllib.parse import quote

import pyarrow as pa

from keyheat.load.transport.target import Target, page_of
from keyheat.runs.partitions import known_of, partitions_table

TOLD_WITHIN_S: Final = 30.0
TOLD_BYTES: Final = 2**28


class NotTold(Exception):
    """The endpoint gave no record of its partitions; the message says why."""


def partitions_of(target: Target, table: str, start_s: float, end_s: float) -> pa.Table:
    """The rows of `partitions.parquet`, from `start_s` to `end_s`. Raises `NotTold`."""
    try:
        page = f"/_keyheat/partitions?table={quote(table)}"
        said = json.loads(page_of(target, page, within_s=TOLD_WITHIN_S, most_bytes=TOLD_BYTES))
        return partitions_table(known_of(said), start_s, end_s)
    except (OSError, HTTPException) as problem:
        raise NotTold(f"the endpoint did not answer: {problem}") from problem
    except (ValueError, KeyError, TypeError) as problem:
        raise NotTold(f"the endpoint answered something else: {problem!r}") from problem
