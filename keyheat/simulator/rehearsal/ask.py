"""Who rehearses a load test: this process one that we ship, a process of its own anybody else's file.

That process is kept for further scenarios of the same file, such as those of a search. It ends with ours.
"""

import atexit
import subprocess
import sys
import tempfile
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from typing import IO, Final

import orjson
from pydantic import TypeAdapter

from keyheat.scenario.scenario import Scenario, ScenarioError
from keyheat.scenario.spec.attributes import NOT_DESCRIBED
from keyheat.simulator.rehearsal.combinations import with_combinations
from keyheat.simulator.rehearsal.learn import rehearse
from keyheat.simulator.rehearsal.mix import ATTRIBUTE, Rehearsed, RehearsedLoadTest

LONGEST_S: Final = 60.0
ASSUMED: Final = (
    "Assumed: {name} has {count:,} values, each as often as the others. An index is keyed by it, so say "
    "which it has under [attributes.{name}]."
)
FOUND: Final = "queries find what it has put by then, and not what your table holds"
REPLACED: Final = "a put over an item whose index key changes writes that index twice, and there is none yet"
MOST_KEPT: Final = 64
NO_MATTER: Final = (
    "name",
    "question",
    "seed",
    "expects",
    "thresholds",
    "budget",
    "abort_on",
    "client",
    "timeline",
)
CAPACITY: Final = (
    "billing_mode",
    "provisioned",
    "max_on_demand",
    "warm",
    "auto_scaling",
    "regions",
    "on_end",
)
ADAPTER: Final = TypeAdapter(Rehearsed)

Asked = tuple[str, int, str, str]
_known: OrderedDict[Asked, Rehearsed] = OrderedDict()
_processes: dict[tuple[str, int], "_Process"] = {}


def loadtest_of(scenario: Scenario, folder: Path) -> RehearsedLoadTest:
    """What the scenario's load test sends; `folder` is the scenario's. Raises `ScenarioError`."""
    try:
        found = _rehearsed(with_combinations(scenario), folder)
    except FileNotFoundError as error:
        raise ScenarioError(scenario.name, [f"{error} @ $.loadtest"]) from error
    if found.loadtest is None:
        raise ScenarioError(
            scenario.name, [f"{said} @ $.loadtest" for said in (*found.wrong, *found.unlearnt)]
        )
    return found.loadtest


def assumptions_of(scenario: Scenario, folder: Path) -> tuple[str, ...]:
    """What is assumed, in sentences: by the scenario's file, and of index keys that nobody describes.

    Of items nothing where nobody can say what the load test sends, or where it replays a trace.
    """
    said = (f"Assumed: {', '.join(scenario.assumed)}, by the scenario's file.",) if scenario.assumed else ()
    return (*said, *_of_items(scenario, folder), *_of_the_beginning(scenario))


def _of_the_beginning(scenario: Scenario) -> tuple[str, ...]:
    """What the load would cost more on a table that holds items already; nothing where it would not."""
    sent = {task.operation for task in scenario.tasks}
    found = [FOUND] if "query" in sent else []
    if "put" in sent and scenario.table.sort_key is None and scenario.table.index_attributes:
        found.append(REPLACED)
    return (f"Assumed: the table is empty when the load begins: {'; '.join(found)}.",) if found else ()


def _of_items(scenario: Scenario, folder: Path) -> tuple[str, ...]:
    open_names = scenario.attribute_values.keys() - scenario.attributes.keys()
    if not open_names or scenario.load.arrivals == "trace":
        return ()
    try:
        users = loadtest_of(scenario, folder).users
    except ScenarioError:
        return ()
    made = {
        part: key.text.made or ""
        for user in users
        for task in user.tasks
        for kind in task.kinds
        for name, key in kind.attributes
        for part in (name.split("+") if name not in scenario.attribute_values else [name])
        if kind.table in (None, scenario.table.name)
    }
    assumed = sorted(name for name in open_names if ATTRIBUTE.fullmatch(made.get(name, "")))
    return tuple(ASSUMED.format(name=name, count=NOT_DESCRIBED.count) for name in assumed)


