"""What a rehearsal learns of somebody's load test, and what it says of one that cannot be learnt."""

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from keyheat.scenario.scenario import Scenario, ScenarioError, scenario_from_dict
from keyheat.simulator.flow import Flow
from keyheat.simulator.rehearsal.ask import check_file
from keyheat.simulator.rehearsal.draws import Draws, Noting, law_of, made
from keyheat.simulator.rehearsal.learn import rehearse
from keyheat.simulator.rehearsal.mix import RehearsedLoadTest, RequestKind
from keyheat.simulator.traffic import asks_for_shards, traffic_of
from keyheat.simulator.traffic.loadtest import learnt
from keyheat.simulator.traffic.pace import Sending
from keyheat.simulator.traffic.setting import TrafficSetting

HEAD = """
from locust import TaskSet, tag, task, between
from keyheat.load.users.operations import ItemUser
from keyheat.load.users.readers import Reader
from keyheat.load.users.user import TableUser
"""


def scenario(**changes: Any) -> Scenario:
    table = {
        "name": "own-table", "sort_key": "sk", "provisioned": {"read": 1_000, "write": 1_000},
        "indexes": [{
            "name": "by-team", "partition_key": "team", "sort_key": "at",
            "provisioned": {"read": 1_000, "write": 1_000},
        }],
    }  # fmt: skip
    raw = {
        "format": "keyheat.scenario/1", "name": "own", "question": "?", "loadtest": "./mine.py",
        "table": table, "keys": {"kind": "hot_key", "share": 0.5, "keys": 1_000},
        "load": {"users": 10, "requests_per_s": 1_000, "duration_s": 20, "item_bytes": 500},
    }  # fmt: skip
    return scenario_from_dict(raw | changes, "own")


def learn(folder: Path, body: str, **changes: Any) -> RehearsedLoadTest:
    """What a file sends. It is run in this process here, as one of ours: there is no Locust in it."""
    path = folder / "mine.py"
    path.write_text(HEAD + body)
    found = rehearse(path, scenario(**changes), folder)
    assert found.loadtest is not None, found
    return found.loadtest


def kinds(folder: Path, body: str, **changes: Any) -> dict[str, list[RequestKind]]:
    """What its tasks send, by the name of each."""
    learnt = learn(folder, body, **changes)
    return {task.name: list(task.kinds) for one in learnt.users for task in one.tasks}


def second(folder: Path, body: str, **changes: Any) -> Sequence[Flow]:
    """What it sends in its first second."""
    loadtest = learn(folder, body, **changes)
    return Sending(
        TrafficSetting(scenario(**changes), Random(1), folder), lambda it: learnt(it, loadtest)
    ).second(0)


def only(found: dict[str, list[RequestKind]]) -> RequestKind:
    ((kind,),) = found.values()
    return kind


KEYS = {
    "self.draw_key()": "{key}",
    'f"{self.draw_key()}#{self.rng.randrange(self.shards)}"': "{key}#{0..3}",
    'f"team-{self.rng.randint(1, 50)}-x"': "team-{1..50}-x",
    'f"shop-{self.rng.randrange(300):04d}"': "shop-{0..299:4}",
    '"config"': "config",
    'f"user-{self.number}"': "user-{0..9}",
}


@pytest.mark.parametrize(("key", "law"), KEYS.items())
def test_keys_are_explained_by_what_was_drawn(tmp_path: Path, key: str, law: str) -> None:
    body = f"class Mine(TableUser):\n    @task\n    def write(self):\n        self.put({key})\n"
    keys = {"kind": "hot_key", "share": 0.5, "keys": 1_000, "shards": 4}
    found = only(kinds(tmp_path, body, keys=keys))
    assert found.key.made == law
    assert (found.operation, found.times, found.within) == ("PutItem", 1.0, "rising")


