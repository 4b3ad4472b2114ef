"""How much CloudWatch is asked for by one collection: what GetMetricData is paid by."""

from collections.abc import Sequence
from math import ceil

from keyheat.evidence.waiting import CLOUD, Pace
from keyheat.runs.metrics import series_keys


def most_metrics(indexes: Sequence[str] = (), *, pace: Pace = CLOUD) -> int:
    """Metrics requested at the most for a table with these global indexes: every series, in every poll.

    Polls go on until two of them agree, and end at the pace's limit; the last one may come after it.
    """
    polls = ceil(pace.limit_s / pace.poll_s) + 2
    return len(series_keys(indexes)) * polls
