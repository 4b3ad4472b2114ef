"""What each partition of a local table served and refused, as the endpoint tells it when a run is over.

DynamoDB itself tells nobody: on AWS there is no such record.
"""

import json
from http.client import HTTPException
from typing import Final
from urllib.parse import quote
from urllib.request import urlopen

import pyarrow as pa

from generator.transport.target import Target
from tablemodel.partition_file import known_of, partitions_table

TOLD_WITHIN_S: Final = 30.0


class NotTold(Exception):
    """The endpoint gave no record of its partitions; the message says why."""


def partitions_of(target: Target, table: str, start_s: float, end_s: float) -> pa.Table:
    """The rows of `partitions.parquet`, from `start_s` to `end_s`. Raises `NotTold`."""
    try:
        with urlopen(
            f"{target.url}/_keyheat/partitions?table={quote(table)}", timeout=TOLD_WITHIN_S
        ) as answer:
            said = json.load(answer)
        return partitions_table(known_of(said), start_s, end_s)
    except (OSError, HTTPException) as problem:
        raise NotTold(f"the endpoint did not answer: {problem}") from problem
    except (ValueError, KeyError, TypeError) as problem:
        raise NotTold(f"the endpoint answered something else: {problem!r}") from problem
