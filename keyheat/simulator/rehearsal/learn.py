"""A load test, rehearsed: its tasks are done again and again without a table, and what they send is learnt.

    file --run on a stage--> user classes --each task, some times--> Done, Done ... --sorted--> LoadTest

Nothing is sent, nothing waits, and chance is drawn evenly (`draws`), so that 32 times are enough where every
key follows from what was drawn. Where one does not, there are more. It is one user who does them; some
others, with memories of their own, do each task a few times, which shows what every user has for itself.
"""

import inspect
import tokenize
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count
from pathlib import Path
from threading import Lock
from types import SimpleNamespace
from typing import Any, Final

from keyheat.scenario.scenario import Scenario
from keyheat.scenario.spec.attributes import AttributeSpec
from keyheat.scenario.spec.tables import TableSpec
from keyheat.simulator.rehearsal.draws import IN_TIME, USER, Draws, NotedKeys, Noting
from keyheat.simulator.rehearsal.kinds import Done, Kinds, Performance
from keyheat.simulator.rehearsal.mix import (
    Rehearsed,
    RehearsedLoadTest,
    RehearsedTask,
    UserClass,
    attribute_mark,
)
from keyheat.simulator.rehearsal.stage import USERS, Stage, StandInLoad, is_missing_here
from keyheat.simulator.rehearsal.tables import NotLearnt, SentItem, Tables

ROUNDS: Final = (32, 512, 4_096)
WARM_UP: Final = 3  # rounds before them: users that come back to their items have some then
OTHERS: Final = 7  # users beside the one that is rehearsed ...
TIMES: Final = 2  # ... and how often they do each task, once they have done it before
APART: Final = 100_003  # numbers of what different tasks do, which draw other keys at the same time
MOST_REQUESTS: Final = 10_000  # of one task
STARTED_S: Final = 1_796_083_200.0
ONLY_IN_A_RUN: Final = "a simulation has no stand-in for it, so only a run shows what this file sends"

_own: list[Stage] = []  # of this process, which may have other threads
_lock = Lock()


def rehearse(path: Path, scenario: Scenario, folder: Path, *, alone: bool = False) -> Rehearsed:
    """What the load test in a file sends for a scenario, whose trace is in `folder`.

    `alone`: this process is for the rehearsal only, and the file may be anybody's.
    """
    with _lock:
        if not _own:
            _own.append(Stage(alone=alone))
        return _rehearse(_own[0], path, scenario, folder)


def _rehearse(stage: Stage, path: Path, scenario: Scenario, folder: Path) -> Rehearsed:
    try:
        names = stage.run(path)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001  (whatever a file does when it is run is to be told)
        told = (_told(path, error),)
        return Rehearsed(unlearnt=told) if is_missing_here(error) else Rehearsed(wrong=told)
    users: list[Any] = list(dict.fromkeys(one for one in names.values() if _is_user(stage, one)))
    if wrong := tuple(_wrong(path, users)):
        return Rehearsed(wrong=wrong)
    base = stage.module(f"{USERS}.user").TableUser
    if unlearnt := tuple(said for one in users for said in _foreign(path, one, base, scenario)):
        return Rehearsed(unlearnt=unlearnt)
    for rounds in ROUNDS:
        rehearsal = _Rehearsal(stage, path, scenario, folder, rounds)
        learnt = tuple(rehearsal.user_class(one, _count_of(one, users, scenario)) for one in users)
        if rehearsal.unlearnt:
            return Rehearsed(unlearnt=tuple(dict.fromkeys(rehearsal.unlearnt)))
        if rehearsal.sure:
            break
    return Rehearsed(
        loadtest=RehearsedLoadTest(
            users=learnt,
            asks_for_shards=rehearsal.asked_for_shards,
            counts=tuple(sorted(rehearsal.counts.items())),
        )
    )


def _is_user(stage: Stage, value: Any) -> bool:
    """Whether something that a file defines, or imports, is what Locust takes for a class of users."""
    return inspect.isclass(value) and issubclass(value, stage.user_base) and not vars(value).get("abstract")


