"""Which limit a refused write ran into."""

from itertools import product

import pytest

from keyheat.sharding.client import SPELLINGS, Limit, throttle_of
from tests.sharding.memory import PARTITION, TABLE, client_error, throttled

INDEX = "IndexWriteKeyRangeThroughputExceeded"
SAYS = {
    (PARTITION,): Limit.PARTITION,
    (TABLE,): Limit.TABLE,
    ("TableWriteAccountLimitExceeded",): Limit.TABLE,
    ("TableWriteMaxOnDemandThroughputExceeded",): Limit.TABLE,
    (INDEX,): Limit.INDEX,
    ("IndexWriteProvisionedThroughputExceeded",): Limit.INDEX,
    (PARTITION, TABLE): Limit.TABLE,
    (PARTITION, INDEX): Limit.INDEX,
    ("TableReadKeyRangeThroughputExceeded",): Limit.UNKNOWN,
    ("SomethingNew",): Limit.UNKNOWN,
    (): Limit.UNKNOWN,
}


@pytest.mark.parametrize(("reasons", "spelt"), list(product(SAYS, SPELLINGS)))
def test_a_limit_is_told_by_the_reasons(reasons: tuple[str, ...], spelt: str) -> None:
    throttle = throttle_of(throttled(*reasons, spelt=spelt).response)
    assert throttle is not None
    assert throttle.limit is SAYS[reasons]


@pytest.mark.parametrize("code", ["ConditionalCheckFailedException", "ValidationException"])
def test_other_errors_are_no_throttles(code: str) -> None:
    assert throttle_of(client_error(code).response) is None
