"""A mistake in a scenario's file says on which line it stands; a name that is nearly right is recognised."""

import pytest

from keyheat.scenario.mistakes import located

FILE = '''\
format = "keyheat.scenario/1"
name = "orders"
question = """
What has = a sign,
[and.brackets]?
"""
[table]
name = "orders"
billing_mode = "PAY_PER_REQUEST"
stream.view = "NOPE"

[[table.indexes]]
name = "a"
[[table.indexes]]
name = "b"
max_on_demand = { write = -1 }   # inline

[attributes."event type"]
values = [
  "x = 1",
  2,
]
[keys]
exponnent = 1
[load]
duration_s = -1
'''
PLACES = [
    ("$.name", 2),
    ("$.question", 3),
    ("$.table", 7),
    ("$.table.stream.view", 10),
    ("$.table.indexes[0].name", 13),
    ("$.table.indexes[1].name", 15),
    ("$.table.indexes[1].max_on_demand.write", 16),
    ("$.attributes.event type.values[1]", 19),
    ("$.keys.exponnent", 24),
    ("$.load.duration_s", 26),
    ("$.load.users", 25),
]


@pytest.mark.parametrize(("place", "line"), PLACES)
def test_each_value_is_found_on_its_line(place: str, line: int) -> None:
    assert located([f"wrong @ {place}"], FILE) == [f"wrong @ {place} (line {line})"]


def test_what_is_nowhere_in_the_file_has_no_line() -> None:
    errors = ["missing @ $.thresholds", "a scenario is an object @ $", "no place at all"]
    assert located(errors, FILE) == errors
