"""What the random scenarios are made of, in words, for the page that shows the scores."""

from typing import Final

from keyheat.accuracy import chance, disturbances, draft, draw, loss
from keyheat.accuracy.situations import SITUATIONS

SITUATION_ROWS: Final = tuple(
    (situation.__name__.replace("_", " "), weight, (situation.__doc__ or "").strip().rstrip("."))
    for situation, weight in SITUATIONS
)
"""Each situation: its name, how many of a hundred scenarios, what it is."""

CHANCE_ROWS: Final = (
    ("the other direction is loaded, too", draw.BOTH_DIRECTIONS),
    ("another client uses the same table", disturbances.ANOTHER_CLIENT),
    ("requests arrive at random, not evenly (each stream)", draft.POISSON),
    ("refused requests come again, after a wait (each stream)", draft.RETRIES),
    ("capacity is raised or lowered in mid-window (provisioned)", disturbances.CHANGED),
    ("auto scaling is on (provisioned)", disturbances.SCALED),
    ("the table is switched to on-demand in mid-window (provisioned)", disturbances.SWITCHED),
    ("the window begins in the middle of the load", loss.CHANCES["beginning"]),
    ("CloudWatch lacks minutes within the window", loss.CHANCES["minutes"]),
    ("CloudWatch lacks the last minutes", loss.CHANCES["end"]),
    ("a series of settings never arrived", loss.CHANCES["series"]),
)
"""Each disturbance and its chance."""

SIZES: Final = (
    "Capacities lie between 1 and 100,000 units/s, most between 50 and 20,000; items take 1 to 8 units. "
    f"Loads last {chance.SHORTEST_S // 60} to {chance.LONGEST_S // 60} minutes, nine of ten at most 8 "
    "(longer where a burst has to be spent first); half of them start in the middle of a minute, and one in "
    "ten after an idle time. Demand is 1.1 to 6 times the limit that it presses against, in one of six to "
    "eight scenarios 0.96 to 1.08 times. Three of five tables that are too small were larger once, and have "
    "partitions for more. The load is constant (40 %), spikes of 3 to 25 seconds (18 %), a ramp "
    "(12 %), steps (12 %), a day curve (10 %), or has pauses (8 %). Keys are even, a hot key, a hot set, "
    "Zipf, a date that rolls over, or sharded; sort keys are one, at random, or rising. Reads, a third of "
    "the loads, are eventually or strongly consistent."
)
