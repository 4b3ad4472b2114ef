"""A silence is a time in which nothing is answered though something is asked, and not a slow answer."""

from keyheat.load.run.load import LEAST_S, Silence


def silent_s(answered: str, *, in_flight: int = 3, every_s: float = 1.0) -> float:
    """What looks see: after each `+` an answer has come since the look before, after each `-` none has."""
    silence = Silence(in_flight)
    found = silence.seen(100.0)
    for number, one in enumerate(answered, start=1):
        silence.answers += one == "+"
        found += silence.seen(100.0 + number * every_s)
    return found


def test_seconds_in_which_nothing_is_answered_are_counted_from_the_first() -> None:
    assert silent_s("+++" + "-" * 17) == 17.0
    assert silent_s("+" + "-" * 8 + "+" + "-" * 6) == 14.0


def test_an_endpoint_that_is_slow_is_not_silent() -> None:
    assert silent_s("---+" * 20) == 0.0
    assert silent_s("-" * int(LEAST_S - 1) + "+") == 0.0


def test_where_nothing_is_asked_nothing_is_missing() -> None:
    assert silent_s("-" * 30, in_flight=0) == 0.0


def test_after_the_load_no_time_passes() -> None:
    assert silent_s("-" * 30, every_s=0.0) == 0.0
