"""Failures that are no throttles: apart from throttles, by kind, most frequent first, in words."""

import json

from keyheat.analysis.report import load_run
from keyheat.load.transport.failures import BAD_HTTP, CREDENTIALS, CUT_OFF, DAMAGED, KINDS, RESET
from keyheat.numbers import percent
from keyheat.show.counts import MEANINGS, failure_table


def with_failures(run_dir, kinds):
    path = run_dir / "run.json"
    manifest = json.loads(path.read_text())
    manifest["totals"] |= {"errors": sum(kinds.values()), "errors_by_kind": kinds}
    path.write_text(json.dumps(manifest))
    return run_dir


def test_nothing_failed_is_no_table(a_run):
    assert failure_table(load_run(a_run())) is None


def test_kinds_are_rows_with_what_they_mean(a_run):
    run = load_run(with_failures(a_run(), {"cut_off": 3, "timeout": 40, "HTTP502": 3}))
    table = failure_table(run)
    assert [tuple(row[:2]) for row in table.cells] == [("timeout", "40"), ("HTTP502", "3"), ("cut_off", "3")]
    assert table.cells[0][3] == MEANINGS["timeout"]
    assert table.cells[1][3] == ""
    assert table.cells[0][2] == percent(40 / run.totals.attempts)


def test_every_kind_of_a_transport_has_words():
    kinds = {kind for _type, kind in KINDS} | {BAD_HTTP, CREDENTIALS, CUT_OFF, DAMAGED, RESET}
    assert kinds <= set(MEANINGS)
