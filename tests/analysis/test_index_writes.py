"""What writes would have cost an index that refused them: by its share of the table's writes."""

import pytest

from keyheat.analysis.timeline import timeline
from keyheat.words import WRITE
from tests.make import an_evidence, consumed, throttle_events


@pytest.mark.parametrize(
    ("of_table", "of_index", "each"),
    [
        ((260, 260, 260, 190), (260, 260, 120, 120), 2.0),  # every other write touches it, with two units
        ((260, 260, 260, 190), (130, 130, 130, 60), 1.0),  # every other write, with one
        ((260, 190, 190, 190), (260, 120, 120, 120), 1.0),  # one calm minute shows no share
    ],
)
def test_a_refused_write_takes_what_the_calm_minutes_show(
    of_table: tuple[float, ...], of_index: tuple[float, ...], each: float
) -> None:
    """Of 260 writes a second 70 are refused, from the first minute in which the table took fewer."""
    refused = [0 if per_s == 260 else 70 * 60 for per_s in of_table]
    seen = an_evidence(
        consumed(*of_table), consumed(*of_index, index="by_0"), throttle_events(*refused, index="by_0"),
        throttle_events(0, 0, 0, 0), indexes=1,
    )  # fmt: skip
    track = timeline(seen).track("by_0", WRITE)
    assert track is not None
    assert track.units_of_refused == pytest.approx(each)
