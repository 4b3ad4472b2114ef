"""Processes that write, read and shrink one key through boto3: `python -m tests.sharding.actors JOB NEEDS`.

What a job needs is JSON; it goes on until the file `stop` is there, and says on stdout, as JSON, what it did.
Acknowledged items are appended to a log that all of them share, items to be deleted with a minus before.
"""

import json
import os
import signal
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import boto3
from botocore.config import Config

from keyheat.scenario.keys import shard_keys
from keyheat.sharding import (
    Knowledge,
    Metadata,
    Policy,
    ShardReader,
    ShardShrinker,
    ShardWriter,
    empty_in,
    put_item,
)
from keyheat.sharding.client import Note

KEY, ITEMS, METADATA = "hot", "items", "shards"
LEAST_READS = 5
REST_S = 0.2  # a tenth of what one partition admits at the scale of these tests


def client_of(url: str, *, attempts: int = 1, connections: int = 10) -> Any:
    """A plain boto3 client, as an application makes one."""
    config = Config(
        retries={"total_max_attempts": attempts, "mode": "legacy"}, max_pool_connections=connections
    )
    return boto3.client(
        "dynamodb", endpoint_url=url, region_name="us-east-1", config=config,
        aws_access_key_id="local", aws_secret_access_key="local",
    )  # fmt: skip


class Log:
    """Lines that several processes append to one file, each whole."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def append(self, line: str) -> None:
        os.write(self._descriptor, f"{line}\n".encode())

    def read(self) -> tuple[set[str], set[str]]:
        """What was acknowledged so far, and what is or will be deleted."""
        with open(self._path, encoding="utf-8") as file:
            lines = file.read().split("\n")[:-1]
        return {line for line in lines if line[0] != "-"}, {line[1:] for line in lines if line[0] == "-"}


class Counts:
    """What the package says that it did."""

    def __init__(self) -> None:
        self.numbers: Counter[str] = Counter()

    def note(self, name: str, number: float) -> None:
        self.numbers[name] += int(number)


def write(job: dict[str, Any]) -> dict[str, Any]:
    """Several threads, each a writer that shares nothing with the others, until it is told to stop.

    They are silent while the file `pause` is there; one that `trickles` never is, and rests between items.
    """
    client = client_of(job["url"], connections=job["threads"])
    counts = [Counts() for _ in range(job["threads"])]
    log = Log(job["log"])

    def run(thread: int) -> None:
        writer = _writer(client, job, counts[thread].note)
        number = 0
        while not os.path.exists(job["stop"]):
            if not job["trickles"] and os.path.exists(job["pause"]):
                time.sleep(REST_S)
                continue
            number += 1
            item = f"{job['name']}-{thread}-{number}"
            writer.write(KEY, put_item(client, ITEMS, {"sk": {"S": item}}), within_s=60)
            log.append(item)
            if job["trickles"]:
                time.sleep(REST_S)

    with ThreadPoolExecutor(job["threads"]) as pool:
        list(pool.map(run, range(job["threads"])))
    return dict(sum((count.numbers for count in counts), Counter()))


def read(job: dict[str, Any]) -> dict[str, Any]:
    """Reads the whole key again and again, and names what was acknowledged before and not found."""
    client = client_of(job["url"], attempts=20)
    log = Log(job["log"])
    reader = ShardReader(client, ITEMS, Metadata(client, METADATA), sort_key="sk", consistent=True)
    reads, missing = 0, set[str]()
    while reads < LEAST_READS or not os.path.exists(job["stop"]):
        wanted, _ = log.read()
        found = [item["sk"]["S"] for item in reader.read(KEY)]
        assert found == sorted(found)
        _, deleted = log.read()
        missing |= wanted - set(found) - deleted
        reads += 1
    return {"reads": reads, "missing": sorted(missing)}


def shrink(job: dict[str, Any]) -> dict[str, Any]:
    """Shrinks the key, lets the items of its higher shards expire, and forgets those shards."""
    client = client_of(job["url"], attempts=20)
    counts, log = Counts(), Log(job["log"])
    metadata = Metadata(client, METADATA)
    shrinker = ShardShrinker(metadata, Policy(**job["policy"]), note=counts.note)
    while not os.path.exists(job["stop"]):
        shrinker.shrink(KEY, 1)
        shards = metadata.read(KEY)
        if shards is not None:
            for shard in shard_keys(KEY, shards.to_read)[shards.number :]:
                _expire(client, log, shard)
            shrinker.forget(KEY, empty_in(client, ITEMS))
        time.sleep(0.1)
    return dict(counts.numbers)


def die(job: dict[str, Any]) -> dict[str, Any]:
    """Writes until it has raised the number of shards, says so, and then waits to be killed."""
    client = client_of(job["url"])
    log, raised = Log(job["log"]), Counts()
    writer = _writer(client, job, raised.note)

    def put(shard: str) -> object:
        if raised.numbers["shards.increments"]:
            print("raised", shard, flush=True)
            signal.pause()
        return client.put_item(TableName=ITEMS, Item={"pk": {"S": shard}, "sk": {"S": item}})

    for number in range(100_000):
        item = f"{job['name']}-{number}"
        writer.write(KEY, put, within_s=60)
        log.append(item)
    raise AssertionError("it was never throttled")


def _writer(client: Any, job: dict[str, Any], note: Note) -> ShardWriter:
    metadata = Metadata(client, METADATA, note=note)
    return ShardWriter(metadata, Policy(**job["policy"]), knowledge=Knowledge(), note=note)


def _expire(client: Any, log: Log, shard: str) -> None:
    pages = client.get_paginator("query").paginate(
        TableName=ITEMS,
        ConsistentRead=True,
        KeyConditionExpression="pk = :p",
        ExpressionAttributeValues={":p": {"S": shard}},
    )
    for item in [item for page in pages for item in page["Items"]]:
        log.append(f"-{item['sk']['S']}")
        client.delete_item(TableName=ITEMS, Key={"pk": item["pk"], "sk": item["sk"]})


JOBS = {"write": write, "read": read, "shrink": shrink, "die": die}

if __name__ == "__main__":
    print(json.dumps(JOBS[sys.argv[1]](json.loads(sys.argv[2]))))
