"""The verdict over a session: what makes an answer worthless weighs more than the answer."""

from typing import Any

from keyheat.regression.outcome import Gate, GateFinding, RunMade
from keyheat.regression.verdict import doubts_of, verdict_of
from tests.conftest import Golden
from tests.regression.outcomes import HELD, LOST, OTHER, UNDECIDED, a_case, a_finding, a_run

RUN = a_run("hotkey", 1)
INVALID = a_run("hotkey", 2, valid=False, problem="the load generator was the limit.")
BROKEN = a_run("hotkey", 3, broken=("p99_ms: 12 ms, allowed 5 ms",))
BEFORE = a_run("hotkey", 1, "before", broken=("p99_ms: 12 ms, allowed 5 ms",))
WORSE = a_finding()
OUTGROWN = a_finding(gate=Gate(measure="capacity_used.write"), before=0.62, after=1.14)
CLOSER = a_finding(gate=Gate(measure="capacity_used.read"), before=0.4, after=0.8)
MORE = a_finding(gate=Gate(measure="throttle_share"), before=0.2, after=0.4)
STILL = a_finding("same", gate=Gate(measure="index_capacity_used.read"), before=1.2, after=1.2)


SESSIONS: dict[str, tuple[list[RunMade], list[GateFinding], dict[str, Any]]] = {
    "a gate held": ([RUN], [HELD], {}),
    "nothing to compare with": ([RUN], [HELD], {"compared": False}),
    "a gate failed": ([RUN], [HELD, WORSE], {}),
    "two gates failed": ([RUN], [LOST, WORSE], {}),
    "it throttles more": ([RUN], [MORE], {}),
    "it outgrew its capacity": ([RUN], [STILL, OUTGROWN], {}),
    "it uses more of its capacity": ([RUN], [CLOSER], {}),
    "a threshold is broken": ([RUN, BROKEN], [HELD], {}),
    "a threshold is broken in the first session": ([RUN, BROKEN], [], {"compared": False}),
    "a threshold of the baseline was broken": ([RUN, BEFORE], [HELD], {}),
    "a run is invalid": ([RUN, INVALID], [HELD], {}),
    "a run is invalid, and a gate failed": ([RUN, INVALID], [WORSE], {}),
    "a rerun of the baseline is invalid": ([a_run("hotkey", 1, "before", valid=False)], [WORSE], {}),
    "another setup": ([RUN], [], {"forbidden": [OTHER]}),
    "another setup, and a gate failed": ([RUN], [WORSE], {"forbidden": [OTHER]}),
    "a gate is undecided": ([RUN], [UNDECIDED], {}),
    "a case is new": ([RUN], [HELD], {"new_cases": ["sharded"]}),
}
ON_BURST = a_case(labels=(), constraint="none", measures={"capacity_used.write": 1.2})
FIRST_CASES = {
    "as expected": (a_case(), "partition"),
    "another limit": (a_case(), "table"),
    "nothing expected": (a_case(), None),
    "burst capacity": (ON_BURST, "none"),
}


def test_the_verdict_and_why_and_what_a_first_session_would_accept_silently(golden: Golden) -> None:
    text = ""
    for name, (runs, findings, more) in SESSIONS.items():
        verdict, because = verdict_of(runs, findings, **{"compared": True, **more})
        text += f"== {name}: {verdict}\n" + "".join(f"{line}\n" for line in because)
    for name, (case, expected) in FIRST_CASES.items():
        text += f"== first session, {name}\n"
        text += "".join(f"{line}\n" for line in doubts_of([case], {"hotkey": expected}))
    golden("verdicts.txt", text)
