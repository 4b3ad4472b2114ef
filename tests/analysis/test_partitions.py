"""What is known of a table's partitions, and clocks that differ: in evidence, in a label, in a report."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from keyheat.analysis.diagnosis import analyze_run
from keyheat.analysis.report import load_run
from keyheat.evidence import collection
from keyheat.runs.formats import (
    PartitionFacts,
    ShardCounts,
    TableFacts,
    Window,
    write_diagnosis,
    write_evidence,
)
from keyheat.runs.manifest import read_manifest
from keyheat.runs.plausibility import read_evidence
from keyheat.show.report import partition_words
from tests.analysis.runs import collect, write_run

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
SPLIT = NOON + timedelta(minutes=3, seconds=7)
FOUR = PartitionFacts(estimated=4, because="its warm throughput is 4,000 writes/s")

SENTENCES: list[tuple[PartitionFacts, str | None]] = [
    (PartitionFacts(), None),
    (FOUR, "The table had at least 4 partitions: its warm throughput is 4,000 writes/s."),
    (
        FOUR.model_copy(update={"open_shards": ShardCounts(before=4, after=5), "splits": (SPLIT,)}),
        "The table had about 4 partitions when the run began, and 5 when it ended, by the open shards of its "
        "stream; one split, at 12:03:07.",
    ),
    (
        PartitionFacts(open_shards=ShardCounts(after=1), splits=()),
        "The table had about 1 partition, by the open shards of its stream; none split.",
    ),
    (
        PartitionFacts(open_shards=ShardCounts(before=4, after=6), splits=(None, None)),
        "The table had about 4 partitions when the run began, and 6 when it ended, by the open shards of its "
        "stream; 2 split.",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("facts", "said"), SENTENCES)
def test_what_is_known_in_a_sentence(facts: PartitionFacts, said: str | None) -> None:
    assert partition_words(facts) == said


@pytest.mark.slow
def test_a_run_says_what_it_saw(tmp_path: Path, demo: Any) -> None:
    run, _ = demo("hotkey")
    noted = {
        "estimated": 4, "because": "so", "open_shards": {"before": 4, "after": 5},
        "splits": ["2026-11-20T12:00:30.000Z"], "missing": ["the shards: not you"],
    }  # fmt: skip
    write_run(tmp_path, run, partitions=noted)
    found = collect(tmp_path, run.aws())
    assert found.partitions == PartitionFacts(
        estimated=4, because="so", open_shards=ShardCounts(before=4, after=5),
        splits=(NOON + timedelta(seconds=30),),
    )  # fmt: skip
    assert "the shards: not you" in found.missing
    write_evidence(tmp_path / "evidence.json", found)
    assert read_evidence(tmp_path / "evidence.json") == found


class Others:
    """A table that others load, with a stream: two shards were open, one rolled over, the other split."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error

    def factory(self, service: str) -> "Others":
        return self

    def describe_table(self, **_asked: Any) -> dict[str, Any]:
        stream = {"StreamSpecification": {"StreamEnabled": True}, "LatestStreamArn": "arn"}
        return {"Table": {"TableName": "orders", "BillingModeSummary": {"BillingMode": "PAY_PER_REQUEST"},
                          "WarmThroughput": {"ReadUnitsPerSecond": 6_000, "WriteUnitsPerSecond": 2_000},
                          **stream}}  # fmt: skip

    def describe_limits(self) -> dict[str, Any]:
        return {}

    def describe_contributor_insights(self, **_asked: Any) -> dict[str, Any]:
        return {"ContributorInsightsStatus": "DISABLED"}

    def get_metric_data(self, **_asked: Any) -> dict[str, Any]:
        return {"MetricDataResults": []}

    def describe_stream(self, **_asked: Any) -> dict[str, Any]:
        if self.error:
            raise self.error
        ms = int(SPLIT.timestamp() * 1000)
        closed = {"SequenceNumberRange": {"EndingSequenceNumber": "9"}}
        shards: list[dict[str, Any]] = [
            {"ShardId": "shardId-a", **closed}, {"ShardId": "shardId-b", **closed},
            {"ShardId": f"shardId-{ms:020d}-c", "ParentShardId": "shardId-a"},
            {"ShardId": f"shardId-{ms:020d}-d", "ParentShardId": "shardId-b"},
            {"ShardId": f"shardId-{ms + 1:020d}-e", "ParentShardId": "shardId-b"},
        ]  # fmt: skip
        return {"StreamDescription": {"Shards": shards}}


