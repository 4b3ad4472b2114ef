"""The verdict over a session: what makes an answer worthless weighs more than the answer."""

import pytest

from keyheat.regression.outcome import CaseMade, Gate
from keyheat.regression.verdict import doubts_of, verdict_of
from tests.regression.outcomes import HELD, LOST, OTHER, UNDECIDED, a_case, a_finding, a_run

RUN = a_run("hotkey", 1)
INVALID = a_run("hotkey", 2, valid=False, problem="the load generator was the limit.")
BROKEN = a_run("hotkey", 3, broken=("p99_ms: 12 ms, allowed 5 ms",))
BEFORE = a_run("hotkey", 1, "before", broken=("p99_ms: 12 ms, allowed 5 ms",))
WORSE = a_finding()
OUTGROWN = a_finding(gate=Gate(measure="capacity_used.write"), before=0.62, after=1.14)
CLOSER = a_finding(gate=Gate(measure="capacity_used.read"), before=0.4, after=0.8)
OF_WRITES = "writes of the table at 114 % of their maximum (was 62 %)."
OF_READS = "reads of the table at 80 % of their maximum (was 40 %)."
MORE = a_finding(gate=Gate(measure="throttle_share"), before=0.2, after=0.4)
STILL = a_finding("same", gate=Gate(measure="index_capacity_used.read"), before=1.2, after=1.2)


@pytest.mark.parametrize(
    ("runs", "findings", "more", "verdict", "says"),
    [
        ([RUN], [HELD], {}, "good", None),
        ([RUN], [HELD], {"compared": False}, "baseline", "Later sessions"),
        ([RUN], [HELD, WORSE], {}, "regressed", "hotkey fails 1 gate: accepted writes: 1,000 units/s, now"),
        ([RUN], [LOST, WORSE], {}, "regressed", "hotkey fails 2 gates, by "),
        ([RUN], [MORE], {}, "regressed", "hotkey now throttles 40 % of its attempts (was 20 %)"),
        ([RUN], [STILL, OUTGROWN], {}, "regressed", f"hotkey now runs on burst capacity: {OF_WRITES}"),
        ([RUN], [CLOSER], {}, "regressed", f"hotkey now uses more of its capacity: {OF_READS}"),
        ([RUN, BROKEN], [HELD], {}, "regressed", "hotkey, repetition 3: p99_ms: 12 ms, allowed 5 ms."),
        ([RUN, BROKEN], [], {"compared": False}, "regressed", "repetition 3: p99_ms"),
        ([RUN, INVALID], [HELD], {}, "invalid", "repetition 2 is invalid: the load gen"),
        ([RUN, INVALID], [WORSE], {}, "invalid", "fails 1 gate"),
        ([RUN], [], {"forbidden": [OTHER]}, "invalid", "1 thing differs"),
        ([RUN], [WORSE], {"forbidden": [OTHER]}, "invalid", "--force compares anyway"),
        ([RUN], [UNDECIDED], {}, "good", "1 gate could not have seen a regression"),
        ([RUN], [HELD], {"new_cases": ["sharded"]}, "good", "sharded is new"),
        ([RUN, BEFORE], [HELD], {}, "good", None),
    ],
)
def test_the_verdict_and_why(runs, findings, more, verdict, says):  # type: ignore[no-untyped-def]
    found, because = verdict_of(runs, findings, **{"compared": True, **more})
    assert found == verdict
    assert (says is None and because == ()) or (says is not None and says in "\n".join(because))


def test_what_is_invalid_is_said_first_and_whose_run_it_was() -> None:
    again = a_run("hotkey", 1, "before", valid=False)
    _verdict, because = verdict_of([again], [WORSE], compared=True)
    assert because[0] == ("hotkey, repetition 1 (the rerun baseline) is invalid: its evidence is missing.")


BY = "throttles 20 % of its attempts, by a partition limit (table writes)"
ON_BURST = {"labels": (), "constraint": "none", "measures": {"capacity_used.write": 1.2}}


@pytest.mark.parametrize(
    ("case", "expected", "says"),
    [
        (a_case(), "partition", []),
        (a_case(), "table", [f"hotkey is expected to be limited by table, and {BY}."]),
        (a_case(), None, [f"hotkey {BY}; its scenario names no expected limit."]),
        (a_case(**ON_BURST), None, ["hotkey runs on burst capacity: writes of the table at 120 % of their"]),
    ],
    ids=["as expected", "another limit", "nothing expected", "burst capacity"],
)
def test_what_a_first_session_would_accept_silently_is_said(
    case: CaseMade, expected: str | None, says: list[str]
) -> None:
    doubts = doubts_of([case], {"hotkey": expected})
    assert [doubt.startswith(words) for doubt, words in zip(doubts, says, strict=True)] == [True] * len(says)
