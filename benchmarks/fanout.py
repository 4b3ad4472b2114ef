"""Reading 25 shards at once: how much slower is it than the slowest of its own queries, at the same load?

One Locust process with four users reads collections of 25 shards (20 items of 500 bytes each) from the local
endpoint, 500 queries/s in all; then the same users read single shards at the same 500 queries/s. A read is
timed from before its first query is made to after its items are merged, a query from before it is signed to
after its answer has come. In turns, so that a busy moment of the machine hits both; the median turn counts.
"""

import os
import sys
from statistics import median
from typing import Any

from benchmarks._child import measured_by
from benchmarks._table import Row, show
from keyheat.endpoint.process import EndpointProcess

TURNS, SECONDS = 3, 4.0
GENERATOR_CPU, SERVER_CPU = 0, 1
MOST_TIMES = 2.0


def rows() -> list[Row]:
    """Measure both kinds in turns."""
    turns: dict[str, list[dict[str, Any]]] = {"collections": [], "shards": []}
    with EndpointProcess.start(scale=1_000) as endpoint:
        os.sched_setaffinity(endpoint.pid, {SERVER_CPU})
        for _ in range(TURNS):
            for kind, results in turns.items():
                asked = (endpoint.url, kind, f"{SECONDS:g}", str(GENERATOR_CPU))
                results.append(measured_by("_fanout_process", *asked))

    def middle(kind: str, name: str) -> float:
        return float(median(result[name] for result in turns[kind]))

    ratio = median(turn["read_ms"] / turn["slowest_query_ms"] for turn in turns["collections"])
    whole_ms, alone_ms = middle("collections", "read_ms"), middle("shards", "query_ms")
    rates = f"{middle('collections', 'queries_per_s'):,.0f} queries/s"
    alone = f"{middle('shards', 'queries_per_s'):,.0f} queries/s"
    return [
        Row(
            what="read of 25 shards / its slowest query",
            measured=ratio,
            unit="times",
            at_most=MOST_TIMES,
            note="medians, same load",
        ),
        Row(what="read of 25 shards, merged", measured=whole_ms, unit="ms", note=rates),
        Row(
            what="the slowest of its 25 queries",
            measured=middle("collections", "slowest_query_ms"),
            unit="ms",
            note=rates,
        ),
        Row(what="any of its queries", measured=middle("collections", "query_ms"), unit="ms", note=rates),
        Row(what="a query on its own", measured=alone_ms, unit="ms", note=alone),
        Row(what="read of 25 shards / a query on its own", measured=whole_ms / alone_ms, unit="times"),
    ]


def main() -> int:
    """Measure and print; 0 where every bound is kept."""
    return (
        0 if show("Fan-out read of 25 shards, medians, one process against the local endpoint", rows()) else 1
    )


if __name__ == "__main__":
    sys.exit(main())
