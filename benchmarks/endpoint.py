"""The local endpoint on one core, load from the other: start, requests per second, memory, and longest stall.

python -m benchmarks.endpoint [--seconds 3] [--items 1000000] [--only start,rates,memory,stalls]
"""

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

import boto3
import psutil
from botocore.config import Config

from benchmarks._generator import Answered, Load, drive, ours
from benchmarks._rivals import MOTO, RIVALS, running
from benchmarks._table import Row, show
from keyheat.endpoint.process import EndpointProcess
from keyheat.shipped import ROOT

ENDPOINT_CPU, LOAD_CPU = 0, 1
COMPILED = ROOT / ".compiled" / "site"
UNLIMITED = 10_000.0  # scale of the rate limits: nothing throttles, but every gate is asked
STORED = 100_000
PER_GROUP = 10
STARTS = 9
TURNS = 2  # of each measurement, of which the best counts: other work on the machine only ever takes away

FILLER = "x" * 980
PUT = Load(
    operation="PutItem",
    body='{"TableName":"bench","Item":{"pk":{"S":"key-{n}"},"data":{"S":"' + FILLER + '"}}}',
    keys=STORED,
)
GET = Load(operation="GetItem", body='{"TableName":"bench","Key":{"pk":{"S":"key-{n}"}}}', keys=STORED)
UPDATE = Load(
    operation="UpdateItem",
    body='{"TableName":"bench","Key":{"pk":{"S":"counter-{n}"}},"UpdateExpression":"ADD hits :one",'
    '"ExpressionAttributeValues":{":one":{"N":"1"}}}',
    keys=10_000,
)
CONDITION = ',"ConditionExpression":"attribute_exists(pk) AND size(#d) > :n",' + (
    '"ExpressionAttributeNames":{"#d":"data"},"ExpressionAttributeValues":{":n":{"N":"1"}}}'
)
CONDITIONAL_PUT = replace(PUT, body=PUT.body.removesuffix("}") + CONDITION)
EXPECTING_PUT = replace(PUT, body=PUT.body.removesuffix("}") + ',"Expected":{"none":{"Exists":false}}}')
SELECT = Load(
    operation="ExecuteStatement",
    body='{"Statement":"SELECT * FROM bench WHERE pk = ?","Parameters":[{"S":"key-{n}"}]}',
    keys=STORED,
)
SET = Load(
    operation="ExecuteStatement",
    body='{"Statement":"UPDATE bench SET data = ? WHERE pk = ?","Parameters":[{"S":"'
    + FILLER
    + '"},{"S":"key-{n}"}]}',
    keys=STORED,
)
QUERY = Load(
    operation="Query",
    body='{"TableName":"grouped","IndexName":"by-group","KeyConditionExpression":"g = :g",'
    '"ExpressionAttributeValues":{":g":{"N":"{n}"}}}',
    keys=STORED // PER_GROUP,
)


def client(url: str) -> Any:
    """boto3 for what is done once."""
    return boto3.client(
        "dynamodb",
        endpoint_url=url,
        region_name="us-east-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
        config=Config(retries={"total_max_attempts": 1}),
    )


def create(url: str, name: str, **more: Any) -> None:
    """An on-demand table with the key `pk`, ready for use."""
    attributes = [{"AttributeName": "pk", "AttributeType": "S"}, *more.pop("attributes", [])]
    made = client(url)
    made.create_table(
        TableName=name,
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=attributes,
        BillingMode="PAY_PER_REQUEST",
        **more,
    )
    made.get_waiter("table_exists").wait(TableName=name, WaiterConfig={"Delay": 1})


def fill_groups(url: str) -> None:
    """100,000 items in groups of ten, with an index on the group."""
    index = {
        "IndexName": "by-group",
        "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"},
    }
    create(
        url,
        "grouped",
        attributes=[{"AttributeName": "g", "AttributeType": "N"}],
        GlobalSecondaryIndexes=[index],
    )
    for member in range(PER_GROUP):
        item = '{"pk":{"S":"MEMBER-{n}"},"g":{"N":"{n}"},"data":{"S":"some hundred bytes"}}'
        body = '{"TableName":"grouped","Item":' + item.replace("MEMBER", str(member)) + "}"
        require(ours(url, Load(operation="PutItem", body=body, keys=QUERY.keys), requests=QUERY.keys))


def require(answered: Answered) -> Answered:
    """The answers, all of which are to be good. Raises RuntimeError."""
    if answered.failed:
        raise RuntimeError(f"{answered.failed} requests failed; the numbers would say nothing")
    return answered


