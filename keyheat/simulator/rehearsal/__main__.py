"""The process that rehearses somebody's load test: scenario and folder a line in, what came of it a line out.

python -m keyheat.simulator.rehearsal FILE
"""

import os
import sys
from pathlib import Path

import orjson

from keyheat.scenario.scenario import scenario_from_dict
from keyheat.simulator.rehearsal.ask import ADAPTER
from keyheat.simulator.rehearsal.learn import rehearse


def main() -> None:
    """Answer until nobody asks."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what the load test prints is no answer
    for line in sys.stdin.buffer:
        raw, folder = orjson.loads(line)
        scenario = scenario_from_dict(raw, "the scenario")
        found = rehearse(Path(sys.argv[1]), scenario, Path(folder), alone=True)
        answers.write(ADAPTER.dump_json(found) + b"\n")
        answers.flush()


if __name__ == "__main__":
    main()
