"""What a dry run shows of a load test, and what it says of one that it cannot sample."""

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import orjson
import pytest

from keyheat.scenario.scenario import Scenario, ScenarioError
from keyheat.simulator import dryrun
from keyheat.simulator.flow import Flow
from keyheat.simulator.loadtest import DryRun, LoadTest, RequestKind, stated_loadtest
from keyheat.simulator.setting import TrafficSetting
from keyheat.simulator.traffic import Sending, spreads_itself, traffic_of
from tests.conftest import Golden
from tests.make import SCENARIOS, a_scenario, a_shipped

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("dryrun")]

HEAD = """
from locust import TaskSet, tag, task, between
from keyheat.load.users.operations import ItemUser
from keyheat.load.users.readers import Reader
from keyheat.load.users.user import TableUser
"""
ONE = "class Mine(TableUser):\n    @task\n    def write(self):\n        {}\n"


def scenario(**changes: Any) -> Scenario:
    table = {
        "name": "own-table", "sort_key": "sk", "provisioned": {"read": 1_000, "write": 1_000},
        "indexes": [{
            "name": "by-team", "partition_key": "team", "sort_key": "at",
            "provisioned": {"read": 1_000, "write": 1_000},
        }],
    }  # fmt: skip
    raw = {
        "loadtest": "./mine.py", "table": table, "keys": {"kind": "hot_key", "share": 0.5, "keys": 1_000},
        "load": {"users": 10, "requests_per_s": 1_000, "duration_s": 20, "item_bytes": 500},
    }  # fmt: skip
    return a_scenario(**raw | changes)


def run_dry(folder: Path, body: str, **changes: Any) -> DryRun:
    """The result for a file; all files of these tests share one process."""
    path = folder / "mine.py"
    path.write_text(HEAD + body)
    return dryrun._dry_run_of(
        ("tests", 0), orjson.dumps([str(path), dryrun._sent_by(scenario(**changes)), ""])
    )


def sample(folder: Path, body: str, **changes: Any) -> LoadTest:
    result = run_dry(folder, body, **changes)
    assert result.loadtest is not None, result
    return result.loadtest


def kinds(folder: Path, body: str, **changes: Any) -> dict[str, list[RequestKind]]:
    """What its tasks send, by the name of each."""
    users = sample(folder, body, **changes).users
    return {task.name: list(task.kinds) for one in users for task in one.tasks}


def only(tasks: dict[str, list[RequestKind]]) -> RequestKind:
    ((kind,),) = tasks.values()
    return kind


def second(folder: Path, body: str, **changes: Any) -> Sequence[Flow]:
    """What it sends in its first second."""
    loadtest = sample(folder, body, **changes)
    setting = TrafficSetting(scenario(**changes), Random(1), folder)
    return Sending(setting, loadtest).second(0)


KEYS = {
    "self.draw_key()": ["{key}"],
    'f"{self.draw_key()}#{self.rng.randrange(self.shards)}"': [f"{{key}}#{n}" for n in range(4)],
    "f\"{self.draw_key()}/{self.rng.choice('ab')}\"": ["{key}/a", "{key}/b"],
    'f"team-{self.rng.randint(1, 30)}-x"': [f"team-{n}-x" for n in range(1, 31)],
    '"config"': ["config"],
    'f"user-{self.number}"': [f"user-{n}" for n in range(987, 997)],
}


@pytest.mark.parametrize(("key", "texts"), KEYS.items())
def test_keys_are_compared_with_what_was_drawn(tmp_path: Path, key: str, texts: list[str]) -> None:
    keys = {"kind": "hot_key", "share": 0.5, "keys": 1_000, "shards": 4}
    kind = only(kinds(tmp_path, ONE.format(f"self.put({key})"), keys=keys))
    assert dict(kind.key.texts) == pytest.approx(dict.fromkeys(texts, 1 / len(texts)))
    assert (kind.operation, kind.times, kind.within) == ("PutItem", 1.0, "rising")


def test_a_key_that_decides_its_own_suffix_stays_in_one_place(tmp_path: Path) -> None:
    body = ONE.format("key = self.draw_key(); self.put(f'{key}#{sum(map(ord, key)) % 4}')")
    (flow,) = second(tmp_path, body)
    assert max(flow.keys.shares) == pytest.approx(0.5, abs=0.05), "the hot key is not spread"


