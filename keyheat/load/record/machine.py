"""The machine that the load generator runs on: what it measures is only comparable on another like it."""

import os
import platform
from pathlib import Path
from typing import Final

import psutil

CPUS: Final = Path("/proc/cpuinfo")
NAMED: Final = "model name"


def machine() -> dict[str, int | str]:
    """Cores that this process may use, memory, and the CPU's model, as `run.json` has them."""
    return {
        "cores": _cores(),
        "memory_bytes": int(psutil.virtual_memory().total),
        "cpu": cpu_model(CPUS.read_text(encoding="utf-8") if CPUS.exists() else ""),
    }


def cpu_model(cpuinfo: str) -> str:
    """The model that `/proc/cpuinfo` names; else what Python knows, which may be the architecture alone."""
    for line in cpuinfo.splitlines():
        name, _, value = line.partition(":")
        if name.strip() == NAMED and value.strip():
            return " ".join(value.split())
    return platform.processor() or platform.machine() or "unknown"


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