def _wrong(path: Path, users: Sequence[type]) -> Iterator[str]:
    """What nobody could run."""
    if not users:
        yield f"{path.name} has no user class: one that derives from keyheat.load.users.user.TableUser"
    for one in users:
        if not getattr(one, "tasks", ()):
            yield f"{_where(path, one)}: {one.__name__} has no task: a method with locust's @task"


def _count_of(user: Any, users: Sequence[Any], scenario: Scenario) -> int:
    """How many users of a class there are."""
    fixed: int = user.fixed_count
    if fixed:
        return fixed
    left: int = scenario.load.users - sum(one.fixed_count for one in users)
    share: float = user.weight / sum(one.weight for one in users if not one.fixed_count)
    return max(1, round(left * share))


def _foreign(path: Path, user: Any, base: Any, scenario: Scenario) -> Iterator[str]:
    """Why users are none whose requests a rehearsal could see, or whose number anybody could say."""
    here = f"{_where(path, user)}: {user.__name__}"
    if not issubclass(user, base):
        yield (
            f"{here} sends nothing that Keyheat sees: it does not derive from "
            "keyheat.load.users.user.TableUser"
        )
    elif user.simulated_as(scenario) is None and user.wait_time is not base.wait_time:
        yield f"{here} has a wait_time of its own: how often it sends is not known"


def _where(path: Path, user: type) -> str:
    """The file and line of a class, as far as it is the load test's."""
    with tokenize.open(path) as file:  # in the encoding that the file states
        lines = list(file)
    found = (number for number, line in enumerate(lines, 1) if line.startswith(f"class {user.__name__}"))
    return f"{path.name}:{next(found, 1)}"


def _told(path: Path, error: BaseException) -> str:
    """An error with its place in the load test's file, or in the last one that is not ours."""
    frames = traceback.extract_tb(error.__traceback__)
    mine = [frame for frame in frames if Path(frame.filename) == path]
    line = mine[-1].lineno if mine else getattr(error, "lineno", None)
    told = f"{path.name}{f':{line}' if line else ''}: {type(error).__name__}: {error}"
    return f"{told}; {ONLY_IN_A_RUN}" if is_missing_here(error) else told


@dataclass(frozen=True, slots=True)
class _Actor:
    """One user that is rehearsed."""

    user: Any
    tasks: Sequence[tuple[Callable[..., Any], float]]  # with their weights
    numbers: Sequence[tuple[int, int, int]]  # that it drew when it was made
    keys: list[str]  # that it drew then, and since

    def task(self, like: Callable[..., Any], place: int) -> Callable[..., Any] | None:
        """Its own task in the same place as another user's, if it has the same one there."""
        tasks = [task for task, _weight in self.tasks[place : place + 1] if _name(task) == _name(like)]
        return tasks[0] if tasks else None


def _name(task: Callable[..., Any]) -> str:
    return getattr(task, "__name__", str(task))