def check_file(scenario: Scenario, folder: Path) -> None:
    """Raise `ScenarioError` where nobody could run the scenario's load test. Ours can be run.

    Raises `FileNotFoundError` where there is none.
    """
    path = scenario.locustfile(folder)
    if not scenario.is_shipped(path) and (wrong := _rehearsed(scenario, folder).wrong):
        raise ScenarioError(scenario.name, [f"{said} @ $.loadtest" for said in wrong])


def _rehearsed(scenario: Scenario, folder: Path) -> Rehearsed:
    path = scenario.locustfile(folder)
    asked = str(path), path.stat().st_mtime_ns, str(folder) if scenario.keys.trace else "", _plain(scenario)
    if asked in _known:
        _known.move_to_end(asked)
        return _known[asked]
    one = scenario.model_copy(update={"seed": 1})  # chance is drawn evenly: no seed is another load test
    found = rehearse(path, one, folder) if scenario.is_shipped(path) else _elsewhere(path, one, folder)
    _known[asked] = found
    while len(_known) > MOST_KEPT:
        _known.popitem(last=False)
    return found


def _plain(scenario: Scenario) -> str:
    """What of a scenario decides which requests are sent, so that those of a search are rehearsed once.

    Which values attributes have is drawn by their laws later; what a table can take, it is asked for anyway.
    """
    stated = scenario.model_dump(mode="json", exclude=set(NO_MATTER))
    for name, one in stated["attributes"].items():
        stated["attributes"][name] = {law: one[law] for law in ("timestamp", "copy_of")}
    for owner in (stated["table"], *stated["table"]["indexes"]):
        for capacity in CAPACITY:
            owner.pop(capacity, None)
    return orjson.dumps(stated).decode()


def _elsewhere(path: Path, scenario: Scenario, folder: Path) -> Rehearsed:
    name = str(path), path.stat().st_mtime_ns
    if name not in _processes:
        _processes[name] = _Process.of(path)
    said = _processes[name].ask(orjson.dumps([scenario.model_dump(mode="json"), str(folder.absolute())]))
    if isinstance(said, bytes):
        return ADAPTER.validate_json(said)
    _processes.pop(name).end()
    return Rehearsed(wrong=(f"{path.name}: {said}",))


@dataclass(slots=True)
class _Process:
    """A process that rehearses one file."""

    child: "subprocess.Popen[bytes]"
    beside: IO[str]
    _lines: "Queue[bytes]" = field(default_factory=Queue)

    @classmethod
    def of(cls, path: Path) -> "_Process":
        """Start it."""
        beside = tempfile.TemporaryFile("w+")  # noqa: SIM115  (closed with the process)
        child = subprocess.Popen(
            [sys.executable, "-m", "keyheat.simulator.rehearsal", str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=beside,
        )
        made = cls(child, beside)
        atexit.register(made.end)
        Thread(target=made._read, daemon=True).start()
        return made

    def ask(self, line: bytes) -> bytes | str:
        """Its answer; else why there is none."""
        assert self.child.stdin is not None
        try:
            self.child.stdin.write(line + b"\n")
            self.child.stdin.flush()
            answer = self._lines.get(timeout=LONGEST_S)
        except OSError:
            answer = b""
        except Empty:
            return f"its rehearsal did not come to an end within {LONGEST_S:.0f} s"
        return answer or self._last_words()

    def end(self) -> None:
        """End it, whatever it does."""
        _quietly(self.child.kill)
        self.child.wait()
        for pipe in (self.child.stdin, self.child.stdout, self.beside):
            if pipe is not None:
                _quietly(pipe.close)

    def _read(self) -> None:
        assert self.child.stdout is not None
        for line in self.child.stdout:
            self._lines.put(line)
        self._lines.put(b"")

    def _last_words(self) -> str:
        self.child.wait()
        self.beside.seek(0)
        words = self.beside.read().strip().splitlines()[-1:]
        ended = f"it ended the process that rehearsed it (exit code {self.child.returncode})"
        return ": ".join([ended, *words])


def _quietly(end: Callable[[], object]) -> None:
    """End what may be over already."""
    try:
        end()
    except OSError:
        return