def test_keys_that_no_draw_explains_are_counted(tmp_path: Path) -> None:
    """Chance of the file's own: one in ten is the hot key, the others are of a thousand."""
    body = "import random\n" + ONE.format(
        'self.put("hot-one" if random.random() < 0.1 else f"cold-{random.randrange(1_000)}x")'
    )
    (flow,) = second(tmp_path, body)
    hot = int(flow.keys.shares.argmax())
    assert (flow.keys.name(hot), flow.keys.shares[hot]) == ("hot-one", pytest.approx(0.1, abs=0.03))
    assert sorted(flow.keys.shares)[-2] < 0.02
    assert len(flow.keys.points) > 30, "some of the others are named, for the hottest keys of a report"


def test_keys_that_follow_one_another_have_their_seconds(tmp_path: Path) -> None:
    body = ONE.format('self.put("early" if self.elapsed_s < 7.3 else f"part-{int(self.elapsed_s) // 10}")')
    found = kinds(tmp_path, body)["write"]
    assert [(one.key.texts[0][0], one.from_s, one.until_s) for one in found] == [
        ("early", 0.0, pytest.approx(7.3, abs=0.02)),
        ("part-0", pytest.approx(7.3, abs=0.02), pytest.approx(10, abs=0.02)),
        ("part-1", pytest.approx(10, abs=0.02), None),
    ]


def test_tasks_and_classes_have_their_weights(tmp_path: Path) -> None:
    body = """
class Writer(TableUser):
    @task(4)
    def write(self):
        self.put(self.draw_key())

    @task(1)
    def correct(self):
        self.put("corrections")

class Auditor(Reader):
    fixed_count = 2

    @task
    def read(self):
        self.read_shards((self.draw_key(),), limit=5)
"""
    flows = second(tmp_path, body)
    told = {(one.operation, one.keys.name(int(one.keys.shares.argmax()))): one.requests for one in flows}
    writes = {("PutItem", "hot"): 800 * 0.8, ("PutItem", "corrections"): 800 * 0.2}
    assert told == pytest.approx({**writes, ("Query", "hot"): 200})


def test_a_sparse_index_is_written_less(tmp_path: Path) -> None:
    body = """
class Mine(TableUser):
    @task
    def write(self):
        self._even = not getattr(self, "_even", False)
        at = self.next_sort_key()
        team = self.draw_key() if self._even else None
        self.put(f"order-{self.rng.randrange(100_000)}", at, attributes={"team": team, "at": at})
"""
    team = dict(only(kinds(tmp_path, body)).attributes)["team"]
    assert (team.key.texts, team.within, team.present) == (
        (("{key}", 1.0),),
        "rising",
        pytest.approx(0.5, rel=0.01),
    )
    (flow,) = second(tmp_path, body)
    (entry,) = flow.index_writes
    assert (entry.units, max(entry.keys.shares)) == (pytest.approx(0.5, rel=0.01), pytest.approx(0.5))


def test_every_user_may_have_a_key_of_its_own(tmp_path: Path) -> None:
    body = """
class Mine(TableUser):
    def __init__(self, environment):
        super().__init__(environment)
        self.mine = f"shop-{self.number}"

    @task
    def write(self):
        self.put(self.mine)
"""
    load = {"users": 5_000, "requests_per_s": 1_000, "duration_s": 20, "item_bytes": 500}
    (flow,) = second(tmp_path, body, load=load)
    each = flow.keys.even / flow.keys.distinct if flow.keys.even else max(flow.keys.shares)
    assert each == pytest.approx(1 / 5_000)


def test_a_put_of_what_was_not_found_is_seen_as_such(tmp_path: Path) -> None:
    body = """
class Mine(Reader):
    @task
    def look(self):
        key = self.draw_key()
        if not self.read_item(key, consistent=False).items:
            self.put(key)
"""
    table = {"name": "own-table", "provisioned": {"read": 1_000, "write": 1_000}}
    found = kinds(tmp_path, body, table=table)["look"]
    assert {(one.operation, one.if_missing) for one in found} == {("GetItem", False), ("PutItem", True)}