def of_others(aws: Others, *, minutes: int = 5, later_s: float = 3_600) -> collection.Evidence:
    window = Window(start=NOON, end=NOON + timedelta(minutes=minutes))
    now_s = window.end.timestamp() + later_s
    return collection.collect_table(
        TableFacts(name="orders"), window, client_factory=aws.factory, clock=lambda: now_s,
        sleep=lambda _s: pytest.fail("nothing is to be waited for"),
    )  # fmt: skip


def test_the_shards_of_a_table_that_others_load() -> None:
    facts = of_others(Others()).partitions
    assert facts is not None
    assert facts.estimated == 2
    assert facts.open_shards == ShardCounts(before=None, after=3)
    assert facts.splits == (SPLIT,)
    before = of_others(Others(), minutes=2).partitions
    assert before is not None
    assert before.splits == ()
    long_ago = of_others(Others(), later_s=90_000).partitions
    assert long_ago is not None
    assert long_ago.splits is None  # shards of then are not kept


@pytest.mark.slow
@pytest.mark.parametrize("skew_s", [0.0, 42.4, -75.2])
def test_the_times_of_a_run_are_moved_to_the_services(skew_s: float, tmp_path: Path, demo: Any) -> None:
    """The machine's clock was off: its files say so many seconds less than the service's, or more."""
    run, expected = demo("hotkey")
    off = timedelta(seconds=-round(skew_s))
    seconds = tuple(row.model_copy(update={"second": row.second + off}) for row in run.seconds)
    throttles = tuple(row.model_copy(update={"second": row.second + off}) for row in run.throttles)
    windows = tuple(w.model_copy(update={"start": w.start + off}) for w in run.keys.windows)
    exactly = timedelta(seconds=-skew_s)
    there = run.__class__(
        **{**vars(run), "seconds": seconds, "throttles": throttles,
           "keys": run.keys.model_copy(update={"windows": windows})}
    )  # fmt: skip
    write_run(
        tmp_path, there, started_at=run.start + exactly, ended_at=run.end + exactly, clock_skew_s=skew_s
    )
    aws = run.aws()
    found = collection.collect(
        tmp_path, client_factory=aws.factory, clock=lambda: aws.clock.now_s - skew_s, sleep=aws.clock.sleep
    )
    assert (found.window, found.series, found.seconds) == (expected.window, expected.series, run.seconds)
    assert found.missing == ()
    assert read_manifest(tmp_path).started_at == run.start
    write_evidence(tmp_path / "evidence.json", found)
    diagnosis = analyze_run(tmp_path)
    assert (diagnosis.verdict.constraint, diagnosis.verdict.grade) == ("partition", "reason")
    write_diagnosis(tmp_path / "diagnosis.json", diagnosis)
    shown = load_run(tmp_path)
    assert shown.keys == run.keys
    drawn = shown.record.range()
    assert drawn is not None
    assert drawn[0] == int(run.seconds[0].second.timestamp())


def test_evidence_of_a_run_whose_wall_clock_jumped_goes_by_the_clock_before_and_says_so(
    tmp_path: Path, demo: Any
) -> None:
    """An hour forward: here it is an hour later than the minutes that are waited for."""
    run, expected = demo("hotkey")
    write_run(tmp_path, run, generator={"bound": False, "checks": [], "clock_jump_s": 3_600.0})
    aws = run.aws()
    found = collection.collect(
        tmp_path, client_factory=aws.factory, clock=lambda: aws.clock.now_s + 3_600, sleep=aws.clock.sleep
    )
    assert (found.window, found.series) == (expected.window, expected.series)
    assert found.missing[0].startswith("the exact time of the run: its machine's clock jumped by 1 h")
