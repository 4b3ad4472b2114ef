"""The types of `import keyheat`: a module that is one file cannot carry a py.typed of its own."""

from collections.abc import Sequence

import click

from assertions import CheckFailed as CheckFailed
from assertions import LocalDynamoDB as LocalDynamoDB
from assertions import assert_headroom as assert_headroom
from assertions import assert_label as assert_label
from assertions import assert_no_hot_partition as assert_no_hot_partition
from assertions import assert_no_throttles as assert_no_throttles
from assertions import assert_shards_suffice as assert_shards_suffice
from assertions import assert_units_per_operation as assert_units_per_operation

cli: click.Group

def main(arguments: Sequence[str] | None = None) -> int: ...