def test_sets_of_tasks_and_sizes_of_ones_own_are_taken(tmp_path: Path) -> None:
    body = """
import json

class Documents(TaskSet):
    @task(3)
    def write(self):
        keys = {"pk": {"S": self.user.draw_key()}, "sk": {"S": self.user.next_sort_key()}}
        item = {**keys, "body": {"S": "x" * 5_000}}
        request = json.dumps({"TableName": "own-table", "Item": item}).encode()
        self.user.send("PutItem", request, key="k", direction="write", units=5)

    @task(1)
    def write_small(self):
        self.user.put("small")
        self.interrupt()

class Mine(TableUser):
    tasks = [Documents]
"""
    large, small = second(tmp_path, body)
    assert (large.requests, large.units) == (pytest.approx(750), pytest.approx(5))
    assert (small.requests, small.units) == (pytest.approx(250), pytest.approx(1))


def test_an_update_costs_what_the_item_weighs_after_it(tmp_path: Path) -> None:
    """However long its values are, of which only the beginning is kept."""
    body = """
class Mine(ItemUser):
    @task
    def view(self):
        key = self.draw_key()
        sort = self.next_sort_key()
        self.put(key, sort)
        seen = {"UpdateExpression": "SET seen = :s", "ExpressionAttributeValues": {":s": {"S": "now"}}}
        self.ask("UpdateItem", key, 2.0, Key=self.load.items.values.key(key, sort), **seen)
"""
    load = {"users": 10, "requests_per_s": 1_000, "duration_s": 20, "item_bytes": 1_500}
    put, update = second(tmp_path, body, load=load)
    assert (put.units, update.units) == (2.0, 2.0)


def test_an_update_that_removes_the_key_of_an_index_deletes_its_entry(tmp_path: Path) -> None:
    body = """
class Mine(ItemUser):
    @task
    def leave(self):
        key, sort = self.draw_key(), self.next_sort_key()
        self.put(key, sort, attributes={"team": "red", "at": sort})
        names = {"#t": "team", "#w": "was"}
        leave = {
            "UpdateExpression": "SET #w = :was REMOVE #t, other", "ExpressionAttributeNames": names,
            "ExpressionAttributeValues": {":was": {"S": "red"}},
        }
        self.ask("UpdateItem", key, 1.0, Key=self.load.items.values.key(key, sort), **leave)
"""
    put, update = second(tmp_path, body)
    assert [(entry.index, entry.units) for entry in put.index_writes] == [("by-team", 1.0)]
    assert [(entry.index, entry.units) for entry in update.index_writes] == [("by-team", 1.0)]
    assert update.index_writes[0].keys.name(0) == "red"


def test_somebody_elses_file_has_a_process_of_its_own(tmp_path: Path) -> None:
    """Its neighbours are found, what it prints disturbs nobody, and who asks for shards is known."""
    (tmp_path / "own_bases.py").write_text(
        "from gevent import monkey, Timeout\nmonkey.patch_all()\n"
        "from keyheat.load.users.user import TableUser\n\n"
        "class Base(TableUser):\n    abstract = True\n    name = 'a'\n"
    )
    body = (
        "from own_bases import Base\nprint('loaded')\n\nclass Mine(Base):\n    @task\n    def write(self):\n"
        "        self.put(f'{self.name}#{self.rng.randrange(self.shards)}')\n"
    )
    (tmp_path / "mine.py").write_text(HEAD + body)
    keys = {"kind": "uniform", "keys": 10, "shards": 3}
    (flow,) = traffic_of(scenario(keys=keys), 1, tmp_path).second(1)
    assert sorted(map(flow.keys.name, range(3))) == ["a#0", "a#1", "a#2"]
    assert spreads_itself(scenario(keys=keys), tmp_path)


NOT_RUN = {
    "it is nobody of ours": "from locust import User\nclass Mine(User):\n    @task\n    def get(self): ...\n",
    "it raises when it is imported": "number = 1 / 0\n",
    "it imports what is not there": "import nowhere\n",
    "it has no user class": "",
    "it ends the process": "import sys\nsys.exit(3)\n",
    "it reaches for a table": "import boto3\nboto3.client('dynamodb').list_tables()\n",
    "it reaches for another one": "import socket\nsocket.create_connection(('127.0.0.1', 8000))\n",
    "it has users without tasks": "class One(TableUser): ...\nclass Two(TableUser): ...\n",
}
NOT_SAMPLED = {
    "a task raises": ONE.format("{}['team']"),
    "a key that is no text": ONE.format("self.ask('Query', None, 1)"),
    "it sends past us": ONE.format("pass"),
    "it waits as it likes": ONE.format("self.put('a')") + "    wait_time = between(1, 2)\n",
    "it sends what we do not have": ONE.format(
        "self.send('ExecuteStatement', b'{}', key='a', direction='read', units=1)"
    ),
    "it does not end": ONE.format("[self.put('a') for _ in range(20_000)]"),
    "several at once": ONE.format("1 / 0") + "    @task\n    def other(self):\n        {}['a']\n"
    "class Other(TableUser):\n    @task\n    def write(self):\n        nothing()\n",
}


