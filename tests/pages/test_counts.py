"""What a load test counted, and what failed in it: in words, with units, the wrong before anything else."""

import json

import pytest

from keyheat.analysis.report import load_run
from keyheat.load.transport.failures import BAD_HTTP, CREDENTIALS, CUT_OFF, DAMAGED, KINDS, RESET
from keyheat.numbers import percent
from keyheat.show.counts import MEANINGS, counts_of, failure_table, listed

RIGHT = {"reads.checked": 400.0, "reads.items": 20_000.0, "reads.missing": 0.0, "reads.units": 1234.5}


@pytest.mark.parametrize(
    ("counted", "words"),
    [
        ({"reads.missing": 3}, "3 items were not found"),
        ({"reads.duplicate": 1}, "1 was found twice"),
        ({"reads.missing": 1, "reads.misordered": 2}, "1 item was not found, 2 came out of order"),
    ],
)
def test_wrong_reads_come_first_and_are_never_called_right(counted, words):
    counts = counts_of(RIGHT | counted)
    assert counts.wrong == (
        f"Wrong reads: of the items that 400 checked reads should have returned, {words}.",
    )
    assert counts.lines == ()


@pytest.mark.parametrize(
    ("counted", "lines"),
    [
        (
            RIGHT,
            ("400 reads checked against what was written: nothing missing, nothing twice, all in order.",),
        ),
        (
            {"orders.placed": 200, "orders.units": 900, "orders.counted": 199},
            ("One order took 4.5 units.", "199 of 200 orders were in the totals when the load ended."),
        ),
        ({"cache.hits": 3, "cache.misses": 1}, ("The cache answered 75 % of the reads.",)),
    ],
    ids=["right reads", "orders", "a cache"],
)
def test_what_was_counted_is_said_in_sentences(counted, lines):
    assert (counts_of(counted).wrong, counts_of(counted).lines) == ((), lines)


@pytest.mark.parametrize(
    ("counted", "title", "cells"),
    [
        ({"reads.checked": 1.0, "reads.units": 1234.5}, "Checked reads", ["units", "1,234 RCU"]),
        ({"tables.by_day.accepted": 10}, None, ["by day: accepted", "10"]),
        ({"tables.by_day.write_units": 12.0}, None, ["by day: write units", "12 WCU"]),
        ({"cache.units_saved": 450.0}, None, ["units saved", "450 RCU"]),
        ({"pigeons.sent_home": 2.5}, "Pigeons", ["sent home", "2.5"]),
    ],
    ids=["reads", "another table", "its units", "a cache", "an unknown name"],
)
def test_a_number_is_a_row_with_its_unit(counted, title, cells):
    (table,) = counts_of(counted).tables
    assert title in (None, table.title)
    assert table.cells[-1] == cells


def test_groups_stand_in_the_order_of_the_story_without_those_of_the_generators_section():
    names = ["zebra.x", "tables.t.accepted", "orders.placed", "reads.units", "reads.checked", "retries.x"]
    assert listed(names) == ["reads.checked", "reads.units", "orders.placed", "tables.t.accepted", "zebra.x"]


def test_failures_are_rows_by_kind_the_most_frequent_first_with_what_they_mean(sample):
    folder, kinds = sample(), {"cut_off": 3, "timeout": 40, "HTTP502": 3}
    assert failure_table(load_run(folder)) is None
    manifest = json.loads((folder / "run.json").read_text())
    manifest["totals"] |= {"errors": sum(kinds.values()), "errors_by_kind": kinds}
    (folder / "run.json").write_text(json.dumps(manifest))
    run = load_run(folder)
    table = failure_table(run)
    assert [tuple(row[:2]) for row in table.cells] == [("timeout", "40"), ("HTTP502", "3"), ("cut_off", "3")]
    assert table.cells[0][2:] == [percent(40 / run.totals.attempts), MEANINGS["timeout"]]
    assert table.cells[1][3] == ""


def test_every_kind_of_a_transport_has_words():
    kinds = {kind for _type, kind in KINDS} | {BAD_HTTP, CREDENTIALS, CUT_OFF, DAMAGED, RESET}
    assert kinds <= set(MEANINGS)
