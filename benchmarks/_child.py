"""A measurement in a process of its own, so that nothing of one turn is left in the next."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


def measured_by(module: str, *arguments: str) -> dict[str, Any]:
    """What `python -m benchmarks.MODULE ARGUMENTS` measured, which it prints as one JSON object."""
    done = subprocess.run(
        [sys.executable, "-m", f"benchmarks.{module}", *arguments],
        cwd=ROOT,
        check=True,
        stdout=subprocess.PIPE,
    )
    result: dict[str, Any] = json.loads(done.stdout)
    return result
