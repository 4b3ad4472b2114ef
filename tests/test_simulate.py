"""keyheat simulate: what it says, and that the files are those of a run."""

from pathlib import Path

import pyarrow.compute as pc
import pytest

from keyheat import runfiles
from keyheat.evidence.simulated import evidence_of
from keyheat.runs import parquet
from keyheat.runs.formats import read_diagnosis, write_evidence
from keyheat.runs.plausibility import read_evidence
from keyheat.simulator.folder import write_run
from keyheat.simulator.simulate import simulate
from tests.conftest import Verb
from tests.make import SCENARIOS, a_shipped

pytestmark = pytest.mark.slow


def test_the_same_scenario_and_seed_give_the_same_files(tmp_path: Path) -> None:
    files = []
    for number, seed in enumerate((7, 7, 8)):
        made = simulate(a_shipped("audit-log", 'load.arrivals="poisson"'), seed=seed)
        write_run(made, tmp_path / str(number))
        write_evidence(tmp_path / str(number) / "evidence.json", evidence_of(made))
        files.append({path.name: path.read_bytes() for path in (tmp_path / str(number)).iterdir()})
    first, again, other = files
    assert first == again
    assert first.keys() == {*runfiles.FILES.values()} - {"diagnosis.json", "summary.json"}
    assert {name for name in first if first[name] != other[name]} == first.keys() - {"latency.hdr"}


def puts(name: str, table: str, *, per_s: int, duration_s: int) -> str:
    """A scenario of even puts of one unit."""
    return (
        f'format = "keyheat.scenario/1"\nname = "{name}"\nquestion = "?"\n'
        f'[table]\nname = "keyheat-{name}"\nbilling_mode = "PROVISIONED"\n{table}'
        f'[keys]\nkind = "uniform"\nkeys = 1000\n[load]\nduration_s = {duration_s}\nitem_bytes = 1000\n'
        f'[[tasks]]\noperation = "put"\nper_s = {per_s}\n'
    )


@pytest.mark.parametrize(
    ("least", "most", "per_s", "duration_s", "has"),
    [
        (120, 215, 150, 900, "215"),
        # The capacity is raised in the second in which the burst is spent.
        (400, 1_500, 700, 1_800, "1,001"),
    ],
)
@pytest.mark.usefixtures("no_page")
def test_a_load_that_auto_scaling_caught_up_with_is_not_on_burst(
    tmp_path: Path, verb: Verb, least: int, most: int, per_s: int, duration_s: int, has: str
) -> None:
    provisioned = f"provisioned = {{ read = 20, write = {least} }}\n"
    scaled = f"[table.auto_scaling.write]\nmin = {least}\nmax = {most}\ntarget = 0.7\n"
    file = tmp_path / "scaled.toml"
    file.write_text(puts("scaled", provisioned + scaled, per_s=per_s, duration_s=duration_s))
    said = verb("simulate", file, "--out", tmp_path / "run")
    assert said.says(f"{per_s} WCU/s went through, 70 % of the table's {has} WCU.")
    assert not said.says("burst")


@pytest.mark.usefixtures("no_page")
def test_of_a_load_that_burst_carries_each_limit_has_its_cure_the_furthest_first(
    tmp_path: Path, verb: Verb
) -> None:
    index = '[[table.indexes]]\nname = "by-x"\npartition_key = "x"\nprovisioned = { read = 20, write = 60 }\n'
    file = tmp_path / "carried.toml"
    table = 'partition_key = "g"\nsort_key = "p"\nprovisioned = { read = 20, write = 260 }\n' + index
    file.write_text(puts("carried", table, per_s=300, duration_s=120) + "[attributes.x]\ncount = 500\n")
    said = verb("simulate", file, "--out", tmp_path / "run")
    assert said.says(
        "Raise the capacity of index by-x to 429 WCU/s · and for writes of the table: raise the capacity to "
        "429 WCU/s"
    )


def test_the_first_screen_and_the_files_are_those_of_a_run(tmp_path: Path, verb: Verb) -> None:
    said = verb("simulate", "hotkey", "--out", tmp_path)
    assert said.code == 0
    assert said.err == "hotkey: simulating 50 s\n"
    assert said.out.startswith("hotkey  Partition limit  as the scenario expects\n")
    assert said.says("Writes were throttled by a partition limit: one key, “hot”, asked for 1,800 WCU/s")
    assert said.says("For good Shard the hot key (4 shards)")
    assert said.out.rstrip().endswith(f"Report: {tmp_path / 'report.html'}")
    assert {path.name for path in tmp_path.iterdir()} == {*runfiles.FILES.values(), "report.html"}
    hottest = runfiles.read_json(tmp_path / "keys.json", runfiles.KEYS)["overall"]["write"][0]
    assert (hottest["shown"], round(hottest["share"], 1)) == ("hot", 0.9), "no secret"
    before = read_diagnosis(tmp_path / "diagnosis.json")
    assert verb("analyze", tmp_path).code == 0
    assert read_diagnosis(tmp_path / "diagnosis.json") == before
    assert verb("report", tmp_path).code == 0
    collected = verb("collect", "--run", tmp_path)
    assert (collected.code, "was simulated" in collected.err) == (2, True), "nobody is asked for more"
    page = tmp_path / "compare.html"
    assert verb("compare", tmp_path, "--out", page).code == 0
    assert "simulated: nothing was sent" in page.read_text()


