"""What the metrics of the cases are called on the page."""

FLAGS = {
    "throttled": "any throttling",
    "further_splits": "further splits of partitions",
    "more_than_6000_writes_per_s": "more than 6,000 writes per second",
    "writers_gave_up": "a writer gives up",
}
"""Metrics that are 1 for yes and 0 for no."""

WORDS = FLAGS | {
    "accepted": "requests served",
    "accepted_per_s": "requests served per second",
    "elapsed_s": "seconds that the load takes",
    "elapsed_s_block": "seconds that part {} of the load takes",
    "first_throttle_s": "seconds until the first throttle",
    "index_throttle_events": "throttles by the index",
    "index_units": "write units of the index",
    "index_units_first_minute": "write units of the index in the first minute",
    "partitions": "partitions",
    "read_units_per_s": "read units per second",
    "relief_s": "seconds until throttling ends",
    "switches_born_on_demand": "switches to on-demand mode within a day, of a table made on demand",
    "switches_born_provisioned": "switches to on-demand mode within a day, of a table made provisioned",
    "table_throttle_events": "throttles by the table itself",
    "throttled_batches": "batches of which nothing is written",
    "throttled_share": "throttled share of the requests",
    "throttles": "throttled requests",
    "throttles_block": "throttled requests in part {} of the load",
    "units": "units consumed",
    "warm_read_after_switch": "warm read units per second of an on-demand table switched to 1 RCU",
    "warm_read_new_on_demand": "warm read units per second of a new on-demand table",
    "warm_write_after_switch": "warm write units per second of an on-demand table switched to 1 WCU",
    "warm_write_new_on_demand": "warm write units per second of a new on-demand table",
    "write_units": "write units consumed",
    "write_units_per_s": "write units per second",
}

OF_NUMBERS = {
    "partitions": "partitions of a new table of {} RCU and {} WCU",
    "partitions_after_10_gb": "partitions of a table of {} RCU and {} WCU once one has grown to 10 GB",
    "partitions_after_raise": "partitions of a table changed from {} RCU and {} WCU to {} RCU and {} WCU",
    "read_units_eventual": "read units of {} bytes, eventually consistent",
    "read_units_strong": "read units of {} bytes, strongly consistent",
    "warm_read": "warm read units per second of a new table of {} RCU and {} WCU",
    "warm_write": "warm write units per second of a new table of {} RCU and {} WCU",
    "write_kept_on_demand": "warm write units per second after {} RCU and {} WCU, lowered, then on demand",
    "write_served_after_peak": "write units per second that an on-demand table serves after a peak of {}",
    "write_served_in_a_second_on_demand": "served of {} writes in a second, each with {} index entry",
}
"""Of metrics that are worked out from the numbers behind their name."""

QUOTAS = {
    "ACCOUNT_WRITE_UNITS_PER_S": "quota of an account, write units per second",
    "DECREASES_FIRST_HOUR": "quota of decreases of capacity in the first hour of a day",
    "DECREASES_PER_DAY": "quota of decreases of capacity in a day",
    "TABLE_READ_UNITS_PER_S": "quota of a table, read units per second",
    "TABLE_WRITE_UNITS_PER_S": "quota of a table, write units per second",
}


def in_words(metric: str) -> str:
    """A metric as a person would call it. Raises `KeyError` for one that has no words."""
    what, _, detail = metric.partition(":")
    if what == "reason":
        return f"throttles for `{detail}`"
    if detail:
        return f'requests served of the step "{detail}"'
    name, *numbers = metric.split()
    if name == "quota":
        return QUOTAS[numbers[0]]
    if numbers:
        return OF_NUMBERS[name].format(*(f"{int(number):,}" for number in numbers))
    stem, _, part = name.rpartition("_")
    return WORDS[stem].format(part) if part.isdigit() else WORDS[name]


def span_in_words(from_s: float | None, to_s: float | None) -> str:
    """The part of the load between two times; empty for all of it."""
    if from_s is None and to_s is None:
        return ""
    if to_s == 0:
        return f" in the {-(from_s or 0):,g} s before"
    start = f"from {from_s or 0:,g} s"
    return f" {start} on" if to_s is None else f" {start} to {to_s:,g} s"
