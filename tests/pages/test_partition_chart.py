"""Partitions over time: ranges of keys in their order, splits marked, and what is said where nobody knows."""

import json
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pytest

from keyheat.analysis.report.run import load_run
from keyheat.pages.charts.partition_rates import read_ones, resources_of
from keyheat.pages.charts.partitions import leaves, partition_chart
from keyheat.pages.run.report import render
from keyheat.runs.frames import of_partitions
from keyheat.runs.parquet import PARTITIONS_SCHEMA
from keyheat.words import Resource

START = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
WRITES = Resource(None, "write")


def table_of(*cells):
    """A file of (second, index, partition, parent, since, from share, units written, throttled writes)."""
    start_s = int(START.timestamp())
    full = [
        (start_s + at, 1, index, number, parent, start_s + since, share, 0.0, float(units), 0, lost)
        for at, index, number, parent, since, share, units, lost in cells
    ]
    columns = zip(*full, strict=True)
    arrays = [
        pa.array(c, pa.int64() if pa.types.is_timestamp(f.type) else f.type).cast(f.type)
        for f, c in zip(PARTITIONS_SCHEMA, columns, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=PARTITIONS_SCHEMA)


SPLIT_FILE = table_of(
    (0, None, 0, None, 0, 0.0, 900, 50), (1, None, 0, None, 0, 0.0, 900, 60),
    (0, None, 1, None, 0, 0.5, 10, 0), (3, None, 1, None, 0, 0.5, 10, 0),
    (2, None, 2, 0, 2, 0.0, 500, 0), (3, None, 2, 0, 2, 0.0, 510, 0),
    (2, None, 3, 0, 2, 0.25, 400, 0), (3, "by-day", 0, None, 0, 0.0, 7, 0),
)  # fmt: skip
SPLIT = of_partitions(SPLIT_FILE)


def test_each_resource_that_was_asked_for_something():
    assert resources_of(SPLIT) == [WRITES, Resource("by-day", "write")]


def test_rows_are_ranges_of_keys_in_their_order():
    start_s, step_s, ones = read_ones(SPLIT[SPLIT["resource"] == "table"], "write")
    assert (start_s, step_s) == (START.timestamp(), 1.0)
    assert [one.number for one in leaves(ones, 96)] == [2, 3, 1]
    assert [one.number for one in leaves(ones, 2)] == [2, 3]  # the busiest
    np.testing.assert_array_equal(ones[0].units_per_s, [900, 900, 0, np.nan])
    np.testing.assert_array_equal(ones[1].units_per_s, [10, 0, 0, 10])
    np.testing.assert_array_equal(ones[2].units_per_s, [np.nan, np.nan, 500, 510])


def test_a_partition_is_drawn_over_those_that_came_of_it():
    chart = partition_chart(SPLIT, WRITES, 1_000, "chart")
    units, refused = chart.figure.data
    assert [list(row) for row in units.z] == [[900, 900, 500, 510], [900, 900, 400, 0], [10, 0, 0, 10]]
    assert [list(row)[:2] for row in refused.z] == [[50, 60], [50, 60], [None, None]]
    (mark,) = chart.figure.layout.shapes
    assert (mark.x0, mark.y0, mark.y1) == ("2026-11-20T12:00:02.000", -0.5, 1.5)
    assert "3 partitions; 1 s to a step." in chart.summary
    assert "110 throttles, 100 % of them on partition 0." in chart.summary
    assert "1 split (at 12:00:02)." in chart.summary


def test_without_throttles_and_splits_nothing_is_marked():
    calm = partition_chart(SPLIT, Resource("by-day", "write"), 1_000, "chart")
    assert len(calm.figure.data) == 1
    assert not calm.figure.layout.shapes
    assert "No partition throttled." in calm.summary


def notes_of(run_dir, generated_at):
    text = render(load_run(run_dir), generated_at, plotlyjs="").replace("\u00a0", " ")
    section = text[text.index('<section id="partitions">') :]
    return text, section[: section.index("</section>")]


@pytest.mark.slow
@pytest.mark.parametrize("spoil", ["missing", "cut short"])
def test_a_missing_or_damaged_file_is_said_and_the_rest_is_shown(a_run, generated_at, spoil):
    run_dir = a_run()
    path = run_dir / "partitions.parquet"
    content = path.read_bytes()
    path.unlink() if spoil == "missing" else path.write_bytes(content[: len(content) // 2])
    text, section = notes_of(run_dir, generated_at)
    assert "partitions.parquet is missing or damaged." in section.lower()
    assert "<code>partitions.parquet</code>" in text
    assert "Writes were throttled by a partition limit" in text


def test_of_a_run_on_aws_one_line_says_that_nobody_knows(a_run, generated_at):
    run_dir = a_run(without=("partitions.parquet",))
    manifest = json.loads((run_dir / "run.json").read_text())
    (run_dir / "run.json").write_text(json.dumps({**manifest, "target": "aws"}))
    text, section = notes_of(run_dir, generated_at)
    assert "Which partition served what is not known: DynamoDB does not tell." in section
    assert "<code>partitions.parquet</code>" not in text
