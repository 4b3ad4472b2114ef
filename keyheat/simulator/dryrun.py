"""The requests of a scenario's load test: as the scenario states them, else by a dry run in a child process.

That process is reused for further scenarios, such as those of a search, and ends with ours. Each file of a
user has its own process.
"""

import atexit
import os
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import IO, Any, Final

import orjson
from pydantic import TypeAdapter

from keyheat.scenario.scenario import Scenario, ScenarioError
from keyheat.scenario.spec.keys import NOT_DESCRIBED
from keyheat.simulator.loadtest import DryRun, LoadTest, stated_loadtest, with_combinations

MOST_CPU_S: Final = 60.0
"""CPU time of one dry run, which takes some seconds: a load test that never ends takes more."""
ASSUMED: Final = (
    "Assumed: {name} has {count:,} values, each as often as the others. An index is keyed by it, so say "
    "which it has under [attributes.{name}]."
)
FOUND: Final = "queries find what it has put by then, and not what your table holds"
REPLACED: Final = "a put that changes an item's index key writes that index twice, and no item exists yet"
WAY_OUT: Final = "A dry run cannot show what it sends; if it works on a table, run it with --target local"
NO_MATTER: Final = ("expects", "thresholds", "budget", "abort_on", "client", "timeline")
CAPACITY: Final = ("provisioned", "max_on_demand", "warm", "auto_scaling", "regions", "on_end")
REFUSED: Final = {
    "AWS_ACCESS_KEY_ID": "dry-run",
    "AWS_SECRET_ACCESS_KEY": "dry-run",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_ENDPOINT_URL": "http://127.0.0.1:9",
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
}
"""Invalid credentials, for a load test that creates its own clients."""
ADAPTER: Final = TypeAdapter(DryRun)
_processes: dict[tuple[str, int], "_Process"] = {}


def loadtest_of(scenario: Scenario, folder: Path) -> LoadTest:
    """Return what the scenario's load test sends; `folder` is the scenario's. Raises `ScenarioError`."""
    if (stated := stated_loadtest(with_combinations(scenario))) is not None:
        return stated
    try:
        result = _dry_run(scenario, folder)
    except FileNotFoundError as error:
        raise ScenarioError(scenario.name, [f"{error} @ $.loadtest"]) from error
    if result.loadtest is None:
        unsampled = (f"{reason}. {WAY_OUT}" for reason in result.unsampled)
        raise ScenarioError(scenario.name, [f"{why} @ $.loadtest" for why in (*result.wrong, *unsampled)])
    return result.loadtest


def check_file(scenario: Scenario, folder: Path) -> None:
    """Check that a user's load test can run. Raises `ScenarioError`, or `FileNotFoundError`."""
    if not scenario.is_shipped(scenario.locustfile(folder)) and (wrong := _dry_run(scenario, folder).wrong):
        raise ScenarioError(scenario.name, [f"{problem} @ $.loadtest" for problem in wrong])


def assumptions_of(scenario: Scenario, folder: Path) -> tuple[str, ...]:
    """List assumptions in sentences: of the scenario's file, and on undescribed index keys.

    No assumptions on items if the load test is unknown or replays a trace.
    """
    stated = [f"Assumed: {', '.join(scenario.assumed)}, by the scenario's file."] if scenario.assumed else []
    # On the empty table, if items in it would make the load cost more.
    sent = {task.operation for task in scenario.tasks}
    reasons = [FOUND] if "query" in sent else []
    if "put" in sent and scenario.table.sort_key is None and scenario.table.index_attributes:
        reasons.append(REPLACED)
    empty = [f"Assumed: the table is empty when the load begins: {'; '.join(reasons)}."] if reasons else []
    return (*stated, *_of_items(scenario, folder), *empty)


