"""What a load test counted: in words, with units, what is wrong before anything else."""

import pytest

from keyheat.show.counts import counts_of, listed, number_words

RIGHT = {"reads.checked": 400.0, "reads.items": 20_000.0, "reads.missing": 0.0, "reads.units": 1234.5}


def test_nothing_counted_is_nothing_shown():
    assert counts_of({}) is None
    assert counts_of({"arrivals.late": 3, "retries.attempts": 9}) is None, "the generator's section has them"


def test_right_reads_are_said_in_a_sentence():
    counts = counts_of(RIGHT)
    assert counts.wrong == ()
    assert counts.lines == (
        "400 reads checked against what was written: nothing missing, nothing twice, all in order.",
    )
    (table,) = counts.tables
    assert table.title == "Checked reads"
    assert table.cells[-1] == ["units", "1,234 RCU"]


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


def test_orders_and_cache_are_said_as_ratios():
    counts = counts_of(
        {"orders.placed": 200, "orders.units": 900, "orders.counted": 199, "cache.hits": 3, "cache.misses": 1}
    )
    assert counts.lines == (
        "One order took 4.5 units.",
        "199 of 200 orders were in the totals when the load ended.",
        "The cache answered 75 % of the reads.",
    )


def test_tables_beside_the_judged_one_are_rows():
    counts = counts_of(
        {"tables.by_day.accepted": 10, "tables.by_day.write_units": 12.0, "tables.meta.throttled": 2}
    )
    (table,) = counts.tables
    assert table.cells == [
        ["by day: accepted", "10"],
        ["by day: write units", "12 WCU"],
        ["meta: throttled", "2"],
    ]


def test_names_that_we_do_not_know_are_shown_as_they_are():
    counts = counts_of({"pigeons.sent_home": 2.5})
    assert counts.tables[0].cells == [["sent home", "2.5"]]
    assert counts.tables[0].title == "Pigeons"


def test_groups_stand_in_the_order_of_the_story():
    names = ["zebra.x", "tables.t.accepted", "orders.placed", "reads.units", "reads.checked", "retries.x"]
    assert listed(names) == ["reads.checked", "reads.units", "orders.placed", "tables.t.accepted", "zebra.x"]


def test_units_follow_numbers():
    assert number_words("cache.units_saved", 450.0) == "450 RCU"
    assert number_words("tables.totals.write_units", 12.0) == "12 WCU"
    assert number_words("reads.missing", None) == "–"
