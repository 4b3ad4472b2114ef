"""Diagnoses and advice by the shipped numbers."""

from typing import Any

from keyheat.analysis.advice.case import AdviceCase
from keyheat.analysis.advice.demand import MeasuredDemand
from keyheat.analysis.advice.rerun import MOST_S
from keyheat.analysis.diagnosis import diagnose
from keyheat.analysis.rules import load_thresholds
from keyheat.runs.client import ClientFiles
from keyheat.runs.formats import Diagnosis, Evidence

NUMBERS = load_thresholds()
"""The labelling numbers that ship."""


def diagnosed(found: Evidence, client: ClientFiles | None = None, *, simulate: bool = False) -> Diagnosis:
    """The diagnosis of evidence beside what a client left; advice is by formula unless it is simulated."""
    replay_s = MOST_S if simulate else 0
    return diagnose(found, client=client, thresholds=NUMBERS, scenario=None, replay_s=replay_s)


def advice_case(**facts: Any) -> AdviceCase:
    """What advice is given of: a hot partition of a table, unless `facts` say otherwise."""
    known: dict[str, Any] = {
        "constraint": "partition", "resource": "table", "direction": "write", "rule": "reason-key-range",
        "demand": MeasuredDemand(2_000), "limit": None, "warm": 4_000, "heat": None,
        "ceiling": 1_000, "quota": 40_000,
    }  # fmt: skip
    return AdviceCase(**known | facts, numbers=NUMBERS.recommend)
