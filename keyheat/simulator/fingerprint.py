"""Everything that determines a simulation, as a value: the same value gives the same result, bit by bit."""

from pathlib import Path
from typing import Final

import orjson

from keyheat.scenario.scenario import Scenario

WORDS: Final = frozenset(("name", "question", "expects"))
"""Fields that are only for people."""

Files = tuple[tuple[str, int], ...]


def scenario_fingerprint(scenario: Scenario) -> bytes:
    """Return the scenario without its words; `files_fingerprint` has its files."""
    stated = scenario.model_dump(mode="json", exclude=set(WORDS))
    return orjson.dumps(stated, option=orjson.OPT_SORT_KEYS)


def files_fingerprint(scenario: Scenario, folder: Path = Path()) -> Files:
    """Return the files that determine the requests, as they are now: load test and trace.

    `folder` is the scenario's. Raises `FileNotFoundError`.
    """
    trace = scenario.keys.trace
    files = [scenario.locustfile(folder), *([] if trace is None else [folder / trace])]
    return tuple((str(file.resolve()), file.stat().st_mtime_ns) for file in files)
