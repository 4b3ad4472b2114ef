"""Where a load test is rehearsed: its own code and that of its users, with stand-ins for all that would send.

A file that we ship is run in this process: its imports of Locust, gevent and users are led to stand-ins and
to copies of the users' modules, which nobody else can import. Anybody else's file may import whatever it
likes, and is run in a process of its own (`keyheat.simulator.rehearsal`), which has nothing but stand-ins.

A load test imports them by name; see `stage`. Of Locust there is what declares users and their tasks.
"""

import builtins
import importlib
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib.machinery import PathFinder
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar, Final

from keyheat.shipped import PACKAGE


@dataclass(slots=True)
class Clock:
    """The time of a rehearsal, epoch seconds: it stands still unless somebody waits."""

    now_s: float = 0.0

    def __call__(self) -> float:
        return self.now_s

    def wait(self, seconds: float = 0.0, **_more: Any) -> None:
        """Somebody sleeps."""
        self.now_s += seconds


PATCHES: Final = (
    "patch_all", "patch_dns", "patch_os", "patch_queue", "patch_select", "patch_signal", "patch_socket",
    "patch_ssl", "patch_subprocess", "patch_sys", "patch_thread", "patch_time",
)  # fmt: skip
"""What gevent puts in place of the standard library, where something waits; in a rehearsal nothing does."""


def stand_ins(clock: Clock) -> dict[str, ModuleType]:
    """By the name under which they are imported."""
    exceptions = {
        name: type(name, (Exception,), {})
        for name in (
            "InterruptTaskSet", "LocustError", "MissingWaitTimeError", "RescheduleTask",
            "RescheduleTaskImmediately", "ResponseError", "StopTest", "StopUser",
        )
    }  # fmt: skip
    exception = _module("locust.exception", **exceptions)
    gevent_names = {
        "sleep": clock.wait, "spawn": _spawn, "joinall": list, "Greenlet": object,
        "GreenletExit": type("GreenletExit", (BaseException,), {}),
    }  # fmt: skip
    pool, event = _module("gevent.pool", Pool=Pool), _module("gevent.event", Event=Event)
    monkey = _module("gevent.monkey", **dict.fromkeys(PATCHES, lambda *_what, **_how: None))
    now = {name: clock for name in ("time", "perf_counter", "monotonic")}
    return {
        "locust": _module("locust", exception=exception, **_LOCUST),
        "locust.exception": exception,
        "gevent": _module("gevent", pool=pool, event=event, monkey=monkey, **gevent_names),
        "gevent.monkey": monkey,
        "gevent.pool": pool,
        "gevent.event": event,
        "time": _module("time", **{**vars(time), **now, "sleep": clock.wait}),
    }


def _module(name: str, **names: Any) -> ModuleType:
    module = ModuleType(name)
    vars(module).update(names)
    return module


