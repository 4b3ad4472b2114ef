"""How many metrics a collection asks for at the most."""

from keyheat.evidence.cloudwatch import PollPace, most_metrics
from keyheat.runs.metrics import series_keys


def test_every_series_is_asked_for_in_every_poll() -> None:
    assert most_metrics(pace=PollPace(poll_s=15, limit_s=600)) == 42 * len(series_keys())


def test_an_index_is_asked_for_by_itself() -> None:
    pace = PollPace(poll_s=10, limit_s=25)
    assert most_metrics(["one", "two"], pace=pace) == 5 * len(series_keys(["one", "two"]))
    assert most_metrics(["one"], pace=pace) > most_metrics(pace=pace)
