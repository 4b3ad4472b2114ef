"""What a person sees in a terminal: progress while a load runs, and the answer in a few lines."""

from types import TracebackType
from typing import Protocol, Self

from rich.console import Console, Group, RenderableType
from rich.progress import BarColumn, Progress, TextColumn
from rich.status import Status
from rich.table import Table
from rich.text import Text

from analyzers.formats import Diagnosis, Verdict
from analyzers.numbers import whole
from tablemodel.scenario import Scenario

COLOURS = {
    "partition": "red",
    "table": "dark_orange",
    "max_on_demand": "magenta",
    "account": "magenta",
    "undetermined": "yellow",
    "none": "green",
}
PHASES = {
    "starting": "starting the table",
    "collecting": "waiting for CloudWatch to publish the minute",
    "analyzing": "labelling throttles",
    "reporting": "writing the report",
    "done": "done",
}


class LoadProgress(Protocol):
    """What a running load says of itself."""

    @property
    def phase(self) -> str: ...
    @property
    def elapsed_s(self) -> float: ...
    @property
    def accepted_per_s(self) -> float: ...
    @property
    def throttled_per_s(self) -> float: ...
    @property
    def errors_per_s(self) -> float: ...


class LoadBar:
    """A progress bar over one load, with what was accepted and throttled in the last second."""

    def __init__(self, name: str, duration_s: float, console: Console) -> None:
        self._bar = Progress(
            TextColumn("{task.fields[name]:<12}"), BarColumn(), TextColumn("{task.description}"),
            console=console, transient=True, disable=not console.is_terminal,
        )  # fmt: skip
        self._task = self._bar.add_task(PHASES["starting"], total=duration_s, name=name)

    def show(self, now: LoadProgress) -> None:
        """Draw the state that the load reports."""
        if now.phase != "loading":
            self._bar.update(self._task, description=PHASES.get(now.phase, now.phase))
            return
        said = f"{now.elapsed_s:3.0f} s  {whole(now.accepted_per_s):>6}/s accepted"
        said += f"  {whole(now.throttled_per_s):>6}/s throttled"
        if now.errors_per_s:
            said += f"  {whole(now.errors_per_s)}/s failed"
        self._bar.update(self._task, completed=now.elapsed_s, description=said)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()


class Countdown:
    """A line that counts down what is waited for; where there is no terminal, one line for each wait."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._status = Status("asking CloudWatch", console=console)
        self._said: str | None = None

    def show(self, what: str, left_s: float) -> None:
        """Say what is waited for and how many seconds are left at most."""
        if self._console.is_terminal:
            self._status.update(f"{what}: {left_s:.0f} s")
        elif what != self._said:
            self._console.print(f"{what}: at most {left_s:.0f} s", markup=False)
        self._said = what

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._status.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._status.stop()


def outcome(scenario: Scenario, diagnosis: Diagnosis, report: str) -> Text:
    """One line for one run: name, label, confidence, throttles, where its report is."""
    verdict = diagnosis.verdict
    throttles = sum(label.throttles for label in diagnosis.labels)
    line = Text.assemble(
        f"{scenario.name:<12}", chip(verdict), f"  confidence {verdict.confidence:.2f}",
        f"  {whole(throttles):>8} throttles  ", (report, "bold"),
    )  # fmt: skip
    if scenario.expects not in (None, verdict.constraint):
        line.append(f"\n{'':<12}expected {scenario.expects}", style="yellow")
    return line


def summary(diagnosis: Diagnosis) -> RenderableType:
    """A diagnosis in a few lines: verdict, why, what was constrained when, what to do, what was missing."""
    verdict = diagnosis.verdict
    parts: list[RenderableType] = [
        Text.assemble(chip(verdict), f"  confidence {verdict.confidence:.2f}, from {verdict.grade}")
    ]
    parts += [Text(f"  {line}") for line in verdict.because]
    if diagnosis.labels:
        parts.append(_labels(diagnosis))
    parts += [Text(f"{advice.kind}: {advice.why} {advice.expected}") for advice in diagnosis.recommendations]
    parts += [Text(f"missing: {line}", style="yellow") for line in diagnosis.coverage.missing]
    parts += [
        Text(f"threshold {one.name}: allowed {one.allowed}, measured {one.measured}", style="red")
        for one in diagnosis.thresholds
        if one.broken
    ]
    return Group(*parts)


def chip(verdict: Verdict) -> Text:
    """The constraint in its colour; a run that says nothing about the table says that first."""
    word = verdict.constraint if verdict.valid else f"invalid ({verdict.constraint})"
    return Text(f"{word:<12}", style=f"bold {COLOURS[verdict.constraint]}")


def _labels(diagnosis: Diagnosis) -> Table:
    table = Table(
        "from", "to", "resource", "direction", "constraint", "throttles", "grade", "confidence", box=None
    )
    for label in diagnosis.labels:
        table.add_row(
            f"{label.start:%H:%M:%S}", f"{label.end:%H:%M:%S}", label.resource, label.direction,
            label.constraint, whole(label.throttles), label.grade, f"{label.confidence:.2f}",
        )  # fmt: skip
    return table