class _Declared(type):
    """Gathers a class's tasks as Locust does: those of its bases, `tasks`, and its decorated methods."""

    def __new__(mcs, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> "_Declared":
        tasks = [one for base in bases for one in getattr(base, "tasks", ())]
        own = body.get("tasks", ())
        pairs = own.items() if isinstance(own, dict) else own
        for one in pairs:
            task, count = one if isinstance(one, tuple) else (one, 1)
            tasks += [task] * count
        for value in body.values():
            tasks += [value] * getattr(value, "locust_task_weight", 0)
        return super().__new__(mcs, name, bases, {"abstract": False, **body, "tasks": tasks})


class User(metaclass=_Declared):
    """Locust's user: a class that declares tasks."""

    abstract = True
    weight, fixed_count = 1, 0
    tasks: ClassVar[list[Any]] = []
    host = None

    def __init__(self, environment: Any) -> None:
        self.environment = environment

    def wait(self) -> None:
        """Nothing waits."""
        self.wait_time()

    def wait_time(self) -> float:
        """Between two tasks."""
        return 0.0

    def on_start(self) -> None:
        """Before the first task."""

    def on_stop(self) -> None:
        """After the last one."""


class TaskSet(metaclass=_Declared):
    """Tasks of their own, which a user has as one."""

    abstract = True
    tasks: ClassVar[list[Any]] = []

    def __init__(self, parent: Any) -> None:
        self.parent, self.user = parent, getattr(parent, "user", parent)

    def interrupt(self, **_how: Any) -> None:
        """Back to the user's own tasks."""

    def on_start(self) -> None:
        """Before the first task."""


class HttpUser(User):
    """Sends to somebody else: nothing that Keyheat sees."""

    abstract = True


def _task(weight: Any = 1) -> Any:
    if callable(weight):
        weight.locust_task_weight = 1
        return weight

    def declared(function: Any) -> Any:
        function.locust_task_weight = weight
        return function

    return declared


def _tag(*_names: str) -> Callable[[Any], Any]:
    return lambda function: function


def _waits(*_seconds: float) -> Callable[[Any], float]:
    return lambda _user: 0.0


class _Events:
    """Locust's events: whoever listens hears nothing."""

    def __getattr__(self, _name: str) -> Any:
        return SimpleNamespace(add_listener=lambda listener: listener, fire=lambda **_what: None)


_LOCUST: dict[str, Any] = {
    "User": User, "HttpUser": HttpUser, "FastHttpUser": HttpUser, "TaskSet": TaskSet,
    "SequentialTaskSet": TaskSet, "LoadTestShape": object, "task": _task, "tag": _tag, "events": _Events(),
    "between": _waits, "constant": _waits, "constant_pacing": _waits, "constant_throughput": _waits,
    "run_single_user": lambda *_words, **_more: None,
}  # fmt: skip


class Pool:
    """Does one after the other what a pool of greenlets does at the same time."""

    def __init__(self, _size: int | None = None) -> None:
        self.spawn = _spawn

    def map(self, function: Callable[[Any], Any], values: Iterable[Any]) -> list[Any]:
        return [function(value) for value in values]

    def join(self, **_how: Any) -> None:
        """All is done."""

    def kill(self, **_how: Any) -> None:
        """Nothing is going on."""


class Event:
    """Set, or not; nobody waits for it."""

    def __init__(self) -> None:
        self._set = False

    def set(self) -> None:
        self._set = True

    def clear(self) -> None:
        self._set = False

    def is_set(self) -> bool:
        return self._set

    def wait(self, _timeout_s: float | None = None) -> bool:
        return self._set


def _spawn(function: Callable[..., Any], *words: Any, **more: Any) -> Any:
    value = function(*words, **more)
    return SimpleNamespace(value=value, get=lambda **_how: value, join=lambda **_how: None)


class StandInLoad:
    """What all users of a rehearsal share: as much of a run's load as they ask for."""

    cache = knowledge = retries = key_name = None
    stopping = False

    def __init__(
        self,
        *,
        order: Any,
        items: Any,
        keys: Any,
        numbers: Iterator[int],
        clock: Callable[[], float],
        answer: Callable[[str, bytes], Any],
        count: Callable[..., None],
        ask: Callable[[], int],
    ) -> None:
        self.order, self.items, self.keys, self.clock, self.answer = order, items, keys, clock, answer
        self.started_s, self.numbers = clock(), numbers
        self.record = SimpleNamespace(count=count, timed=lambda *_what: None)
        self.ledger = SimpleNamespace(identity=_identity, required=lambda *_what, **_how: ())
        self.under_way: dict[int, float] = {}
        self.last_looks: list[Any] = []
        self.transport = SimpleNamespace(send=answer)
        self._ask = ask

    @property
    def shards(self) -> int:
        """On how many shards each key is; who asks sends accordingly."""
        return self._ask()

    def pace(self, _rng: Any) -> Any:
        """A pace at which nobody waits."""
        return SimpleNamespace(
            wait=lambda: 0.0, begin=lambda now_s, _cost: now_s, settle=lambda _difference: None
        )


def _identity(table: str, item: dict[str, Any]) -> tuple[str, ...]:
    return (table, *(str(value) for value in item.values()))


USERS: Final = "keyheat.load.users"
COPIES: Final = "keyheat rehearsal of "  # before the names of copies, which nobody can import by mistake


def is_missing_here(error: BaseException) -> bool:
    """Whether an error says that a stand-in lacks what Locust or gevent has."""
    if isinstance(error, ImportError):
        module = error.name or ""
    elif isinstance(error, AttributeError) and isinstance(error.obj, ModuleType):
        module = error.obj.__name__
    else:
        return False
    return module.partition(".")[0] in ("gevent", "locust")


class Stage:
    """The modules of a rehearsal."""

    def __init__(self, *, alone: bool) -> None:
        """`alone`: this process is for the rehearsal only."""
        self.clock = Clock()
        self._alone = alone
        self._modules = stand_ins(self.clock)
        self._builtins = {**vars(builtins), "__import__": self._import}
        self.user_base: type = self._modules["locust"].User
        if alone:
            sys.modules.update(self._modules)

    def module(self, name: str) -> ModuleType:
        """A module of the users, made of stand-ins."""
        if self._alone:
            return importlib.import_module(name)
        return self._copy(name)

    def run(self, path: Path) -> dict[str, Any]:
        """Run a load test's file; what it defines. Raises whatever the file raises."""
        if self._alone:
            sys.path.insert(0, str(path.parent))  # as Locust does: its neighbours can be imported
            spec = spec_from_file_location(path.stem, path)
            assert spec is not None, "a path that ends in .py"
            assert spec.loader is not None
            module = module_from_spec(spec)
            sys.modules[path.stem] = module
            spec.loader.exec_module(module)
            return vars(module)
        names: dict[str, Any] = {"__builtins__": self._builtins, "__name__": f"{COPIES}{path.stem}"}
        exec(compile(path.read_bytes(), str(path), "exec"), names)
        return names

    def _import(
        self,
        name: str,
        names: Any = None,
        here: Any = None,
        wanted: tuple[str, ...] | None = (),
        level: int = 0,
    ) -> ModuleType:
        """What `import` means here."""
        if name in self._modules:
            return self._modules[name if wanted else name.partition(".")[0]]
        if name.startswith(f"{USERS}.") and wanted:
            return self._copy(name)
        return __import__(name, names, here, wanted or (), level)

    def _copy(self, name: str) -> ModuleType:
        if name not in self._modules:
            # Not `find_spec`, which would import the package of users, and so ask for Locust.
            spec = PathFinder.find_spec(name, [str(PACKAGE / "load" / "users")])
            assert spec is not None, "a module of ours"
            assert spec.loader is not None
            copy = self._modules[name] = sys.modules[COPIES + name] = ModuleType(COPIES + name)
            vars(copy)["__builtins__"] = self._builtins
            exec(spec.loader.get_code(name), vars(copy))  # type: ignore[attr-defined]
        return self._modules[name]
