"""What can this endpoint do? A few hundred requests on a table of the probe's own, unless it is known."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http.client import HTTPException
from statistics import median
from typing import Final
from uuid import uuid4

from keyheat.load.probe.capacity import BurstBounds, consumed, throttling
from keyheat.load.probe.table import (
    NoTable,
    ProbedEndpoint,
    ProbeTable,
    ServiceReply,
    asked,
    own_table,
)
from keyheat.load.transport.answer import Answer
from keyheat.load.transport.endpoint_pages import health
from keyheat.load.transport.target import Target
from keyheat.runs.capabilities import QUESTIONS, Capabilities, CapabilityFinding

DOCUMENTED: Final = CapabilityFinding(answer="yes", seen="as AWS documents it")
OURS: Final = CapabilityFinding(answer="yes", seen="as its own tests hold it to")


def known(target: Target) -> Capabilities | None:
    """What is known of the target without asking its tables; None where it is another one."""
    if target.aws:
        findings = dict.fromkeys(QUESTIONS, DOCUMENTED)
        return Capabilities(source="known", product="DynamoDB in AWS", dynamodb=True, findings=findings)
    if _is_ours(target):
        return Capabilities(
            source="known", product="Keyheat's local endpoint", findings=dict.fromkeys(QUESTIONS, OURS)
        )
    return None


def _is_ours(target: Target) -> bool:
    try:
        return b'"scale"' in health(target)
    except (OSError, HTTPException, ValueError):
        return False


LOOK_BACK_S: Final = 600
NOTHING: Final = {"pk": {"S": "nothing"}, "sk": {"S": "-"}}
ASKED_TIMES: Final = 7


def services(asked: ProbedEndpoint) -> dict[str, CapabilityFinding]:
    """What needs no table."""
    streams = asked.call("dynamodbstreams", "list_streams", {})
    return {
        "limits": _answered(asked.send("DescribeLimits"), _quota),
        "streams": CapabilityFinding(answer="no", seen=f"not served: {streams.error}")
        if streams.error
        else CapabilityFinding(answer="yes", seen="ListStreams answers"),
    }


def of_table(asked: ProbedEndpoint, table: ProbeTable) -> dict[str, CapabilityFinding]:
    """What a run asks of its table beside requests."""
    return dict(_of_table(asked, table))


def _of_table(asked: ProbedEndpoint, table: ProbeTable) -> Iterator[tuple[str, CapabilityFinding]]:
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


def _cloudwatch(asked: ProbedEndpoint, table: str) -> CapabilityFinding:
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


def _tags(asked: ProbedEndpoint, table: ProbeTable) -> CapabilityFinding:
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


def measured_latency_s(asked: ProbedEndpoint, table: str) -> float:
    """The median time of a read that finds nothing."""
    answers = [asked.send("GetItem", TableName=table, Key=NOTHING) for _ in range(ASKED_TIMES)]
    return median(answer.service_s for answer in answers)


def hello(asked: ProbedEndpoint) -> ServiceReply:
    """An answer with its headers, be it a refusal."""
    return asked.call("dynamodb", "list_tables", {"Limit": 1})


def product_of(reply: ServiceReply) -> str:
    """What the endpoint says of itself, and no more."""
    server = reply.headers.get("server")
    return f"calls itself {server}" if server else "does not say what it is"


def clock_ahead_s(reply: ServiceReply, now_s: float) -> float | None:
    """How far its clock is ahead of ours; None where it does not say. A date is cut to whole seconds."""
    try:
        return round(parsedate_to_datetime(reply.headers["date"]).timestamp() + 0.5 - now_s, 1)
    except (KeyError, ValueError, TypeError):
        return None


BOUNDS: Final = BurstBounds()


def capabilities_of(target: Target, say: Callable[[str], None]) -> Capabilities:
    """What the target can do: known, or found out. Raises `DoesNotAnswer`."""
    found = known(target)
    if found is not None:
        return found
    with asked(target) as endpoint:
        return probe(endpoint, uuid4().hex[:12], say)


def probe(
    endpoint: ProbedEndpoint, probe_id: str, say: Callable[[str], None], bounds: BurstBounds = BOUNDS
) -> Capabilities:
    """What the endpoint can do, whatever it calls itself. Raises `DoesNotAnswer`."""
    reply = hello(endpoint)
    now_s = endpoint.clock()
    findings = services(endpoint)
    latency_s = None
    try:
        with own_table(endpoint, probe_id, say) as table:
            latency_s = measured_latency_s(endpoint, table.name)
            findings |= consumed(endpoint, table.name)
            findings |= throttling(endpoint, table.name, latency_s, bounds)
            findings |= of_table(endpoint, table)
    except NoTable as refused:
        unseen = CapabilityFinding(answer="unknown", seen=f"the probe's table could not be made: {refused}")
        findings = dict.fromkeys(QUESTIONS, unseen) | findings
    return Capabilities(
        source="probed",
        product=product_of(reply),
        latency_ms=None if latency_s is None else round(1000 * latency_s, 2),
        clock_ahead_s=clock_ahead_s(reply, now_s),
        findings={name: findings[name] for name in QUESTIONS if name in findings},
    )
