"""All processes beside one load: those that its user classes name, each of them once."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from keyheat.load.beside.helper import Assignment
from keyheat.load.beside.process import BesideProcess
from keyheat.load.record.record import Record


@dataclass(slots=True)
class Beside:
    """The processes beside the load of one run. None of them outlives `kill`."""

    processes: list[BesideProcess] = field(default_factory=list)

    def start(self, user_classes: Iterable[Any], assignment: Assignment) -> None:
        """Start what the users want beside them."""
        wanted = (getattr(user, "beside", ()) for user in user_classes)
        for module in dict.fromkeys(module for module in wanted if module):
            self.processes.append(BesideProcess.start(module, assignment))

    def finish(self, record: Record, *, given_up: Callable[[], bool], within_s: float) -> list[str]:
        """Let them finish, put what they counted in the record, and give what they have to say."""
        said = []
        counted = dict(record.counted)
        for process in self.processes:
            outcome = process.finish(counted, given_up=given_up, within_s=within_s)
            for name, number in outcome.counted.items():
                record.count(name, number)
            record.health.problems += outcome.problems
            said += outcome.said
        return said

    def kill(self) -> None:
        """End all of them."""
        for process in self.processes:
            process.kill()
