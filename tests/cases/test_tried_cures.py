"""Cures of a table that others load: their number is tried on a replay of the demand."""

from pathlib import Path

import pytest

from keyheat.analysis.advice.rerun import MOST_S
from keyheat.analysis.diagnosis import diagnosed
from keyheat.analysis.table_diagnosis import diagnosed_alone
from keyheat.plan.prices import Billing, load_prices
from keyheat.runs.plausibility import read_evidence
from keyheat.show.advice import cure_of

EVIDENCE = Path(__file__).parent / "hot-key-of-1620.json"


@pytest.mark.slow
def test_the_shards_of_a_diagnosis_are_those_that_a_replay_needs() -> None:
    """3 by formula leave 4 % throttled: two of them meet in one partition."""
    evidence = read_evidence(EVIDENCE)
    assert cure_of(diagnosed(evidence, replay_s=0)) == "shard the hot key (3 shards)"
    found = diagnosed_alone(evidence, "eu-central-1", Billing(load_prices())).run.diagnosis
    assert cure_of(found) == cure_of(diagnosed(evidence, replay_s=MOST_S)) == "shard the hot key (4 shards)"