@contextmanager
def fresh(root: Path = ROOT) -> Iterator[tuple[str, int]]:
    """An endpoint with an empty table `bench`, on its core; gives its URL and process id."""
    with EndpointProcess.start(scale=UNLIMITED, root=root) as process:
        os.sched_setaffinity(process.pid, {ENDPOINT_CPU})
        create(process.url, "bench")
        yield process.url, process.pid


def rates(seconds: float) -> list[Row]:
    """Each operation alone, as it is and compiled, and PutItem and GetItem of the others in the same run."""
    rows, puts, gets = _own_rates(seconds)
    if COMPILED.is_dir():
        more, puts, gets = _own_rates(seconds, COMPILED)
        rows += [replace(row, what=f"compiled: {row.what}") for row in more]
    else:
        print("there is no compiled build, so it is not measured (make compiled)")
    theirs = [row for rival in _rival_rates(seconds) for row in rival]
    return rows + theirs + [*_against("PutItem", puts, theirs, 3), *_against("GetItem", gets, theirs, 2)]


def _against(operation: str, mine: Answered, theirs: list[Row], at_least: float) -> Iterator[Row]:
    """How many times as many requests a second as of the fastest other one, and as of moto."""
    rates_per_s = {row.what.partition(":")[0]: row.measured for row in theirs if row.what.endswith(operation)}
    if not rates_per_s:
        return
    fastest = max(rates_per_s, key=lambda name: rates_per_s[name])
    ratio = mine.per_s / rates_per_s[fastest]
    yield Row(what=f"{operation} against {fastest}", measured=ratio, unit="times", at_least=at_least)
    if MOTO.name in rates_per_s and operation == "PutItem":
        ratio = mine.per_s / rates_per_s[MOTO.name]
        yield Row(what=f"{operation} against {MOTO.name}", measured=ratio, unit="times", at_least=20)


def _own_rates(seconds: float, root: Path = ROOT) -> tuple[list[Row], Answered, Answered]:
    """What one build of ours answers, and what came back of its puts and gets."""
    with fresh(root) as (url, pid):
        puts = _measured(url, pid, PUT, seconds)
        require(ours(url, PUT, requests=STORED))
        gets = _measured(url, pid, GET, seconds)
        updates = _measured(url, pid, UPDATE, seconds)
        conditional = _measured(url, pid, CONDITIONAL_PUT, seconds)
        expecting = _measured(url, pid, EXPECTING_PUT, seconds)
        selects, sets = _measured(url, pid, SELECT, seconds), _measured(url, pid, SET, seconds)
        fill_groups(url)
        queries = _measured(url, pid, QUERY, seconds)
    rows = [
        _rate("PutItem, 1 KB", *puts, at_least=12_000),
        _rate("GetItem, 1 KB", *gets, at_least=20_000),
        _beside("PutItem with a condition", conditional, "PutItem", puts),
        _beside("PutItem with Expected", expecting, "PutItem", puts),
        _beside("ExecuteStatement, SELECT of one item", selects, "GetItem", gets),
        _beside("ExecuteStatement, UPDATE of one item", sets, "PutItem", puts),
        _rate("UpdateItem, counter expression", *updates, at_least=4_000),
        _rate("Query, 10 items of an index over 100,000", *queries, at_least=4_000),
    ]
    return rows, puts[0], gets[0]


def _measured(url: str, pid: int, load: Load, seconds: float) -> tuple[Answered, float]:
    """What came back, and the endpoint's CPU time per request in us, which a busy machine does not change."""
    return max((_turn(url, pid, load, seconds) for _ in range(TURNS)), key=lambda turn: turn[0].per_s)


def _turn(url: str, pid: int, load: Load, seconds: float) -> tuple[Answered, float]:
    server = psutil.Process(pid)
    before_s = sum(server.cpu_times()[:2])
    answered = require(drive(url, load, seconds))
    spent_s = sum(server.cpu_times()[:2]) - before_s
    return answered, spent_s / answered.answered * 1e6


def _rate(what: str, answered: Answered, cpu_us: float | None = None, at_least: float | None = None) -> Row:
    note = f"p99 {answered.p99_ms:.2f} ms" + ("" if cpu_us is None else f", CPU {cpu_us:.0f} us each")
    return Row(what=what, measured=answered.per_s, unit="requests/s", at_least=at_least, note=note)


def _beside(what: str, mine: tuple[Answered, float], plain: str, theirs: tuple[Answered, float]) -> Row:
    """A rate, and how it is to that of the operation without more to it."""
    row = _rate(what, *mine)
    return replace(row, note=f"{mine[0].per_s / theirs[0].per_s:.2f} times {plain}; {row.note}")


