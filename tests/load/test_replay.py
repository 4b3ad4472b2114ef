"""A trace is sent as it stands, by one process or several; a wrong one is refused before anything starts."""

import json
from pathlib import Path

from keyheat import runfiles
from keyheat.endpoint.process import EndpointProcess
from keyheat.runs import parquet
from tests.load.conftest import Loaded
from tests.make import a_scenario_file
from tests.outside import free_port, get, run_of

AGAIN = {
    "name": "again",
    "loadtest": "replay",
    "table": {"name": "again-table", "sort_key": "sk", "provisioned": {"read": 2_000, "write": 2_000}},
    "keys": {"kind": "replay", "trace": "traces/again.csv", "speed": 4},
    "load": {"arrivals": "trace", "users": 10, "duration_s": 10},
}


def written(folder: Path, lines: list[str]) -> Path:
    (folder / "traces").mkdir()
    header = "time,operation,key,sort_key,size_bytes\n"
    (folder / "traces" / "again.csv").write_text(header + "".join(f"{line}\n" for line in lines))
    return a_scenario_file(folder, AGAIN)


LINES = [
    f"{number / 50:.3f},{operation},key-{number % 7},item-{number % 3},{size}"
    for number in range(80)
    for operation, size in (("put", 2_500), ("get", ""), ("update", 5_000), ("delete", ""), ("query", ""))
]


def test_every_row_is_sent_once_with_its_size_by_two_processes(
    load_run: Loaded, endpoint: EndpointProcess, tmp_path: Path
) -> None:
    port = str(free_port())
    several = ("--processes", "2", "--master-bind-port", port, "--master-port", port)
    load_run("replay.py", written(tmp_path, LINES), "--show-keys", "--host", endpoint.url, *several)
    run = run_of(tmp_path / "run")
    dropped = run["counted"]["arrivals.dropped"]
    assert run["totals"]["attempts"] + dropped == len(LINES)
    rows = json.loads(get(f"{endpoint.url}/_keyheat/decisions?table=again-table"))
    assert run["totals"]["accepted"] == sum(row["accepted"] for row in rows) > 0
    assert dropped < 0.05 * len(LINES) or run["generator"]["bound"]  # it stood still, and says so
    seconds = parquet.read_table(tmp_path / "run" / "seconds.parquet", runfiles.SECONDS)
    operations = set(seconds["operation"].to_pylist())
    assert operations == {"PutItem", "GetItem", "UpdateItem", "DeleteItem", "Query"}
    writes = sum(row["consumed"] for row in rows if row["direction"] == "write")
    assert run["totals"]["consumed_units"]["write"] == writes
    keys = runfiles.read_json(tmp_path / "run" / "keys.json", runfiles.KEYS)["overall"]["write"]
    assert {key["shown"] for key in keys} == {f"key-{number}" for number in range(7)}
    assert "trace" in run["scenario"]["keys"]
    assert str(tmp_path) not in json.dumps(run["scenario"])


def test_the_units_are_those_of_the_sizes(
    load_run: Loaded, endpoint: EndpointProcess, tmp_path: Path
) -> None:
    path = written(tmp_path, ["0,put,a,1,2500", "0.4,update,a,1,5000", "0.8,get,a,1,", "1.2,delete,a,1,"])
    load_run("replay.py", path, "--host", endpoint.url, "--run-time", "2s")
    run = run_of(tmp_path / "run")
    # The put is 3 units, the update 5, the delete 5 of what is there; the read half of two.
    assert run["totals"]["consumed_units"] == {"write": 13.0, "read": 1.0}


def test_a_wrong_trace_is_refused_with_every_reason(load_run: Loaded, tmp_path: Path) -> None:
    path = written(tmp_path, ["0,put,a,1,2500", "1,scan,a,1,10", "0.5,put,a,1,9", "2,put,a,,600000"])
    err = load_run("replay.py", path, code=2)
    for reason in (
        "row 2: operation 'scan'",
        "row 3: time '0.5' is before",
        "row 3: size_bytes '9' has no room",
        "row 4: size_bytes '600000'",
        "3 of 4 rows are wrong",
    ):
        assert reason in err
    assert not (tmp_path / "run").exists()
    (tmp_path / "traces" / "again.csv").unlink()
    err = load_run("replay.py", path, code=2)
    assert "No such file or directory" in err
