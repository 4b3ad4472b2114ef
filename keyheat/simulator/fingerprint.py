"""All that a simulation follows from, as a value: with the same one it comes to the same, bit by bit."""

from pathlib import Path
from typing import Final

import orjson

from keyheat.scenario.scenario import Scenario

WORDS: Final = frozenset(("name", "question", "expects"))
"""What a scenario says to people."""

Files = tuple[tuple[str, int], ...]


def scenario_fingerprint(scenario: Scenario) -> bytes:
    """The scenario without its words; the files that it names are asked for by themselves."""
    stated = scenario.model_dump(mode="json", exclude=set(WORDS))
    return orjson.dumps(stated, option=orjson.OPT_SORT_KEYS)


def files_fingerprint(scenario: Scenario, folder: Path = Path()) -> Files:
    """The files that say what the scenario sends, as they are now: its load test, and its trace.

    `folder` is the scenario's. Raises `FileNotFoundError`.
    """
    trace = scenario.keys.trace
    files = [scenario.locustfile(folder), *([] if trace is None else [folder / trace])]
    return tuple((str(file.resolve()), file.stat().st_mtime_ns) for file in files)
