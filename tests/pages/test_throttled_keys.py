"""A report lists the keys that were throttled most, which are not always those that were asked for most."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest

from keyheat.analysis.report.run import load_run
from keyheat.pages.charts.keys import throttled_key_table
from keyheat.pages.run.report import write_report


def use(key: str, throttles: int, **more: Any) -> dict[str, Any]:
    return {"key": key, "shown": None, "units": 50.0, "throttles": throttles, "share": 0.5, **more}


@pytest.mark.slow
def test_the_most_throttled_keys_come_first(a_run: Callable[[], Path]) -> None:
    folder = a_run()
    assert throttled_key_table(load_run(folder)) is None, "an older run does not say"
    keys = orjson.loads((folder / "keys.json").read_bytes())
    keys["by_throttles"] = {
        "write": [use("sha256:00000000000000aa", 7, consumed_units=43.0), use("sha256:00000000000000bb", 0)],
        "read": [use("sha256:00000000000000cc", 900, shown="sensor-1")],
    }
    (folder / "keys.json").write_bytes(orjson.dumps(keys))
    table = throttled_key_table(load_run(folder))
    assert table is not None
    assert table.rows == (
        ("sensor-1", "read", "900", "50", ""),
        ("sha256:000000000000", "write", "7", "50", "43"),
    )
    page = write_report(folder, datetime(2026, 11, 20, tzinfo=UTC)).read_text(encoding="utf-8")
    assert "Most throttled keys over the whole run" in page
