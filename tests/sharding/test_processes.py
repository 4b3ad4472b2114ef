"""Writers, readers and a shrinker as processes, with boto3, on an endpoint that throttles early."""

import json
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from keyheat.endpoint.process import EndpointProcess
from keyheat.sharding import Metadata, Policy, ProvisionedCapacity, ShardReader, ShardWriter, put_item
from keyheat.sharding.metadata import Shards
from tests.outside import PATIENCE_S
from tests.sharding.actors import ITEMS, KEY, METADATA, Counts, Log, client_of

pytestmark = [pytest.mark.opens, pytest.mark.nightly]

ROOT = Path(__file__).parents[2]
SCALE = 0.02  # a partition admits 20 writes and 60 reads per second
TEN_PARTITIONS = {"ReadCapacityUnits": 15_000, "WriteCapacityUnits": 5_000}

Child = subprocess.Popen[str]
Start = Callable[..., Child]


@pytest.fixture
def url() -> Iterator[str]:
    with EndpointProcess.start(scale=SCALE) as endpoint:
        yield endpoint.url


@pytest.fixture
def start(url: str, tmp_path: Path) -> Iterator[Start]:
    """Starts a job on the endpoint; what still runs at the end of the test is killed."""
    children: list[Child] = []
    common = {
        "url": url,
        "log": str(tmp_path / "log"),
        "stop": str(tmp_path / "stop"),
        "pause": str(tmp_path / "pause"),
    }

    def begin(job: str, **needs: Any) -> Child:
        arguments = ["-m", "tests.sharding.actors", job, json.dumps(common | needs)]
        child = subprocess.Popen([sys.executable, *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True)
        children.append(child)
        return child

    yield begin
    for child in children:
        child.kill()
        child.communicate()


def make_tables(url: str, provisioned: dict[str, int] | None) -> Any:
    """The items' table, provisioned or on-demand, and that of the metadata; gives a client that retries."""
    client = client_of(url, attempts=20)
    keys = [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}]
    mode: dict[str, Any] = {"BillingMode": "PAY_PER_REQUEST"}
    if provisioned:
        mode = {"BillingMode": "PROVISIONED", "ProvisionedThroughput": provisioned}
    for name, count, how in ((ITEMS, 2, mode), (METADATA, 1, {"BillingMode": "PAY_PER_REQUEST"})):
        attributes = [{"AttributeName": key["AttributeName"], "AttributeType": "S"} for key in keys[:count]]
        client.create_table(TableName=name, KeySchema=keys[:count], AttributeDefinitions=attributes, **how)
        client.get_waiter("table_exists").wait(TableName=name, WaiterConfig={"Delay": 1})
    return client


def said(child: Child) -> dict[str, Any]:
    """What a job did, once it is over."""
    out, _ = child.communicate(timeout=PATIENCE_S)
    assert child.returncode == 0
    result: dict[str, Any] = json.loads(out)
    return result


def shards_of(client: Any) -> Shards:
    shards = Metadata(client, METADATA).read(KEY)
    assert shards is not None
    return shards


def names_in(client: Any) -> set[str]:
    """The items of the key, wherever they are."""
    reader = ShardReader(client, ITEMS, Metadata(client, METADATA), consistent=True)
    return {item["sk"]["S"] for item in reader.read(KEY)}


def watch(client: Any, enough: Callable[[list[Shards]], bool]) -> list[Shards]:
    """Every state of the metadata that could be seen, until there are enough of them."""
    states: list[Shards] = []
    gives_up_s = time.monotonic() + PATIENCE_S
    metadata = Metadata(client, METADATA)
    while not enough(states):
        assert time.monotonic() < gives_up_s, [str(state.number) for state in states]
        shards = metadata.read(KEY)
        if shards is not None and shards not in states[-1:]:
            states.append(shards)
        time.sleep(0.05)
    return states


def test_fifty_writers_raise_the_number_once_per_cooldown(url: str, start: Start, tmp_path: Path) -> None:
    """Five processes of ten threads, each a writer by itself; all may update as soon as it has cooled."""
    client = make_tables(url, TEN_PARTITIONS)
    cooldown_s = 1.0
    policy = {"cooldown_s": cooldown_s, "backoff_low_s": 0, "backoff_high_s": 0.05, "cache_s": 1,
              "history": 100, "retry_high_s": 0.4}  # fmt: skip
    writers = [start("write", name=f"w{n}", threads=10, policy=policy, trickles=False) for n in range(5)]
    watch(client, lambda states: bool(states) and states[-1].number >= 4)
    (tmp_path / "stop").touch()
    counted = sum((Counter(said(writer)) for writer in writers), Counter())
    shards = shards_of(client)
    changes = sorted(shards.history)
    assert [change.number for change in changes] == list(range(1, shards.number + 1))
    gaps_s = [(later.at_us - earlier.at_us) / 1e6 for earlier, later in pairwise(changes)]
    assert min(gaps_s) >= cooldown_s
    assert counted["shards.increments"] == shards.number - 1
    assert counted["shards.conflicts"] > 0, "they did meet"
    assert counted["shards.cooling"] > counted["shards.increments"]
    assert names_in(client) == Log(str(tmp_path / "log")).read()[0]


