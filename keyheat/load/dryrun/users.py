"""The users of a load test, running without a table: real classes, a virtual clock, stand-in tables.

Only in the process of dry runs (`keyheat.load.dryrun`): Locust is imported, and time is replaced.
"""

import inspect
import sys
import tokenize
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import locust
from locust.exception import InterruptTaskSet, RescheduleTask, StopUser

from keyheat.load.dryrun.sampled import Done, Sample, template
from keyheat.load.dryrun.standin import (
    CLOCK,
    STARTED_S,
    DryLoad,
    NotedKeys,
    NotSampled,
    SentItem,
    Tables,
)
from keyheat.load.transport.answer import Answer
from keyheat.load.users.items import IN_TIME
from keyheat.load.users.user import TableUser
from keyheat.scenario.scenario import Scenario
from keyheat.scenario.spec.keys import AttributeSpec
from keyheat.shipped import import_file
from keyheat.simulator.loadtest import DryRun, LoadTest, Task, UserClass

MOST_ITEMS: Final = 15_000  # that all executions of the tasks of a class send, beyond the few
WARM_UP: Final = 2  # executions of each user before, so that it has items to come back to
ENDED: Final = (InterruptTaskSet, RescheduleTask, StopUser)


Extent = tuple[int, int]
"""How large the sample of a class is: executions of each task, and users that take turns, at most."""
FEW: Final[Extent] = (128, 16)
MANY: Final[Extent] = (2_048, 251)  # what shares of keys need