def _of_items(scenario: Scenario, folder: Path) -> tuple[str, ...]:
    """Assumptions on attributes without a description that puts leave to the scenario."""
    heads = {name for index in scenario.table.indexes for name in index.partition_keys}
    open_names = heads & scenario.attribute_values.keys() - scenario.attributes.keys()
    if not open_names or scenario.load.arrivals == "trace":
        return ()
    try:
        users = loadtest_of(scenario, folder).users
    except ScenarioError:
        return ()
    kinds = [kind for user in users for task in user.tasks for kind in task.kinds]
    puts = [kind for kind in kinds if kind.what == "put" and kind.table is None]
    chosen = [{name for name, law in kind.attributes if law.key.attribute is None} for kind in puts]
    undescribed = sorted(name for name in open_names if any(name not in names for names in chosen))
    return tuple(ASSUMED.format(name=name, count=NOT_DESCRIBED.count) for name in undescribed)


def _dry_run(scenario: Scenario, folder: Path) -> DryRun:
    path = scenario.locustfile(folder)
    shipped = scenario.is_shipped(path)
    file = "" if shipped else str(path), 0 if shipped else path.stat().st_mtime_ns
    where = str(folder.absolute()) if scenario.keys.trace else ""
    return _dry_run_of(file, orjson.dumps([str(path), _sent_by(scenario), where]))


@lru_cache(maxsize=64)
def _dry_run_of(file: tuple[str, int], job: bytes) -> DryRun:
    if file not in _processes:
        _processes[file] = _Process.start()
    answer = _processes[file].ask(job)
    if isinstance(answer, bytes):
        return ADAPTER.validate_json(answer)
    _processes.pop(file).end()
    return DryRun(wrong=(f"{Path(file[0]).name or 'loadtests'}: {answer}",))


def _sent_by(scenario: Scenario) -> dict[str, Any]:
    """Return the fields that determine the requests, so that a search samples them once.

    The values of attributes are drawn later; the capacity of a table does not matter.
    """
    owner: dict[str, Any] = dict.fromkeys(CAPACITY, True)
    table = owner | {"indexes": {"__all__": owner}}
    raw = scenario.model_dump(mode="json", exclude=dict.fromkeys(NO_MATTER, True) | {"table": table})
    raw |= {"name": "dry-run", "question": "What does it send?", "seed": 1}
    for name, spec in raw["attributes"].items():
        laws = {law: spec[law] for law in ("timestamp", "copy_of") if spec[law]}
        raw["attributes"][name] = laws or {"count": 1}
    raw["table"]["billing_mode"] = "PAY_PER_REQUEST"
    return raw


@dataclass(frozen=True, slots=True)
class _Process:
    """A process that runs load tests without a table. It ends itself where one takes too long."""

    child: "subprocess.Popen[bytes]"
    stderr: IO[str]

    @classmethod
    def start(cls) -> "_Process":
        """Start it."""
        stderr = tempfile.TemporaryFile("w+")  # noqa: SIM115  (closed with the process)
        env = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")} | REFUSED
        child = subprocess.Popen(
            [sys.executable, "-m", "keyheat.load.dryrun", str(MOST_CPU_S)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, env=env,
        )  # fmt: skip
        process = cls(child, stderr)
        atexit.register(process.end)
        return process

    def ask(self, job: bytes) -> bytes | str:
        """Return its answer, or the reason for a missing one."""
        assert self.child.stdin is not None
        assert self.child.stdout is not None
        with suppress(OSError):  # it has ended
            self.child.stdin.write(job + b"\n")
            self.child.stdin.flush()
        return self.child.stdout.readline() or self._last_words()

    def end(self) -> None:
        """Kill the process."""
        with suppress(OSError):
            self.child.kill()
        self.child.wait()
        for pipe in (self.child.stdin, self.child.stdout, self.stderr):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()

    def _last_words(self) -> str:
        code = self.child.wait()
        if sys.platform != "win32" and code == -signal.SIGPROF:
            return f"its dry run did not end within {MOST_CPU_S:.0f} s of CPU time"
        self.stderr.seek(0)
        words = self.stderr.read().strip().splitlines()[-1:]
        return ": ".join([f"it ended the process of its dry run (exit code {code})", *words])