def _rival_rates(seconds: float) -> Iterator[list[Row]]:
    for rival in RIVALS:
        if not rival.installed():
            print(f"{rival.name} is not installed, so it is not compared ({rival.installed_by})")
            continue
        with running(rival, ENDPOINT_CPU) as url:
            create(url, "bench")
            turns = [require(drive(url, PUT, seconds)) for _ in range(TURNS)]
            gets = require(drive(url, GET, seconds))
        theirs = max(turns, key=lambda turn: turn.per_s)
        yield [_rate(f"{rival.name}: PutItem", theirs), _rate(f"{rival.name}: GetItem", gets)]


def memory() -> list[Row]:
    """The whole process with 100,000 items of 1 KB in it."""
    with fresh() as (url, pid):
        before_mb = psutil.Process(pid).memory_info().rss / 1e6
        require(ours(url, PUT, requests=STORED))
        after_mb = psutil.Process(pid).memory_info().rss / 1e6
    note = f"{before_mb:.0f} MB of it when empty"
    return [Row(what="Memory of 100,000 items of 1 KB", measured=after_mb, unit="MB", at_most=170, note=note)]


def stalls(items: int, item_bytes: int) -> list[Row]:
    """The longest that any of 16 clients waited while items were written."""
    load = replace(PUT, body=PUT.body.replace(FILLER, "x" * item_bytes), keys=items)
    with fresh() as (url, _):
        answered = require(ours(url, load, requests=items))
    note = f"{answered.per_s:,.0f} items/s, p99 {answered.p99_ms:.2f} ms"
    what = f"Longest wait in {items:,} puts"
    return [Row(what=what, measured=answered.longest_ms, unit="ms", at_most=50, note=note)]


def start() -> list[Row]:
    """From the start of a process to its line `ready`, and what it holds then."""
    keyheat = str(Path(sys.executable).with_name("keyheat"))
    rows = []
    for words in ([keyheat, "local"], [sys.executable, "-m", "keyheat.endpoint"]):
        took = sorted(_started([*words, "--port", "0"]) for _ in range(STARTS))
        (took_s, cpu_s, _), what = took[0], " ".join([Path(words[0]).name, *words[1:]])
        note = f"the soonest of {STARTS}, median {took[STARTS // 2][0]:.2f} s, CPU {cpu_s:.2f} s"
        rows.append(Row(what=f"{what}: ready", measured=took_s, unit="s", at_most=0.5, note=note))
        mb = max(one[2] for one in took)
        rows.append(Row(what=f"{what}: empty", measured=mb, unit="MB", at_most=60))
    return rows


def _started(words: list[str]) -> tuple[float, float, float]:
    """Seconds until it is ready, seconds of CPU until then, and its MB."""
    began_s = perf_counter()
    with subprocess.Popen(words, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        ready, took_s = child.stdout.readline(), perf_counter() - began_s
        process = psutil.Process(child.pid)
        cpu_s, mb = sum(process.cpu_times()[:2]), process.memory_info().rss / 1e6
        child.terminate()
    if not ready.startswith(b"ready "):
        raise RuntimeError(f"{' '.join(words)} was not ready: {ready!r}")
    return took_s, cpu_s, mb


MEASUREMENTS = ("start", "rates", "memory", "stalls")


def main(arguments: list[str] | None = None) -> int:
    """Measure and print; 0 where every target is kept."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.endpoint", description=__doc__.split("\n")[0])
    parser.add_argument(
        "--seconds", type=float, default=3.0, help="of each turn of a measurement (%(default)s)"
    )
    parser.add_argument(
        "--items", type=int, default=1_000_000, help="written to look for stalls (%(default)s)"
    )
    parser.add_argument("--item-bytes", type=int, default=980, help="size of those items (%(default)s)")
    parser.add_argument("--only", default=",".join(MEASUREMENTS), help="which, with commas (%(default)s)")
    options = parser.parse_args(arguments)
    wanted = options.only.split(",")
    if unknown := [name for name in wanted if name not in MEASUREMENTS]:
        parser.error(f"--only: there is no {', '.join(unknown)}; there are {', '.join(MEASUREMENTS)}")
    if not shutil.which("wrk"):
        print("wrk is not installed: a slower generator is used, and high rates are its, not the endpoint's")
    measurements: dict[str, Callable[[], list[Row]]] = {
        "start": start,
        "rates": lambda: rates(options.seconds),
        "memory": memory,
        "stalls": lambda: stalls(options.items, options.item_bytes),
    }
    os.sched_setaffinity(0, {LOAD_CPU})
    rows = [row for name in wanted for row in measurements[name]()]
    return 0 if show("Local endpoint, one core, 16 connections", rows) else 1


if __name__ == "__main__":
    sys.exit(main())