def test_what_cannot_be_run_or_sampled_is_told_with_its_line_and_never_guessed(
    tmp_path: Path, golden: Golden
) -> None:
    said = []
    for name, body in (NOT_RUN | NOT_SAMPLED).items():
        (folder := tmp_path / name).mkdir()
        result = run_dry(folder, body)
        assert result.loadtest is None
        assert bool(result.wrong) is (name in NOT_RUN), "the rest can be loaded"
        said += [f"== {name}", *result.wrong, *result.unsampled]
    text = "".join(f"{line}\n" for line in said).replace(str(tmp_path), "FOLDER")
    golden("dry-runs.txt", text)


def test_every_verb_refuses_what_nobody_can_run_and_only_a_simulation_the_rest(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(HEAD + "import os\nos._exit(7)\n")
    with pytest.raises(ScenarioError, match=r"mine\.py: it ended the process of its dry run \(exit code 7\)"):
        dryrun.check_file(scenario(), tmp_path)
    (tmp_path / "mine.py").write_text(HEAD + ONE.format("pass"))
    dryrun.check_file(scenario(), tmp_path)
    with pytest.raises(ScenarioError, match=r"nothing that Keyheat sees .* --target local @ \$\.loadtest"):
        traffic_of(scenario(), 1, tmp_path)


def test_one_that_never_ends_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dryrun, "MOST_CPU_S", 1.0)
    (tmp_path / "mine.py").write_text(HEAD + "while True: pass\n")
    with pytest.raises(ScenarioError, match=r"mine\.py: its dry run did not end within 1 s of CPU time"):
        dryrun.check_file(scenario(), tmp_path)
    assert (str(tmp_path / "mine.py"), (tmp_path / "mine.py").stat().st_mtime_ns) not in dryrun._processes


@pytest.mark.parametrize("name", ["aggregate-scan", "aggregate-stream", "dynamic-sharding"])
def test_ours_that_depend_on_answers_say_so(name: str) -> None:
    with pytest.raises(ScenarioError, match=r"\.py:\d+: \w+ .* depends on answers\. .*--target local"):
        traffic_of(a_shipped(name), 1, SCENARIOS)


OF_FIELDS = (
    "operation", "what", "times", "items", "together", "beside", "index", "within", "alone", "if_absent",
    "consistent", "limit",
)  # fmt: skip


@pytest.mark.parametrize("name", ["hotkey", "datekey", "user-id", "operations"])
def test_tasks_that_follow_from_the_scenario_are_those_of_the_load_test(name: str) -> None:
    one = a_shipped(name)
    stated, sampled = stated_loadtest(one), dryrun._dry_run(one, SCENARIOS).loadtest
    for task, other in zip(stated.users[0].tasks, sampled.users[0].tasks, strict=True):
        assert task.weight == other.weight
        for kind, seen in zip(task.kinds, _in_order(other.kinds), strict=True):
            assert [getattr(kind, field) for field in OF_FIELDS] == [
                pytest.approx(value, rel=0.1) if isinstance(value, float) else value
                for value in (getattr(seen, field) for field in OF_FIELDS)
            ]
            assert (kind.key.texts, kind.key.written) == (seen.key.texts, seen.key.written)
            assert kind.what != "get" or seen.exists_share == kind.exists_share, "what is read is there"


def test_a_user_that_only_updates_keeps_to_the_item_that_it_made() -> None:
    one = a_shipped("operations", tasks=[{"operation": "update"}])
    sampled = dryrun._dry_run(one, SCENARIOS).loadtest
    assert sampled.users[0].tasks[0].kinds[0].exists_share == 1.0


def _in_order(kinds: Sequence[RequestKind]) -> list[RequestKind]:
    """A user that takes turns may begin with either: what is new before what is there."""
    absent = [kind for kind in kinds if kind.if_absent]
    return sorted(absent, key=lambda kind: kind.key.written) or list(kinds)
