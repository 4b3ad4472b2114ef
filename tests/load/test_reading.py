"""Reads as a user runs them: right ones have nothing wrong. Wrong ones are made in `test_wrong_reads`."""

from functools import partial
from math import sqrt
from pathlib import Path
from typing import Any

import pytest

from keyheat import runfiles
from keyheat.runs import parquet
from tests.load.conftest import Loaded
from tests.make import a_scenario_file
from tests.outside import run_of

CAPACITY = {"read": 20_000, "write": 20_000}
READING: dict[str, Any] = {
    "name": "reading",
    "loadtest": "read_shards",
    "table": {"name": "reading", "sort_key": "sk", "provisioned": CAPACITY},
    "keys": {"kind": "hot_key", "share": 0.5, "keys": 2, "shards": 3},
    "load": {"users": 8, "requests_per_s": 160, "duration_s": 4, "item_bytes": 500},
    "local": {"scale": 10},
    "thresholds": {"wrong_reads_max": 0},
}
reading = partial(a_scenario_file, raw=READING)


def counted(folder: Path) -> dict[str, float]:
    run = run_of(folder)
    assert run["totals"]["errors"] == 0, run["totals"]
    assert run["totals"]["throttled"] == 0, run["totals"]
    assert "user failed" not in str(run["generator"]["checks"])
    return run["counted"]  # type: ignore[no-any-return]


def too_slow(folder: Path) -> bool:
    """Whether this machine could not send the load, or not in time, as the run says."""
    generator = run_of(folder)["generator"]
    return bool(generator["bound"] or generator["achieved_per_s"] < 0.95 * generator["asked_per_s"])


def wrong(counts: dict[str, float]) -> tuple[float, ...]:
    return tuple(counts[f"reads.{what}"] for what in ("missing", "duplicate", "misordered"))


def test_reads_of_shards_beyond_a_page_are_right(load_run: Loaded, tmp_path: Path) -> None:
    load_run("read_shards.py", reading(tmp_path, load={"item_bytes": 30_000}))
    counts = counted(tmp_path / "run")
    assert wrong(counts) == (0, 0, 0)
    assert 0 < counts["reads.checked"] < counts["reads.required"]
    in_pages = counts["reads.requests"] > 3 * counts["reads.checked"]
    assert in_pages or too_slow(tmp_path / "run"), "some shards took more than a page"
    assert "Tag=ReadCollection.logical," in (tmp_path / "run" / "latency.hdr").read_text()


def test_a_cache_answers_in_place_of_the_table(load_run: Loaded, tmp_path: Path) -> None:
    path = reading(tmp_path, table={"sort_key": None}, cache={"ttl_s": 0.5}, load={"duration_s": 3})
    load_run("read_cache.py", path)
    counts = counted(tmp_path / "run")
    assert wrong(counts) == (0, 0, 0)
    assert 0 < counts["reads.checked"] == counts["cache.misses"]
    assert counts["cache.misses"] < counts["cache.hits"] or too_slow(tmp_path / "run")
    assert counts["cache.units_saved"] == 0.5 * counts["cache.hits"]
    assert counts["cache.stale"] <= counts["cache.hits"]


def test_reads_go_to_the_table_and_to_its_copies(load_run: Loaded, tmp_path: Path) -> None:
    copy = {"name": "copy", "partition_key": "pk", "provisioned": CAPACITY}
    table = {"sort_key": None, "indexes": [copy]}
    path = reading(tmp_path, table=table, load={"duration_s": 5})  # an index shows a write after two seconds
    load_run("read_cache.py", path)
    counts = counted(tmp_path / "run")
    assert wrong(counts) == (0, 0, 0)
    assert counts["reads.required"] > 0
    seconds = parquet.read_table(tmp_path / "run" / "seconds.parquet", runfiles.SECONDS).to_pylist()
    of_table, of_copy = (
        sum(
            row["consumed_units"] / 0.5
            for row in seconds
            if (row["index"], row["direction"]) == (name, "read")
        )
        for name in (None, "copy")
    )
    assert of_table == pytest.approx(of_copy, abs=4 * sqrt(of_table + of_copy))
