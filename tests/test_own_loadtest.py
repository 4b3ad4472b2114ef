"""A load test of somebody's own: it is planned, simulated, run and fixed, and refused where it is wrong."""

import shutil
from pathlib import Path

import pytest

from keyheat.regression.suite import load_suite
from keyheat.runfiles import RUN, read_json
from tests.conftest import ROOT, Verb
from tests.outside import OR_TOO_SLOW

pytestmark = pytest.mark.opens

EXAMPLE = ROOT / "examples" / "own-loadtest"
PLAIN = "from locust import User, task\n\nclass Buyer(User):\n    @task\n    def buy(self):\n        pass\n"
QUERY = """
from locust import task

from keyheat.load.users.user import TableUser


class Support(TableUser):
    @task
    def find_orders(self) -> None:
        index, customer = self.table.indexes[0], self.draw_key()
        self.ask(
            "Query", customer, 1, IndexName=index.name, KeyConditionExpression="#k = :k",
            ExpressionAttributeNames={"#k": index.partition_key},
            ExpressionAttributeValues={":k": {"S": customer}},
        )
"""
WRONG = "from keyheat.load.users.user import TableUser\nprint(tabel)\n"


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """The example in a folder of its own, shorter; its scenario."""
    folder = shutil.copytree(EXAMPLE, tmp_path / "mine", ignore=shutil.ignore_patterns("__pycache__"))
    path = folder / "orders.toml"
    path.write_text(path.read_text().replace("duration_s = 40", "duration_s = 20"))
    return path


def test_locust_runs_it(verb: Verb, mine: Path, tmp_path: Path) -> None:
    text = mine.read_text().replace("duration_s = 20", "duration_s = 3")
    mine.write_text(text.replace("requests_per_s = 2_600", "requests_per_s = 100"))
    said = verb("run", mine, "--out", tmp_path / "run", "--no-collect")
    assert said.code in OR_TOO_SLOW, said.err
    counted = read_json(tmp_path / "run" / "run.json", RUN)["counted"]
    assert counted["reads.missing"] == 0 < counted["reads.checked"]


def test_one_without_a_user_of_ours_is_refused_with_the_way_out(
    verb: Verb, mine: Path, tmp_path: Path
) -> None:
    mine.with_name("orders.py").write_text(PLAIN)
    said = verb("run", mine, "--out", tmp_path / "run")
    assert said.code == 2
    assert "derive it from keyheat.load.users.user.TableUser" in said.err
    assert "unrecognized" not in said.err


@pytest.mark.nightly
def test_its_hot_key_is_fixed_by_shards(
    verb: Verb, mine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(mine.parent)
    source = mine.parent / "orders.py"
    source.write_text(source.read_text().replace("self.put(self._shop(),", "self.put(self.draw_key(),"))
    assert verb("simulate", mine.name, "--out", tmp_path / "run").says("orders Partition limit")
    fixed = verb("fix", tmp_path / "run", "--recommendation", "shard_writes", "--out", tmp_path / "fix")
    assert fixed.code in (0, 1), fixed.err  # 1: the index throttles then
    assert fixed.says("shards for each key")


def test_its_burst_is_told_from_any_directory(
    verb: Verb, mine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hot customer's load is known by a dry run of the file, which stands beside the scenario."""
    monkeypatch.chdir(tmp_path)
    said = verb("simulate", mine, "--set", "keys.share=0.55")
    assert said.says("orders On saved burst"), said.out


def test_a_mistake_in_it_is_told_before_anything_starts(verb: Verb, mine: Path, tmp_path: Path) -> None:
    (mine.parent / "orders.py").write_text(WRONG)
    for name, *options in (["plan"], ["whatif", "shards"], ["run", "--out", tmp_path / "out"]):
        said = verb(name, mine, *options)
        assert said.code == 2
        assert "orders.py:2: NameError: name 'tabel' is not defined @ $.loadtest" in said.err
    (mine.parent / "orders.py").unlink()
    said = verb("simulate", mine)
    assert said.code == 2
    assert "there is no" in said.err
    assert "orders.py" in said.err
    assert not (tmp_path / "out").exists()


def test_it_learns_the_names_of_its_table_from_the_run(verb: Verb, mine: Path) -> None:
    (mine.parent / "orders.py").write_text(QUERY)
    said = verb("plan", mine)
    assert said.code == 0, said.err
    assert said.says("Query of index by-customer 2,600/s")


def test_a_suite_names_it_too(mine: Path, tmp_path: Path) -> None:
    suite = tmp_path / "own.toml"
    suite.write_text(
        'format = "keyheat.suite/1"\nname = "own"\nquestion = "Does it?"\ntarget = "simulated"\n\n'
        '[[cases]]\nscenario = "mine/orders.toml"\n'
    )
    (case,) = load_suite(suite).cases
    assert case.scenario.locustfile(case.path.parent) == mine.parent / "orders.py"
