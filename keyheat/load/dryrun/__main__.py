"""The process of dry runs: one job a line in, its result a line out.

python -m keyheat.load.dryrun MOST_CPU_S
"""

import faulthandler
import os
import signal
import sys
from pathlib import Path
from typing import Any, Final

import orjson

from keyheat.simulator.dryrun import ADAPTER
from keyheat.simulator.loadtest import DryRun

MOST_WAIT_S: Final = 600.0
"""Of a load test that does nothing, or of a machine with many others at work."""
NETWORK: Final = frozenset({"socket.connect", "socket.sendto", "socket.sendmsg", "socket.getaddrinfo"})


def refuse_network(event: str, _args: tuple[Any, ...]) -> None:
    """Refuse every connection of this process: no request of a dry run may reach a table."""
    if event in NETWORK:
        raise PermissionError("a dry run has no network: only what a TableUser sends is seen")


def bound_cpu(most_s: float) -> None:
    """Have a signal end this process after this much CPU time; 0: never. Windows has no such signal."""
    if sys.platform != "win32":
        signal.setitimer(signal.ITIMER_PROF, most_s)


def main() -> None:
    """Answer until the parent closes the pipe; end where a job takes too long, whatever it does."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a load test prints is no answer
    lines, most_cpu_s, sys.argv = sys.stdin.buffer, float(sys.argv[1]), ["keyheat"]
    sys.addaudithook(refuse_network)
    from keyheat.scenario.scenario import scenario_from_dict
    from keyheat.shipped import sentence
    from keyheat.simulator.loadtest import with_combinations

    for line in lines:
        faulthandler.dump_traceback_later(MOST_WAIT_S, exit=True)
        bound_cpu(most_cpu_s)
        path, raw, folder = orjson.loads(line)
        scenario = with_combinations(scenario_from_dict(raw, "the scenario"))
        try:
            from keyheat.load.dryrun import standin, users
        except ImportError as error:
            result = DryRun(wrong=(sentence(error) or str(error),))
        else:
            standin.replace_time()
            users.send_alone()
            result = users.dry_run(Path(path), scenario, Path(folder))
        faulthandler.cancel_dump_traceback_later()
        bound_cpu(0.0)
        answers.write(ADAPTER.dump_json(result) + b"\n")
        answers.flush()


if __name__ == "__main__":
    main()