def test_the_files_say_that_they_are_simulated_and_make_up_nothing(tmp_path: Path, verb: Verb) -> None:
    verb("simulate", "sharded", "--duration", "8", "--out", tmp_path)
    run = runfiles.read_json(tmp_path / "run.json", runfiles.RUN)
    assert (run["target"], run["status"], run["generator"]["bound"]) == ("simulated", "finished", False)
    assert run["generator"].keys() == {"bound", "checks", "missing"}, "no CPU, no lag, no lateness"
    assert "reads.checked" not in run["counted"], "there are no items to check"
    page = (tmp_path / "report.html").read_text()
    assert "no request was sent" in page
    assert "0.0 ms" not in page
    series = {
        (one.metric, one.statistic): one.points for one in read_evidence(tmp_path / "evidence.json").series
    }
    assert series["SuccessfulRequestLatency", "Average"] == ()


def test_totals_add_up_over_the_files(tmp_path: Path) -> None:
    made = simulate(a_shipped("country-index"))
    write_run(made, tmp_path)
    totals = runfiles.read_json(tmp_path / "run.json", runfiles.RUN)["totals"]
    seconds = parquet.read_table(tmp_path / "seconds.parquet", runfiles.SECONDS)
    throttles = parquet.read_table(tmp_path / "throttles.parquet", runfiles.THROTTLES)
    assert totals["attempts"] == totals["accepted"] + totals["throttled"]
    assert totals["throttled"] == pc.sum(throttles["count"]).as_py() == sum(totals["by_reason"].values())
    assert list(totals["by_reason"]) == ["IndexWriteKeyRangeThroughputExceeded"]
    consumed = pc.sum(seconds["consumed_units"]).as_py()
    assert sum(totals["consumed_units"].values()) == pytest.approx(consumed)
    keys = runfiles.read_json(tmp_path / "keys.json", runfiles.KEYS)
    assert all(one["key"].startswith("sha256:") for one in keys["overall"]["write"])


@pytest.mark.usefixtures("no_page")
def test_a_field_is_set_by_its_path(tmp_path: Path, verb: Verb) -> None:
    """Twenty shards take the heat off a key whose load test spreads nothing: it says how it was asked."""
    said = verb("simulate", "hotkey", "--set", "keys.shards=20", "--duration", "8", "--out", tmp_path)
    assert said.code == 0
    assert said.out.startswith("hotkey  No throttles\n")
    assert said.says("spreads no key by itself: the simulator divides its hot keys among 20 shards")
    assert "expected" not in said.out, "that was expected of another scenario"
    assert runfiles.read_json(tmp_path / "run.json", runfiles.RUN)["scenario"]["keys"]["shards"] == 20


@pytest.mark.parametrize(
    ("thresholds", "code"), [(("p99_ms_max=5", "wrong_reads_max=0"), 0), (("throttle_share_max=0.01",), 1)]
)
def test_unmeasured_is_not_broken(verb: Verb, tmp_path: Path, thresholds: tuple[str, ...], code: int) -> None:
    changes = (word for threshold in thresholds for word in ("--set", f"thresholds.{threshold}"))
    said = verb("simulate", "hotkey", *changes, "--duration", "8", "--out", tmp_path)
    assert said.code == code
    undecided = 0 if code else len(thresholds)
    words = "is not decided: a simulation cannot measure it"
    assert "".join(said.out.split()).count("".join(words.split())) == undecided
    assert ("is not decided" in (tmp_path / "report.html").read_text()) is bool(undecided)


OWN = """
from locust import task

from keyheat.load.users.user import TableUser


class Seller(TableUser):
    @task
    def sell(self) -> None:
        self.put(f"shop-{self.rng.randrange(3)}")
"""


@pytest.mark.opens
@pytest.mark.usefixtures("no_page")
def test_commands_lead_to_the_scenario_from_where_one_is_and_a_digest_to_its_key(
    verb: Verb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    file = tmp_path / "own" / "calm.toml"
    hotkey = (SCENARIOS / "hotkey.toml").read_text().replace('loadtest = "hotkey"', 'loadtest = "./own.py"')
    file.write_text(hotkey)
    (tmp_path / "own" / "own.py").write_text(OWN.replace("randrange(3)", "randrange(1)"))
    by_digest = "The key is shown by its digest: add --show-keys to see its value."
    hot = ("simulate", file, "--set", "load.duration_s=8", "--out", tmp_path / "hot")
    assert verb(*hot).says(by_digest)
    assert not verb(*hot, "--show-keys").says(by_digest)
    calm = verb("simulate", file, "--set", "load.duration_s=8", "--set", "load.requests_per_s=9")
    command = calm.out.partition("keyheat whatif ")[2].split()
    assert command[1] == "load"
    assert Path(command[0]).expanduser().samefile(file)
