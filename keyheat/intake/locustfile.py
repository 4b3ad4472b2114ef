"""Write a Locust file with the tasks of a described table as methods."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

CALLS: Final[Mapping[str, str]] = {
    "put": "put_item", "put_if_absent": "put_if_absent", "update": "update_item", "delete": "delete_item",
    "get": "get_item", "query": "query_items", "batch_write": "batch_write", "batch_get": "batch_get",
    "transact_write": "transact_write", "transact_get": "transact_get",
}  # fmt: skip
"""Methods of `keyheat.load.users.operations` users, by task."""


def locustfile_text(name: str, scenario: str, tasks: Sequence[Mapping[str, Any]]) -> str:
    """A Locust file with a method per task; the file `scenario` states the rates.

    `tasks` are a scenario's: operation, `per_s` and, for some queries, an index.
    """
    return "\n".join(_lines(name, scenario, tasks)) + "\n"


def _lines(name: str, scenario: str, tasks: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield f'"""A load test of {name}, with the rates of {scenario}."""'
    yield ""
    yield "from locust import task"
    yield ""
    yield "from keyheat.load.users.operations import BatchUser, TransactionUser"
    yield ""
    yield ""
    yield f"class {_class_of(name)}(BatchUser, TransactionUser):"
    yield '    """Change the tasks to what the application does, with `self.put` or `self.send`."""'
    least = min((task["per_s"] for task in tasks), default=1.0)
    for task, method in zip(tasks, _methods(tasks), strict=True):
        index = f'index="{task["index"]}"' if task.get("index") else ""
        yield ""
        yield f"    @task({max(1, round(task['per_s'] / min(least, 1.0)))})"
        yield f"    def {method}(self) -> None:"
        yield f"        self.{CALLS[task['operation']]}({index})"


def _methods(tasks: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for task in tasks:
        of = "_" + re.sub(r"\W+", "_", task["index"]).lower() if task.get("index") else ""
        yield f"send_{task['operation']}{of}"


def _class_of(name: str) -> str:
    words = re.findall(r"[A-Za-z0-9]+", name)
    return "Users" + "".join(word[0].upper() + word[1:] for word in words)
