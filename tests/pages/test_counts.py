"""What a load test counted, and what failed in it: in words, with units, the wrong before anything else."""

import json
from pathlib import Path

from keyheat.analysis.report import read_run
from keyheat.load.transport.answer import BAD_HTTP, CREDENTIALS, CUT_OFF, DAMAGED, KINDS, RESET
from keyheat.numbers import percent
from keyheat.show.generator import MEANINGS, counts_of, failure_table

RIGHT = {"reads.checked": 400.0, "reads.items": 20_000.0, "reads.missing": 0.0, "reads.units": 1234.5}
COUNTED = {
    "right reads": RIGHT,
    "missing": RIGHT | {"reads.missing": 3},
    "twice": RIGHT | {"reads.duplicate": 1},
    "missing and out of order": RIGHT | {"reads.missing": 1, "reads.misordered": 2},
    "orders": {"orders.placed": 200, "orders.units": 900, "orders.counted": 199},
    "a cache": {"cache.hits": 3, "cache.misses": 1, "cache.units_saved": 450.0},
    "another table, and what the generator's section shows": {
        "zebra.x": 2.5, "tables.by_day.accepted": 10, "tables.by_day.write_units": 12.0,
        "retries.attempts": 9, "orders.placed": 200, "reads.units": 1234.5,
    },
}  # fmt: skip


def test_what_was_counted_is_said_the_wrong_first_and_each_number_has_its_unit(golden):
    said = []
    for name, counted in COUNTED.items():
        counts = counts_of(counted)
        rows = [f"{table.title}: {' | '.join(row)}" for table in counts.tables for row in table.cells]
        said += [f"== {name}", *counts.wrong, *counts.lines, *rows]
    golden(Path(__file__).parent / "golden" / "counts.txt", "".join(f"{line}\n" for line in said))


def test_failures_are_rows_by_kind_the_most_frequent_first_with_what_they_mean(sample):
    folder, kinds = sample(), {"cut_off": 3, "timeout": 40, "HTTP502": 3}
    assert failure_table(read_run(folder)) is None
    manifest = json.loads((folder / "run.json").read_text())
    manifest["totals"] |= {"errors": sum(kinds.values()), "errors_by_kind": kinds}
    (folder / "run.json").write_text(json.dumps(manifest))
    run = read_run(folder)
    table = failure_table(run)
    assert [tuple(row[:2]) for row in table.cells] == [("timeout", "40"), ("HTTP502", "3"), ("cut_off", "3")]
    assert table.cells[0][2:] == [percent(40 / run.totals.attempts), MEANINGS["timeout"]]
    assert table.cells[1][3] == ""


def test_every_kind_of_a_transport_has_words():
    kinds = {kind for _type, kind in KINDS} | {BAD_HTTP, CREDENTIALS, CUT_OFF, DAMAGED, RESET}
    assert kinds <= set(MEANINGS)