def test_no_item_is_ever_unreadable_while_shards_grow_and_shrink(
    url: str, start: Start, tmp_path: Path
) -> None:
    """Twice: writers bring a second shard, fall silent, and the shrinker takes it away; others go on."""
    client = make_tables(url, TEN_PARTITIONS)
    policy = {"cooldown_s": 0.5, "backoff_low_s": 0, "backoff_high_s": 0.1, "cache_s": 0.1,
              "settle_s": 0.4, "history": 4, "retry_high_s": 0.2}  # fmt: skip
    heavy = [start("write", name=f"w{n}", threads=4, policy=policy, trickles=False) for n in range(2)]
    light = start("write", name="light", threads=1, policy=policy, trickles=True)
    readers = [start("read") for _ in range(2)]
    shrinker = start("shrink", policy=policy)
    pause, states = tmp_path / "pause", list[Shards]()
    for _ in range(2):
        states += watch(client, lambda seen: bool(seen) and seen[-1].number >= 2)
        pause.touch()
        states += watch(client, lambda seen: bool(seen) and seen[-1].number == seen[-1].to_read == 1)
        pause.unlink()
    (tmp_path / "stop").touch()
    changes = list(pairwise(states))
    assert sum(after.number > before.number for before, after in changes) >= 2
    assert sum(after.number < before.number for before, after in changes) >= 2
    assert sum(after.to_read < before.to_read for before, after in changes) >= 2
    assert max(len(state.history) for state in states) <= 4
    for reader in readers:
        assert said(reader)["missing"] == []
    for child in (*heavy, light, shrinker):
        said(child)


def test_a_writer_killed_between_the_metadata_and_its_item_harms_nobody(
    url: str, start: Start, tmp_path: Path
) -> None:
    """On an on-demand table, whose throttles spell their reasons otherwise."""
    client = make_tables(url, None)
    policy: dict[str, Any] = {"cooldown_s": 0.5, "backoff_low_s": 0, "backoff_high_s": 0.1, "cache_s": 0.1}
    log = Log(str(tmp_path / "log"))
    victim = start("die", name="victim", policy=policy)
    assert victim.stdout is not None
    assert victim.stdout.readline() == f"raised {KEY}#1\n"
    victim.send_signal(signal.SIGKILL)
    victim.communicate(timeout=PATIENCE_S)
    assert victim.returncode == -signal.SIGKILL
    assert shards_of(client).number == 2
    counts = Counts()
    writer = ShardWriter(Metadata(client, METADATA), Policy(**policy), note=counts.note)
    once = client_of(url)
    while counts.numbers["shards.increments"] == 0:
        item = f"survivor-{len(log.read()[0])}"
        writer.write(KEY, put_item(once, ITEMS, {"sk": {"S": item}}))
        log.append(item)
    assert shards_of(client).number == 3
    assert names_in(client) == log.read()[0], "and nothing that was not acknowledged"


def test_a_table_that_is_too_small_gets_capacity_and_no_shards(url: str) -> None:
    make_tables(url, {"ReadCapacityUnits": 10, "WriteCapacityUnits": 1})
    policy = Policy(cooldown_s=0.1, backoff_low_s=0, backoff_high_s=0, cache_s=0.1, retry_high_s=0.1)
    client = client_of(url)
    exhaust(client)
    counts = Counts()
    waiting = ShardWriter(Metadata(client, METADATA), policy, note=counts.note)
    put = put_item(client, ITEMS, {"sk": {"S": "x"}})
    for _ in range(10):
        with pytest.raises(ClientError, match=r"Throttling|ProvisionedThroughput"):
            waiting.write(KEY, put, within_s=0.1)
    assert counts.numbers["shards.capacity_asked"] >= 10, "for each write at least once"
    assert shards_of(client).number == 1
    ask = ProvisionedCapacity(client, ITEMS, most_write_units=1_000, factor=2_000)
    asking = ShardWriter(Metadata(client, METADATA), policy, ask_for_capacity=ask)
    assert asking.write(KEY, put) == f"{KEY}#0"
    table = client.describe_table(TableName=ITEMS)["Table"]
    assert table["ProvisionedThroughput"]["WriteCapacityUnits"] == 1_000
    assert shards_of(client).number == 1


def exhaust(client: Any) -> None:
    """Spend what the table has saved, until it is the table that refuses."""
    for number in range(10_000):
        try:
            client.put_item(TableName=ITEMS, Item={"pk": {"S": f"other-{number}"}, "sk": {"S": "x"}})
        except ClientError as error:
            reasons = error.response.get("ThrottlingReasons") or error.response["throttlingReasons"]
            if {entry["reason"] for entry in reasons} == {"TableWriteProvisionedThroughputExceeded"}:
                return
    raise AssertionError("it never refused")