def dry_run(path: Path, scenario: Scenario, folder: Path) -> DryRun:
    """What the load test in a file sends for a scenario, whose trace is in `folder`."""
    try:
        names = vars(loaded(path))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001  (a file may raise anything when it is imported)
        return DryRun(wrong=(describe(path, error),))
    users = list(dict.fromkeys(value for value in names.values() if is_user(value)))
    if wrong := tuple(_mistakes(path, users)):
        return DryRun(wrong=wrong)
    if refused := tuple(reason for user in users for reason in _refused(path, user, scenario)):
        return DryRun(unsampled=refused)
    counts = [_count_of(user, users, scenario) for user in users]
    session = _Session(path, scenario, folder)
    classes = session.classes(users, counts, [FEW for _user in users])
    if not session.failures and (unsure := session.unsure):
        session = _Session(path, scenario, folder)
        larger = {
            user: (min(MANY[0], max(FEW[0], MOST_ITEMS * FEW[0] // items)), MANY[1])
            for user, items in unsure.items()
        }
        extents = [larger.get(user, FEW) for user in users]
        classes = session.classes(users, counts, extents)
    if session.failures:
        return DryRun(unsampled=tuple(dict.fromkeys(session.failures)))
    return DryRun(loadtest=LoadTest(users=classes, asks_for_shards=session.load.asked_for_shards))


def loaded(path: Path) -> Any:
    """The module of a load test, imported as Locust does: its neighbours can be imported, too."""
    sys.path.insert(0, str(path.parent))
    try:
        return import_file(path, path.stem)
    finally:
        sys.path.remove(str(path.parent))


def is_user(value: Any) -> bool:
    return inspect.isclass(value) and issubclass(value, locust.User) and not value.abstract


def _mistakes(path: Path, users: Sequence[Any]) -> Iterator[str]:
    if not users:
        yield f"{path.name} has no user class: one that derives from keyheat.load.users.user.TableUser"
    elif not any(issubclass(user, TableUser) for user in users):
        yield _past_us(path, users[0])
    for user in users:
        if not user.tasks:
            yield f"{_where(path, user)}: {user.__name__} has no task: a method with locust's @task"


def _refused(path: Path, user: Any, scenario: Scenario) -> Iterator[str]:
    """Why no sample shows what users send."""
    here = f"{_where(path, user)}: {user.__name__}"
    if not issubclass(user, TableUser):
        yield _past_us(path, user)
    elif why := user.not_sampled(scenario):
        yield f"{here} {why}, which depends on answers"
    elif user.wait_time is not TableUser.wait_time:
        yield f"{here} sets its own wait_time, so its request rate is unknown"


def _past_us(path: Path, user: Any) -> str:
    return (
        f"{_where(path, user)}: Keyheat cannot see what {user.__name__} sends: derive it from "
        "keyheat.load.users.user.TableUser (`keyheat loadtests copy hotkey` is an example)"
    )


def _count_of(user: Any, users: Sequence[Any], scenario: Scenario) -> int:
    if user.fixed_count:
        return int(user.fixed_count)
    remaining = scenario.load.users - sum(other.fixed_count for other in users)
    weights: float = sum(other.weight for other in users if not other.fixed_count)
    return max(1, round(float(remaining * user.weight / weights)))


def _where(path: Path, user: type) -> str:
    """The file and line of a class, as far as it is the load test's."""
    with tokenize.open(path) as file:  # in the encoding that the file states
        lines = [number for number, line in enumerate(file, 1) if line.startswith(f"class {user.__name__}")]
    return f"{path.name}:{lines[0] if lines else 1}"


def describe(path: Path, error: BaseException) -> str:
    """An error with its line in the load test's file."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename) == path]
    line = frames[-1].lineno if frames else getattr(error, "lineno", None)
    return f"{path.name}{f':{line}' if line else ''}: {type(error).__name__}: {error}"


@dataclass(slots=True)
class _Actor:
    """One user that takes turns with others, and the keys of the items that it wrote."""

    user: Any
    tasks: Sequence[tuple[Callable[[], Any], float]]  # with their weights
    remembered: set[str] = field(default_factory=set)

    def done(
        self, sent: Sequence[SentItem], draws: frozenset[str], reads: tuple[int, ...], at_s: float
    ) -> Done:
        """What came of a task; items that it wrote under drawn keys are remembered from then on."""
        drawn = {item.key for item in sent if template(item.key, draws)}
        earlier = frozenset(
            (item.key, item.sort)
            for item in sent
            if item.what != "query" and item.written_before and item.key in self.remembered
            # It is not met again by chance.
            if IN_TIME.fullmatch(item.sort or "") or item.key not in drawn
        )
        self.remembered |= {item.key for item in sent if item.what == "put" and item.key in drawn}
        return Done(at_s=at_s, sent=tuple(sent), draws=draws, reads=reads, remembered=earlier)


class _Session:
    """The users of one load test."""

    def __init__(self, path: Path, scenario: Scenario, folder: Path) -> None:
        self._path, self._scenario = path, scenario
        # Keys are texts: how a key is written changes nothing of where it lies.
        table = scenario.table.model_copy(update={"partition_key_type": "S", "sort_key_type": "S"})
        stated = scenario.model_copy(update={"cache": None, "table": table, "attributes": _marked(scenario)})
        self._specs = (stated.table, *scenario.companions)
        self._tables = Tables(self._specs, drawn=_parts_of_keys(scenario))
        CLOCK.now_s = STARTED_S
        self._keys = NotedKeys(scenario.keys.pattern(folder=folder))
        self.load = DryLoad(stated, self._tables, self._keys)
        self.failures: list[str] = []
        self.unsure: dict[type, int] = {}  # items sent, of classes whose samples are too small

    def classes(
        self, users: Sequence[type], counts: Sequence[int], extents: Sequence[Extent]
    ) -> tuple[UserClass, ...]:
        """Sample all classes of users; `counts` has the number of users of each."""
        return tuple(map(self._class, users, counts, extents))

    def _class(self, user: Any, count: int, extent: Extent) -> UserClass:
        rounds, most_users = extent
        try:
            actors = [self._actor(user) for _ in range(min(count, most_users))]
            tasks = tuple(self._tasks(actors, count, rounds))
        except NotSampled as error:
            self.failures.append(f"{_where(self._path, user)}: {user.__name__} {error}")
            tasks = ()
        return UserClass(
            weight=user.weight,
            fixed_count=user.fixed_count or None,
            tasks=tasks,
            cached=getattr(user, "has_cache", False),
        )

    def _tasks(self, actors: Sequence[_Actor], count: int, rounds: int) -> Iterator[Task]:
        done: list[list[Done]] = [[] for _task in actors[0].tasks]
        for actor in actors:
            for _ in range(WARM_UP):
                for task_number in range(len(done)):
                    self._do(actor, task_number, 0.0)
        for number in range(rounds):
            at_s = self._scenario.load.duration_s * (number + 0.5) / rounds
            for task_number, came in enumerate(done):
                if (execution := self._do(actors[number % len(actors)], task_number, at_s)) is not None:
                    came.append(execution)
            if self.failures:
                return
        for (task, weight), came in zip(actors[0].tasks, done, strict=True):
            if not any(execution.sent for execution in came):
                raise NotSampled(f"sends nothing that Keyheat sees in its task {_name(task)}")
            shards = self._scenario.keys.shards
            sample = Sample(came, self._specs, shards, self.load.sizes, len(actors), count)
            yield Task(name=_name(task), weight=weight, kinds=sample.kinds())
            if not sample.sure:
                self.unsure[type(actors[0].user)] = sum(len(each.sent) for came in done for each in came)

    def _actor(self, user: Any) -> _Actor:
        """A user that sends to the stand-in tables; not the first one, who may do more."""
        environment = SimpleNamespace(keyheat=self.load, host=None)
        try:
            actor = user(environment)
            if not actor.number:
                actor = user(environment)
            actor.on_start()
        except Exception as error:
            raise NotSampled(f"cannot be made: {describe(self._path, error)}") from error
        return _Actor(actor, list(_single(actor, actor.task_weights())))

    def _do(self, actor: _Actor, number: int, at_s: float) -> Done | None:
        """Do a task once; None where it raises, which is noted."""
        CLOCK.now_s = STARTED_S + at_s
        self._tables.begin()
        self._keys.draws, self.load.reads = set(), []
        task, _weight = actor.tasks[number]
        try:
            task()
        except ENDED:
            pass
        except NotSampled as error:
            raise NotSampled(f"{error}, in its task {_name(task)}") from error
        except Exception as error:  # noqa: BLE001  (a load test may raise anything; its failure is reported with its line)
            name = f"{type(actor.user).__name__}.{_name(task)}"
            self.failures.append(f"{describe(self._path, error)}, in {name}")
            return None
        return actor.done(self._tables.sent, frozenset(self._keys.draws), tuple(self.load.reads), at_s)


def _name(task: Any) -> str:
    return getattr(task, "__name__", str(task))


def _single(user: Any, tasks: Iterable[tuple[Any, float]]) -> Iterator[tuple[Callable[[], Any], float]]:
    """Tasks one by one: a set of them stands for all that are in it."""
    for one_or_set, weight in tasks:
        if not inspect.isclass(one_or_set):
            yield one_or_set, weight
            continue
        task_set: Any = one_or_set
        counts: Counter[Any] = Counter(task_set.tasks)
        parent = task_set(user)
        inner = (
            (task if inspect.isclass(task) else task.__get__(parent), weight * number / counts.total())
            for task, number in counts.items()
        )
        yield from _single(parent, inner)


def _parts_of_keys(scenario: Scenario) -> set[str]:
    """The attributes that an index is keyed by together with others (`combinations`)."""
    values = scenario.attribute_values
    heads = [index.partition_key for index in scenario.table.indexes if "+" in index.partition_key]
    parts = (name for head in heads if head in scenario.attributes for name in head.split("+"))
    return {name for name in parts if name in values and values[name].copy_of is None}


def _marked(scenario: Scenario) -> dict[str, AttributeSpec]:
    """What items have beside the table's keys; where the scenario says where entries go, a mark for that."""
    heads = {*(index.partition_key for index in scenario.table.indexes), *_parts_of_keys(scenario)}
    return {
        name: AttributeSpec(values={f"{{@{name}}}": 1.0}) if name in heads and spec.copy_of is None else spec
        for name, spec in scenario.attribute_values.items()
    }


def send_alone() -> None:
    """Make users send without waiting, by the transport of their load, and record nothing."""

    def send(user: Any, operation: str, body: bytes, *, key: str, **_what: Any) -> Answer:
        if not isinstance(key, str):
            raise TypeError(f"the key of a request has to be a text, and is {key!r}")
        answer: Answer = user.load.transport.send(operation, body)
        return answer

    base: Any = TableUser
    base.send, base.wait = send, lambda _user: None
