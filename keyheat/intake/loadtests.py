"""Locust files to edit: copies of the shipped load tests, and one written for a described table."""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from keyheat.scenario.scenario import SCENARIOS
from keyheat.scenario.spec.part import FILE
from keyheat.shipped import shipped

TRACE = re.compile(r'^trace = "([^"]+)"', re.MULTILINE)
LOADTEST = re.compile(r'^loadtest = "([^"]+)"', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ShippedLoadTest:
    """A shipped load test: its file, its question, and the scenarios that name it."""

    name: str
    question: str
    file: Path
    scenarios: tuple[Path, ...]

    @property
    def copies(self) -> dict[str, str]:
        """Name -> text of each file of a copy. A scenario runs the load test, and the trace, beside it."""
        copies = {self.file.name: self.file.read_text(encoding="utf-8")}
        for path in self.scenarios:
            text = path.read_text(encoding="utf-8")
            if re.fullmatch(FILE, local := f"./{self.file.name}"):
                text = LOADTEST.sub(f'loadtest = "{local}"', text)
            if match := TRACE.search(text):
                trace = path.parent / match[1]
                copies[trace.name] = trace.read_text(encoding="utf-8")
                text = TRACE.sub(f'trace = "{trace.name}"', text)
            copies[path.name] = text
        return copies


def load_tests() -> Iterator[ShippedLoadTest]:
    """Shipped load tests, by name. The files are parsed, not run: each would import Locust."""
    of: dict[str, list[Path]] = {}
    for path in sorted(SCENARIOS.glob("*.toml")):
        if match := LOADTEST.search(path.read_text(encoding="utf-8")):
            of.setdefault(match[1], []).append(path)
    for file in sorted(shipped("loadtests").glob("[!_]*.py")):
        docstring = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
        question = " ".join(docstring.partition("\n\n")[0].split())
        yield ShippedLoadTest(file.stem, question, file, tuple(of.get(file.stem, ())))


def find_load_test(name: str) -> ShippedLoadTest:
    """The load test with this name. Raises `ValueError` with the existing names."""
    tests = {test.name: test for test in load_tests()}
    if (test := tests.get(name.replace("-", "_"))) is None:
        raise ValueError(f"no load test {name!r}; use one of {', '.join(tests)}")
    return test


CALLS: Final[Mapping[str, str]] = {
    "put": "put_item", "put_if_absent": "put_if_absent", "update": "update_item", "delete": "delete_item",
    "get": "get_item", "query": "query_items", "batch_write": "batch_write", "batch_get": "batch_get",
    "transact_write": "transact_write", "transact_get": "transact_get",
}  # fmt: skip
"""Methods of `keyheat.load.users.operations` users, by task."""
LOCUSTFILE: Final = '''\
"""A load test of {name}, with the rates of {scenario}."""

from locust import task

from keyheat.load.users.operations import BatchUser, TransactionUser


class Users{users}(BatchUser, TransactionUser):
    """Change the tasks to what the application does, with `self.put` or `self.send`."""
'''
METHOD: Final = """
    @task({weight})
    def {method}(self) -> None:
        self.{call}({argument})
"""


def locustfile_text(name: str, scenario: str, tasks: Sequence[Mapping[str, Any]]) -> str:
    """A Locust file with a method per task; the file `scenario` states the rates.

    `tasks` are a scenario's: operation, `per_s` and, for some queries, an index.
    """
    words = re.findall(r"[A-Za-z0-9]+", name)
    least = min((task["per_s"] for task in tasks), default=1.0)
    text = LOCUSTFILE.format(
        name=name, scenario=scenario, users="".join(word[0].upper() + word[1:] for word in words)
    )
    for task in tasks:
        index = task.get("index") or ""
        suffix = "_" + re.sub(r"\W+", "_", index).lower() if index else ""
        text += METHOD.format(
            weight=max(1, round(task["per_s"] / min(least, 1.0))),
            method=f"send_{task['operation']}{suffix}",
            call=CALLS[task["operation"]],
            argument=f'index="{index}"' if index else "",
        )
    return text
