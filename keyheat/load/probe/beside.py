"""What else the endpoint serves: CloudWatch, quotas, streams, and what the run asks of a table."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from statistics import median
from typing import Final

from keyheat.load.probe.asked import Asked, Reply
from keyheat.load.probe.table import ProbeTable
from keyheat.load.transport.answer import Answer
from keyheat.runs.capabilities import CapabilityFinding

LOOK_BACK_S: Final = 600
NOTHING: Final = {"pk": {"S": "nothing"}, "sk": {"S": "-"}}
ASKED_TIMES: Final = 7


def services(asked: Asked) -> dict[str, CapabilityFinding]:
    """What needs no table."""
    streams = asked.call("dynamodbstreams", "list_streams", {})
    return {
        "limits": _answered(asked.send("DescribeLimits"), _quota),
        "streams": CapabilityFinding(answer="no", seen=f"not served: {streams.error}")
        if streams.error
        else CapabilityFinding(answer="yes", seen="ListStreams answers"),
    }


def of_table(asked: Asked, table: ProbeTable) -> dict[str, CapabilityFinding]:
    """What a run asks of its table beside requests."""
    return dict(_of_table(asked, table))


def _of_table(asked: Asked, table: ProbeTable) -> Iterator[tuple[str, CapabilityFinding]]:
    yield "cloudwatch", _cloudwatch(asked, table.name)
    for name, member in (
        ("warm_throughput", "WarmThroughput"),
        ("deletion_protection", "DeletionProtectionEnabled"),
    ):
        there = member in table.described
        yield (
            name,
            CapabilityFinding(
                answer="yes" if there else "no", seen=f"DescribeTable has {'' if there else 'no '}{member}"
            ),
        )
    answers = {
        "insights": asked.send("DescribeContributorInsights", TableName=table.name),
        "backups": asked.send("DescribeContinuousBackups", TableName=table.name),
    }
    yield from ((name, _answered(answer)) for name, answer in answers.items())
    yield "tags", _tags(asked, table)


def _cloudwatch(asked: Asked, table: str) -> CapabilityFinding:
    metric = {
        "Namespace": "AWS/DynamoDB",
        "MetricName": "ConsumedWriteCapacityUnits",
        "Dimensions": [{"Name": "TableName", "Value": table}],
    }
    now_s = asked.clock()
    reply = asked.call(
        "cloudwatch",
        "get_metric_data",
        {
            "MetricDataQueries": [{"Id": "a", "MetricStat": {"Metric": metric, "Period": 60, "Stat": "Sum"}}],
            "StartTime": datetime.fromtimestamp(now_s - LOOK_BACK_S, UTC),
            "EndTime": datetime.fromtimestamp(now_s + 60, UTC),
        },
    )
    if reply.error:
        return CapabilityFinding(answer="no", seen=f"not served: {reply.error}")
    if any(result.get("Values") for result in reply.content.get("MetricDataResults", [])):
        return CapabilityFinding(answer="yes", seen="GetMetricData answers, with points of this table")
    return CapabilityFinding(
        answer="yes", seen="GetMetricData answers; whether points arrive is seen in the run"
    )


def _tags(asked: Asked, table: ProbeTable) -> CapabilityFinding:
    if not table.tagged:
        return CapabilityFinding(answer="no", seen="CreateTable refused tags")
    answer = asked.send("ListTagsOfResource", ResourceArn=table.arn)
    if not answer.accepted:
        return _answered(answer)
    kept = any(tag.get("Key") == "keyheat" for tag in answer.content().get("Tags", []))
    return CapabilityFinding(
        answer="yes" if kept else "no", seen="those of CreateTable are listed" if kept else "none was kept"
    )


def _answered(
    answer: Answer, words: Callable[[Answer], str] = lambda _answer: "it answers"
) -> CapabilityFinding:
    if answer.accepted:
        return CapabilityFinding(answer="yes", seen=words(answer))
    return CapabilityFinding(answer="no", seen=f"not served: {answer.error_code}")


def _quota(answer: Answer) -> str:
    found = answer.content()
    pair = [found.get(f"TableMax{side}CapacityUnits") for side in ("Read", "Write")]
    return f"{pair[0]} read and {pair[1]} write units for a table"


def latency_s(asked: Asked, table: str) -> float:
    """The median time of a read that finds nothing."""
    answers = [asked.send("GetItem", TableName=table, Key=NOTHING) for _ in range(ASKED_TIMES)]
    return median(answer.service_s for answer in answers)


def hello(asked: Asked) -> Reply:
    """An answer with its headers, be it a refusal."""
    return asked.call("dynamodb", "list_tables", {"Limit": 1})


def product_of(reply: Reply) -> str:
    """What the endpoint says of itself, and no more."""
    server = reply.headers.get("server")
    return f"calls itself {server}" if server else "does not say what it is"


def clock_ahead_s(reply: Reply, now_s: float) -> float | None:
    """How far its clock is ahead of ours; None where it does not say. A date is cut to whole seconds."""
    try:
        return round(parsedate_to_datetime(reply.headers["date"]).timestamp() + 0.5 - now_s, 1)
    except (KeyError, ValueError, TypeError):
        return None
