"""A measurement in a process of its own, so that nothing of one turn is left in the next; its scenario."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from time import perf_counter
from typing import Any

ROOT = Path(__file__).parents[1]
ONE_CORE = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # or numpy would use more


def measured_by(module: str, *arguments: str) -> dict[str, Any]:
    """What `python -m benchmarks.MODULE ARGUMENTS` measured, which it prints as one JSON object."""
    done = subprocess.run(
        [sys.executable, "-m", f"benchmarks.{module}", *arguments],
        cwd=ROOT,
        check=True,
        stdout=subprocess.PIPE,
        env={**os.environ, **ONE_CORE},
    )
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def spent_by(program: str, *arguments: str) -> tuple[float, float, float]:
    """Seconds, seconds of CPU and highest memory in MB of one Python process, from its start to its end."""
    began_s = perf_counter()
    pid = os.posix_spawn(sys.executable, [sys.executable, "-c", program, *arguments], dict(os.environ))
    _, status, used = os.wait4(pid, 0)
    if status:
        raise RuntimeError(f"the process ended with status {os.waitstatus_to_exitcode(status)}")
    kib = used.ru_maxrss if sys.platform != "darwin" else used.ru_maxrss / 1024
    return perf_counter() - began_s, used.ru_utime + used.ru_stime, kib * 1024 / 1e6


def scenario_of(
    name: str, table: Mapping[str, Any], keys: Mapping[str, Any], load: Mapping[str, Any], **more: Any
) -> dict[str, Any]:
    """A scenario of plain puts on a table of that name."""
    return {
        "format": "keyheat.scenario/1",
        "name": name,
        "question": "What does it take, and does it still take what it took?",
        "loadtest": "hotkey",
        "table": {"name": name, "sort_key": "sk", **table},
        "keys": keys,
        "load": load,
        **more,
    }