@pytest.mark.slow
def test_keys_that_nothing_explains_are_counted(tmp_path: Path) -> None:
    """Chance of the file's own: one in ten is the hot key, the others are of a thousand."""
    body = """
import random

class Mine(TableUser):
    @task
    def write(self):
        self.put("hot-one" if random.random() < 0.1 else f"cold-{random.randrange(1_000)}x")
"""
    hot, cold = sorted(second(tmp_path, body), key=lambda flow: flow.requests)
    assert hot.keys.name(0) == "hot-one"
    assert hot.requests / (hot.requests + cold.requests) == pytest.approx(0.1, abs=0.02)
    assert max(cold.keys.shares, default=0.0) < 0.01


def test_tasks_and_classes_have_their_weights(tmp_path: Path) -> None:
    body = """
class Writer(TableUser):
    weight = 3

    @task(4)
    def write(self):
        self.put(self.draw_key())

    @task(1)
    def correct(self):
        self.put("corrections")

class Seldom(TableUser):
    weight = 1

    @task
    def log(self):
        self.put("log")

class Auditor(Reader):
    fixed_count = 2

    @task
    def read(self):
        self.read_shards((self.draw_key(),), limit=5)
"""
    flows = second(tmp_path, body)
    told = {(one.operation, one.keys.name(int(one.keys.shares.argmax()))): one.requests for one in flows}
    assert told == pytest.approx(
        {
            ("PutItem", "hot"): 800 * 0.75 * 0.8,
            ("PutItem", "corrections"): 800 * 0.75 * 0.2,
            ("PutItem", "log"): 800 * 0.25,
            ("Query", "hot"): 200,
        }
    )


@pytest.mark.slow
def test_attributes_of_an_index_are_learnt_and_a_sparse_one_is_written_less(tmp_path: Path) -> None:
    body = """
class Mine(TableUser):
    @task
    def write(self):
        self._even = not getattr(self, "_even", False)
        at = self.next_sort_key()
        team = self.draw_key() if self._even else None
        self.put(f"order-{self.rng.randrange(100_000)}", at, attributes={"team": team, "at": at})
"""
    found = only(kinds(tmp_path, body))
    team = dict(found.attributes)["team"]
    assert (team.text.made, team.within, team.present) == ("{key}", "rising", 0.5)
    (flow,) = second(tmp_path, body)
    (entry,) = flow.index_writes
    assert (entry.units, max(entry.keys.shares)) == (pytest.approx(0.5), pytest.approx(0.5))


def test_items_that_are_come_back_to_are_there(tmp_path: Path) -> None:
    body = """
class Mine(ItemUser):
    @task
    def write(self):
        self.put_item()

    @task
    def look(self):
        self.get_item()
"""
    found = kinds(tmp_path, body)
    (look,) = found["look"]
    assert (look.operation, look.known, look.found) == ("GetItem", True, 1.0)


OF_EACH_USER = {
    "a drawn key": ("self.draw_key()", "{key}"),
    "a number in it": ('f"shop-{self.rng.randrange(300):04d}"', "shop-{0..299:4}"),
    "what nobody can explain": ("str(uuid4())", None),
}


@pytest.mark.parametrize(("mine", "law"), OF_EACH_USER.values(), ids=OF_EACH_USER)
def test_what_every_user_has_for_itself_is_seen_as_such(tmp_path: Path, mine: str, law: str | None) -> None:
    """One class has two users, the other all the rest of ten."""
    body = f"""
from uuid import uuid4

class Mine(TableUser):
    def __init__(self, environment):
        super().__init__(environment)
        self.mine = {mine}

    @task
    def write(self):
        self.put(self.mine)

    @task
    def write_all(self):
        self.put("all")

class Few(Mine):
    fixed_count = 2
"""
    tasks = [task for one in learn(tmp_path, body).users for task in one.tasks]
    found = [(task.name, kind.key.made, kind.key.owners) for task in tasks for kind in task.kinds]
    assert found == [
        ("write", law, 8), ("write_all", "all", None), ("write", law, 2), ("write_all", "all", None),
    ]  # fmt: skip
    own, _all, of_few, _all_of_few = second(tmp_path, body)
    assert 4 <= len(own.keys.shares) <= 8
    assert len(of_few.keys.shares) <= 2
    assert own.keys.even == of_few.keys.even == 0