class _Rehearsal:
    """The users of one load test, and what they do so many times."""

    def __init__(self, stage: Stage, path: Path, scenario: Scenario, folder: Path, rounds: int) -> None:
        self._stage, self._path, self._scenario, self._rounds = stage, path, scenario, rounds
        self._told = scenario.model_copy(
            update={"cache": None, "table": _in_text(scenario.table), "attributes": _marked(scenario)}
        )
        self._tables = Tables((self._told.table, *scenario.companions), drawn=_of_combinations(scenario))
        self._draws = Draws()
        self._pattern = scenario.keys.pattern(folder=folder)
        self._remembered: set[str] = set()  # keys of items that were made of drawn ones
        self._sizes: set[int] = set()  # that items of the scenario were given
        self._reads: list[int] = []
        self._numbers = chain([0], count(USER))
        self.counts: dict[str, float] = {}  # what users count before their first task, and after the last one
        self._working = False
        self._made_so_far = 0
        self.sure = True
        self.unlearnt: list[str] = []
        self.asked_for_shards = False

    def user_class(self, user: Any, count: int) -> UserClass:
        """One class of users, learnt; there are so many of them."""
        behaviour = user.simulated_as(self._scenario)
        tasks: tuple[RehearsedTask, ...] = ()
        if behaviour is None:
            try:
                tasks = self._tasks(user, count)
            except NotLearnt as error:
                self.unlearnt.append(f"{_where(self._path, user)}: {user.__name__} {error}")
        return UserClass(
            name=user.__name__,
            weight=user.weight,
            fixed_count=user.fixed_count or None,
            tasks=tasks,
            cached=getattr(user, "has_cache", False),
            simulated_as=behaviour,
        )

    def _tasks(self, user: Any, owners: int) -> tuple[RehearsedTask, ...]:
        load = self._load()
        one = self._made(user, load)
        self._working = True
        done: list[list[Done]] = [[] for _ in one.tasks]
        for number in range(-WARM_UP, self._rounds):
            at_s = self._scenario.load.duration_s * max(0.0, number + 0.5) / self._rounds
            for place, (task, _weight) in enumerate(one.tasks):
                came = self._do(one, task, number + WARM_UP + place * APART, at_s)
                if came is not None and number >= 0:
                    done[place].append(came)
            if self.unlearnt:
                return ()
        others = [self._made(user, load) for _ in range(OTHERS)]
        found = tuple(
            self._task(one, place, [self._part(one, came), *self._others(others, one, place)], owners)
            for place, came in enumerate(done)
        )
        self._working = False
        for look in load.last_looks:
            look()
        return found

    def _part(self, actor: _Actor, done: Sequence[Done]) -> Performance:
        return Performance(done, actor.keys, actor.numbers)

    def _others(self, others: Sequence[_Actor], one: _Actor, place: int) -> Iterator[Performance]:
        """What other users do of a task, at times that are spread over the run."""
        like, _weight = one.tasks[place]
        numbers = count(APART // 2 + place * APART)
        for other in others:
            if (task := other.task(like, place)) is not None:
                self._do(other, task, next(numbers), 0.0)
                times = (self._scenario.load.duration_s * (number + 0.5) / TIMES for number in range(TIMES))
                came = (self._do(other, task, next(numbers), at_s) for at_s in times)
                yield self._part(other, [each for each in came if each is not None])

    def _task(self, actor: _Actor, place: int, parts: Sequence[Performance], owners: int) -> RehearsedTask:
        task, weight = actor.tasks[place]
        done = parts[0].done
        if not any(one.sent for one in done):
            raise NotLearnt(f"sends nothing that Keyheat sees in its task {_name(task)}")
        kinds = Kinds(
            parts,
            (self._told.table, *self._scenario.companions),
            shards=self._scenario.keys.shards,
            sizes=self._sizes,
            owners=owners,
            last=self._rounds == ROUNDS[-1],
        )
        numbers = count(len(done) + WARM_UP)

        found = kinds.of(lambda at_s: self._do(actor, task, next(numbers), at_s))
        self.sure &= kinds.sure
        return RehearsedTask(name=_name(task), weight=weight, kinds=found)

    def _made(self, user: Any, load: Any) -> _Actor:
        """A user that sends to the tables of the rehearsal; not the first one, who may do more."""
        module: Any = self._stage.module(f"{USERS}.user")
        module.Random = lambda seed: Noting(self._draws, seed)
        module.TableUser.send = module.TableUser.send_aside = _send
        self._draws.begin(self._made_so_far)
        self._made_so_far += 1
        try:
            environment = SimpleNamespace(keyheat=load)
            one = user(environment)
            if not one.number:
                one = user(environment)
            one.on_start()
        except Exception as error:
            raise NotLearnt(f"cannot be made: {_told(self._path, error)}") from error
        drawn = [*self._draws.numbers, self._number_of(one)]
        return _Actor(one, list(_single(one, one.task_weights())), drawn, list(self._draws.keys))

    def _number_of(self, user: Any) -> tuple[int, int, int]:
        return user.number, 0, self._scenario.load.users - 1

    def _load(self) -> Any:
        """What users know of a run, which begins now."""
        self._stage.clock.now_s = STARTED_S
        items = self._stage.module(f"{USERS}.items").ItemTemplate(self._told, now_s=self._stage.clock)
        draw_size = items.draw_size
        items.draw_size = lambda rng: self._sized(draw_size(rng))
        if size := items._fixed_bytes:
            self._sizes.add(size)
        return StandInLoad(
            order=SimpleNamespace(scenario=self._told, run_id="rehearsal", users=self._scenario.load.users),
            items=items,
            keys=NotedKeys(self._pattern, self._draws, self._scenario.seed),
            numbers=self._numbers,
            clock=self._stage.clock,
            answer=self._answer,
            count=self._count,
            ask=self._ask_for_shards,
        )

    def _sized(self, size: int) -> int:
        self._sizes.add(size)
        return size

    def _ask_for_shards(self) -> int:
        self.asked_for_shards = True
        return self._scenario.keys.shards

    def _count(self, name: str, number: float = 1) -> None:
        if not self._working:
            self.counts[name] = self.counts.get(name, 0.0) + number
        if name == "reads.checked":
            self._reads.append(len({sent.request for sent in self._tables.sent}))

    def _answer(self, operation: str, body: bytes) -> Any:
        if len(self._tables.sent) > MOST_REQUESTS:
            raise NotLearnt(f"sends more than {MOST_REQUESTS:,} requests in one task")
        status, content = self._tables.answer(operation, body)
        return self._stage.module(f"{USERS}.user").Answer(status, content, 0.0)

    def _do(self, actor: _Actor, task: Callable[..., Any], number: int, at_s: float) -> Done | None:
        """Do a task once; None where it raises, which is noted."""
        self._stage.clock.now_s = STARTED_S + at_s
        self._tables.begin()
        self._draws.begin(number)
        self._draws.numbers.append(self._number_of(actor.user))
        self._reads.clear()
        try:
            task()
        except NotLearnt as error:
            raise NotLearnt(f"{error}, in its task {task.__name__}") from error
        except Exception as error:  # noqa: BLE001  (a load test may do anything, and is told where it failed)
            name = f"{type(actor.user).__name__}.{_name(task)}"
            self.unlearnt.append(f"{_told(self._path, error)}, in {name}")
            return None
        actor.keys.extend(self._draws.keys)
        return self._done(at_s)

    def _done(self, at_s: float) -> Done:
        draws, sent = self._draws, tuple(self._tables.sent)
        done = Done(
            at_s=at_s,
            now_s=STARTED_S + at_s,
            sent=sent,
            keys=tuple(draws.keys),
            numbers=tuple(draws.numbers),
            fresh=draws.fresh,
            reads=tuple(self._reads),
        )
        drawn = {one.key for one in sent if "{key}" in done.made(one.key).shape}
        known = frozenset((one.key, one.sort) for one in sent if self._is_known(one, drawn))
        self._remembered |= {one.key for one in sent if one.what == "put" and one.key in drawn}
        return replace(done, known=known)

    def _is_known(self, one: SentItem, drawn: set[str]) -> bool:
        """Whether it is of an item that its user wrote in an earlier task, and remembers: not one that it has
        met again by chance."""
        if one.what == "query" or not one.written_before or one.key not in self._remembered:
            return False
        return bool(IN_TIME.fullmatch(one.sort or "")) or one.key not in drawn


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
            (one if inspect.isclass(one) else one.__get__(parent), weight * number / counts.total())
            for one, number in counts.items()
        )
        yield from _single(parent, inner)


def _send(user: Any, operation: str, body: bytes, **_what: Any) -> Any:
    """Sends to the tables of the rehearsal."""
    return user.load.answer(operation, body)


def _of_combinations(scenario: Scenario) -> set[str]:
    """The attributes that an index is keyed by together with others (`combinations`)."""
    known = scenario.attribute_values
    heads = [index.partition_key for index in scenario.table.indexes if "+" in index.partition_key]
    parts = (part for head in heads if head in scenario.attributes for part in head.split("+"))
    return {part for part in parts if part in known and known[part].copy_of is None}


def _marked(scenario: Scenario) -> dict[str, AttributeSpec]:
    """What items have beside the table's keys; where the scenario says where entries go, a mark for that."""
    heads = {*(index.partition_key for index in scenario.table.indexes), *_of_combinations(scenario)}
    return {
        name: AttributeSpec(values={attribute_mark(place): 1.0})
        if name in heads and spec.copy_of is None
        else spec
        for place, (name, spec) in enumerate(scenario.attribute_values.items())
    }


def _in_text(table: TableSpec) -> TableSpec:
    """The table with keys of text: how a key is written changes nothing of where it lies."""
    return table.model_copy(update={"partition_key_type": "S", "sort_key_type": "S"})
