"""What is known of a table's partitions, and clocks that differ: in evidence, in a label, in a report."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
from botocore.exceptions import ClientError

from keyheat.analysis.diagnosis import analyze_run, diagnosed
from keyheat.analysis.report.facts import facts_of
from keyheat.analysis.report.run import ReportRun, load_run
from keyheat.analysis.report.seconds import read_record
from keyheat.evidence import collection
from keyheat.evidence.partitions import by_estimate
from keyheat.pages.run.sections import charts_of
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
from keyheat.wording.partitions import partition_words
from keyheat.words import Capacity
from tests.analysis.runs import collect, write_run
from tests.endpoint.streamed import Streamed

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


def test_the_estimate_is_of_what_is_warm_or_provisioned() -> None:
    table = TableFacts(name="orders", provisioned=Capacity(read=5, write=2_500))
    found = by_estimate(table)
    assert found is not None
    assert found.estimated == 3
    assert by_estimate(TableFacts(name="orders")) is None


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


def test_without_permission_the_estimate_is_left_and_it_is_said() -> None:
    denied = ClientError({"Error": {"Code": "AccessDeniedException", "Message": "not you"}}, "DescribeStream")
    found = of_others(Others(denied))
    assert found.partitions is not None
    assert (found.partitions.estimated, found.partitions.open_shards) == (2, None)
    assert any("not you" in line for line in found.missing)


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
    drawn = read_record(shown).range()
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
    assert found.missing[0].startswith("when exactly the run was: its machine's clock jumped by 1 h")


def test_a_split_for_heat_on_an_endpoint_of_ours_is_seen_and_explains_why_the_throttles_ended() -> None:
    """One partition key with random sort keys, 12 writes a second where a partition admits 10."""
    streamed = Streamed(scale=0.01)
    clock, model = streamed.app.clock, streamed.app.service.catalog.get("orders").model
    start = datetime.fromtimestamp(clock(), UTC)
    split_s: float | None = None
    rng = Random(5)
    for _ in range(12 * 1_200):
        clock.advance(1 / 12)
        model.admit_write(b"12345678" + rng.randbytes(8), 1.0, clock())
        if split_s is None and model.partition_count() > 4:
            split_s = clock()
        if split_s is not None and clock() > split_s + 300:
            break
    assert split_s is not None
    end_s = clock() // 60 * 60
    clock.advance(120)
    clients = {
        "dynamodb": streamed.ddb, "dynamodbstreams": streamed.streams, "cloudwatch": streamed.app.cloudwatch
    }  # fmt: skip
    found = collection.collect_table(
        TableFacts(name="orders"), Window(start=start, end=datetime.fromtimestamp(end_s, UTC)),
        client_factory=clients.__getitem__, clock=clock, sleep=clock.advance,
    )  # fmt: skip
    assert found.partitions is not None
    assert found.partitions.open_shards == ShardCounts(after=5)
    (seen,) = found.partitions.splits or ()
    assert seen is not None
    assert seen.timestamp() == pytest.approx(split_s, abs=1)
    (label,) = diagnosed(found).labels
    assert (label.constraint, label.rule) == ("partition", "key-range-split-seen")
    assert any(f"was split at {seen:%H:%M:%S}" in line for line in label.because)
    assert any("one split, at" in note for section in _sections(found) for note in section.notes)


def _sections(found: collection.Evidence) -> Any:
    run = ReportRun(diagnosis=diagnosed(found), evidence=found, alone=True)
    record = read_record(run)
    return charts_of(run, record, facts_of(run, record))