def test_users_who_only_update_come_back_to_an_item_each(tmp_path: Path) -> None:
    """Nobody has put anything: the first update of each user makes the item that it remembers."""
    body = "class Mine(ItemUser):\n    @task\n    def add(self):\n        self.update_item()\n"
    keys = {"kind": "uniform", "keys": 1_000}
    found = only(kinds(tmp_path, body, keys=keys))
    assert (found.key.made, found.key.owners, found.within) == ("{key}", 10, "random")
    (flow,) = second(tmp_path, body, keys=keys)
    assert flow.keys.shares.tolist() == [0.1] * 10
    keys = {"kind": "hot_key", "share": 0.5, "keys": 1_000}
    (flow,) = second(tmp_path, body, keys=keys)
    assert 0.1 < max(flow.keys.shares) < 1.0


def test_a_put_of_what_was_not_found_is_learnt_as_such(tmp_path: Path) -> None:
    body = """
class Mine(Reader):
    @task
    def look(self):
        key = self.draw_key()
        if not self.read_item(key, consistent=False).items:
            self.put(key)
"""
    table = {"name": "own-table", "provisioned": {"read": 1_000, "write": 1_000}}
    found = kinds(tmp_path, body, table=table)
    assert {(one.operation, one.if_missing) for one in found["look"]} == {
        ("GetItem", False),
        ("PutItem", True),
    }


def test_what_is_sent_in_a_part_of_the_run_only_has_its_times(tmp_path: Path) -> None:
    body = """
class Mine(TableUser):
    @task
    def write(self):
        self.put("early" if self.elapsed_s < 7.3 else self.draw_key())
"""
    found = kinds(tmp_path, body)["write"]
    assert [(one.key.made, one.from_s, one.until_s) for one in found] == [
        ("early", 0.0, pytest.approx(7.3)), ("{key}", pytest.approx(7.3), None),
    ]  # fmt: skip


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


