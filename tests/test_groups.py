"""Tests that share a costly fixture are one group, so that it is made once and not by each process."""

import pytest


@pytest.mark.xdist_group("grouped")
def test_a_group_is_heeded(request: pytest.FixtureRequest) -> None:
    if not hasattr(request.config, "workerinput"):
        pytest.skip("there is one process")
    assert request.node.nodeid.endswith("@grouped")