@pytest.mark.opens
def test_somebody_elses_file_is_run_in_a_process_of_its_own(tmp_path: Path) -> None:
    """Its neighbours are found, what it prints disturbs nobody, and who asks for shards is known."""
    (tmp_path / "own_bases.py").write_text(
        "from gevent import monkey\nmonkey.patch_all()\nfrom keyheat.load.users import TableUser\n\n"
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
    assert asks_for_shards(scenario(keys=keys), tmp_path)


def test_nobody_who_states_shards_himself_asks_for_them(tmp_path: Path) -> None:
    body = ONE.format("self.put(f'a#{self.rng.randrange(7)}')")
    assert not learn(tmp_path, body).asks_for_shards
    assert learn(tmp_path, body.replace("7", "self.shards")).asks_for_shards


ONE = "class Mine(TableUser):\n    @task\n    def write(self):\n        {}\n"
WRONG = {
    "raises when it is imported": ("number = 1 / 0\n", ["mine.py:6: ZeroDivisionError: division by zero"]),
    "is no Python": ("class Mine(TableUser:\n", ["mine.py:6: SyntaxError"]),
    "has no user class": ("", ["mine.py has no user class", "keyheat.load.users.user.TableUser"]),
    "ends the process": ("import sys\nsys.exit(3)\n", ["mine.py:7: SystemExit: 3"]),
    "has users without tasks": (
        "class One(TableUser): ...\nclass Two(TableUser): ...\n",
        ["mine.py:6: One has no task", "mine.py:7: Two has no task"],
    ),
}


@pytest.mark.parametrize(("body", "says"), WRONG.values(), ids=WRONG)
def test_what_nobody_can_run_is_told_with_its_line(tmp_path: Path, body: str, says: list[str]) -> None:
    (tmp_path / "mine.py").write_text(HEAD + body)
    errors = rehearse(tmp_path / "mine.py", scenario(), tmp_path).wrong
    assert all(any(words in error for error in errors) for words in says), errors


@pytest.mark.opens
def test_it_is_refused_for_every_verb_and_what_only_cannot_be_learnt_is_not(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(HEAD + "import os\nos._exit(7)\n")
    with pytest.raises(
        ScenarioError, match=r"mine\.py: it ended the process that rehearsed it \(exit code 7\)"
    ):
        check_file(scenario(), tmp_path)
    (tmp_path / "mine.py").write_text(HEAD + ONE.format("pass"))
    check_file(scenario(), tmp_path)
    with pytest.raises(ScenarioError, match=r"nothing that Keyheat sees .* @ \$\.loadtest"):
        traffic_of(scenario(), 1, tmp_path)


UNLEARNT = {
    "a task raises": (ONE.format("{}['team']"), ["mine.py:9: KeyError: 'team', in Mine.write"]),
    "it sends past us": (ONE.format("pass"), ["Mine sends nothing that Keyheat sees in its task write"]),
    "it is nobody of ours": (
        "from locust import HttpUser\nclass Mine(HttpUser):\n    @task\n    def get(self): ...\n",
        ["mine.py:7: Mine sends nothing that Keyheat sees"],
    ),
    "it waits as it likes": (
        ONE.format("self.put('a')") + "    wait_time = between(1, 2)\n",
        ["Mine has a wait_time of its own"],
    ),
    "it sends what we do not have": (
        ONE.format("self.send('ExecuteStatement', b'{}', key='a', direction='read', units=1)"),
        ["sends ExecuteStatement", "in its task write"],
    ),
    "it does not end": (
        ONE.format("[self.put('a') for _ in range(20_000)]"), ["more than 10,000 requests in one task"],
    ),
    "it needs what stands for gevent lacks": (
        "import gevent\n\nclass Mine(TableUser):\n    limit = gevent.Timeout\n",
        ["mine.py:9: AttributeError", "'Timeout'; a simulation has no stand-in for it"],
    ),
    "it imports what stands for gevent lacks": (
        "from gevent import Timeout\n", ["mine.py:6: ImportError", "a simulation has no stand-in for it"],
    ),
    "several at once": (
        ONE.format("1 / 0") + "    @task\n    def other(self):\n        {}['a']\n"
        "class Other(TableUser):\n    @task\n    def write(self):\n        nothing()\n",
        ["mine.py:9: ZeroDivisionError", "mine.py:12: KeyError", "NameError: name 'nothing' is not defined"],
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("body", "says"), UNLEARNT.values(), ids=UNLEARNT)
def test_what_cannot_be_learnt_is_said_and_never_guessed(tmp_path: Path, body: str, says: list[str]) -> None:
    (tmp_path / "mine.py").write_text(HEAD + body)
    found = rehearse(tmp_path / "mine.py", scenario(), tmp_path)
    assert found.loadtest is None
    assert not found.wrong
    assert all(any(words in error for error in found.unlearnt) for words in says), found.unlearnt


def test_draws_fill_their_range_evenly() -> None:
    draws = Draws()
    rng, counts = Noting(draws, 1), [0] * 20
    for task in range(400):
        draws.begin(task)
        counts[rng.randrange(20)] += 1
        assert draws.numbers[-1][1:] == (0, 19)
    assert all(18 <= count <= 22 for count in counts)


def test_a_text_is_judged_by_how_often_it_was_seen_only_at_last() -> None:
    texts = [made(text, (), (), fresh=False) for text in ("a", "b", "a", "a", "b", "a", "a", "b", "b", "b")]
    assert law_of(texts, shards=1) is None
    law = law_of(texts, shards=1, last=True)
    assert law is not None
    assert dict(law.seen) == {"a": 0.5, "b": 0.5}
