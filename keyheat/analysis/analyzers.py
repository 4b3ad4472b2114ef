"""Load analyzers by path and run them.

An analyzer is a Python file, or a folder with an `__init__.py`, with one public function:

    def analyze(run: Run) -> Iterable[Finding]
    def analyze(run: Run, numbers: Thresholds) -> Iterable[Finding]      # with configs/thresholds.toml

The shipped ones are in `analyzers/`, loaded once, and trusted. A user's analyzer may fail in any way; the
diagnosis then reports the error with its file and line.
"""

import inspect
import re
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from itertools import islice
from pathlib import Path
from reprlib import Repr
from types import ModuleType
from typing import Any, Final

from pydantic import BaseModel, ValidationError

from keyheat.analysis.rules import Thresholds
from keyheat.masking import masked
from keyheat.runs.formats import Finding, GeneratorFacts, Label
from keyheat.runs.manifest import GeneratorHealth
from keyheat.runs.run import Run
from keyheat.shipped import import_file, shipped
from keyheat.validation import mistakes

FUNCTION: Final = "analyze"
ACCEPTED: Final = "a list of keyheat.Finding, or an iterator over them"
MOST_FINDINGS: Final = 1_000  # of one analyzer
MOST_LETTERS: Final = 500  # of an error message
LABELS: Final = "partition_or_table"
GENERATOR: Final = "was_it_the_generator"
PLACED: Final = (LABELS, GENERATOR)
"""Analyzers whose findings have their own fields in a diagnosis."""
_BRIEFLY: Final = Repr()


class AnalyzerProblem(ValueError):
    """An analyzer that cannot be loaded or run; the message names it, the place, and what is accepted."""


@dataclass(frozen=True, slots=True)
class Analyzer:
    """One loaded analyzer."""

    name: str
    path: Path
    location: str  # file and line of its function
    run: Callable[[Run, Thresholds], Iterable[Finding]]


@dataclass(frozen=True, slots=True)
class AnalyzerAnswers:
    """Findings of a user's analyzers, and the errors of those that failed."""

    findings: tuple[Finding, ...] = ()
    problems: tuple[str, ...] = ()


def labels_of(run: Run, numbers: Thresholds) -> tuple[Label, ...]:
    """Label each resource, span by span, with `analyzers/partition_or_table`."""
    return tuple(_label(finding) for finding in shipped_analyzer(LABELS).run(run, numbers))


def generator_of(run: Run, numbers: Thresholds) -> GeneratorFacts:
    """Whether the load generator was the limit: `analyzers/was_it_the_generator.py`."""
    (finding,) = shipped_analyzer(GENERATOR).run(run, numbers)
    health = run.client.manifest.generator if run.client and run.client.manifest else None
    return GeneratorFacts(
        bound=finding.label == "generator-bound",
        checks=finding.because,
        shortfall=shortfall(health) if health and health.fell_behind else "",
    )


def shortfall(health: GeneratorHealth) -> str:
    """Say how reliable the throttles of a generator that fell behind are."""
    target, sent = (f"{value or 0:,.0f}" for value in (health.asked_per_s, health.achieved_per_s))
    if (health.achieved_per_s or 0) < (health.asked_per_s or 0) and sent != target:
        short = f"The generator sent only {sent} of {target} {health.target_unit}/s"
        return f"{short}, so the real load throttles at least this much."
    return "The generator sent requests late and in bursts: the throttles are certain, their number is not."


def further_findings(run: Run, numbers: Thresholds) -> tuple[Finding, ...]:
    """Return the findings of the other shipped analyzers."""
    names = [name for path in _within(shipped("analyzers")) if (name := _name(path)) not in PLACED]
    return tuple(
        finding.model_copy(update={"analyzer": name})
        for name in names
        for finding in shipped_analyzer(name).run(run, numbers)
    )


def answers(paths: Sequence[Path], run: Run, numbers: Thresholds) -> AnalyzerAnswers:
    """Run a user's analyzers; a folder without an `__init__.py` holds several."""
    findings: list[Finding] = []
    problems: list[str] = []
    for path in paths:
        try:
            analyzers = analyzers_in(path)
        except AnalyzerProblem as problem:
            problems.append(str(problem))
            continue
        for analyzer in analyzers:
            try:
                findings += _answer(load(analyzer), run, numbers)
            except AnalyzerProblem as problem:
                problems.append(str(problem))
    return AnalyzerAnswers(tuple(findings), tuple(problems))


def analyzers_in(path: Path) -> Sequence[Path]:
    """Return the analyzers that a path names. Raises `AnalyzerProblem` if it names none."""
    accepted = "an analyzer is a Python file, or a folder of them"
    if not path.exists():
        raise AnalyzerProblem(f"{path}: no such file or folder; {accepted}")
    if path.is_dir() and not (path / "__init__.py").is_file():
        analyzers = _within(path)
        if not analyzers:
            raise AnalyzerProblem(f"{path}: no Python file in this folder; {accepted}")
        return analyzers
    if not path.is_dir() and path.suffix != ".py":
        raise AnalyzerProblem(f"{path}: not a Python file; {accepted}")
    return [path]


@cache
def shipped_analyzer(name: str) -> Analyzer:
    """Load a shipped analyzer, once."""
    folder = shipped("analyzers")
    path = folder / name if (folder / name).is_dir() else folder / f"{name}.py"
    return _analyzer(_module(path, f"keyheat_analyzer_{name}"), path)


def load(path: Path) -> Analyzer:
    """Load a user's analyzer. Raises `AnalyzerProblem`."""
    name = f"keyheat_with_{re.sub(r'[^0-9a-zA-Z]', '_', str(path.resolve()))}"
    with _failures_of(path):
        module = _module(path, name)
    return _analyzer(module, path)


def _module(path: Path, name: str) -> ModuleType:
    """Import a file or a folder with an `__init__.py`, so that relative imports work."""
    inside = [str(path)] if path.is_dir() else None
    for module in list(sys.modules):
        if module == name or module.startswith(f"{name}."):
            del sys.modules[module]
    return import_file(_file(path), name, inside=inside)


def _analyzer(module: ModuleType, path: Path) -> Analyzer:
    function = getattr(module, FUNCTION, None)
    if not callable(function):
        raise AnalyzerProblem(f"{_file(path)} has no function analyze(run){_instead(module)}")
    line = f", line {function.__code__.co_firstlineno}" if inspect.isfunction(function) else ""
    location = f"{_file(path)}{line}"
    return Analyzer(_name(path), path, location, _with_numbers(function, location))


def _instead(module: ModuleType) -> str:
    """Name the functions of a module without `analyze`, the most similar one with its line."""
    defined = {
        name: function
        for name, function in vars(module).items()
        if inspect.isfunction(function) and function.__module__ == module.__name__
    }
    if close := get_close_matches(FUNCTION, defined, 1):
        return f"; did you mean {close[0]} in line {defined[close[0]].__code__.co_firstlineno}?"
    return f"; it has {', '.join(defined)}" if defined else "; it has no functions"


def _with_numbers(function: Any, location: str) -> Callable[[Run, Thresholds], Iterable[Finding]]:
    """Return the function as one of run and thresholds, with or without the latter."""
    signature = inspect.signature(function)
    for arguments in ((0, 0), (0,)):
        with suppress(TypeError):
            signature.bind(*arguments)
            return function if len(arguments) == 2 else lambda run, _numbers: function(run)
    raise AnalyzerProblem(
        f"{location}: analyze{signature} has the wrong parameters; "
        "accepted: the run, or the run and the thresholds"
    )


def _answer(analyzer: Analyzer, run: Run, numbers: Thresholds) -> list[Finding]:
    """Run a user's analyzer. Raises `AnalyzerProblem`."""
    with _failures_of(analyzer.path):
        result: object = analyzer.run(run, numbers)
        findings = None
        if isinstance(result, Iterable) and not isinstance(result, str | BaseModel):
            findings = list(islice(result, MOST_FINDINGS + 1))
    if findings is None or not all(isinstance(item, Finding) for item in findings):
        other = (
            result if findings is None else next(item for item in findings if not isinstance(item, Finding))
        )
        raise AnalyzerProblem(
            f"{analyzer.location}: analyze returned {_BRIEFLY.repr(other)}; accepted: {ACCEPTED}"
        )
    if len(findings) > MOST_FINDINGS:
        raise AnalyzerProblem(f"{analyzer.location}: analyze returned more than {MOST_FINDINGS:,} findings")
    return [finding.model_copy(update={"analyzer": analyzer.name}) for finding in findings]


@contextmanager
def _failures_of(path: Path) -> Iterator[None]:
    """Raise any error of a user's code as `AnalyzerProblem`, and redirect its output to stderr."""
    try:
        with redirect_stdout(sys.stderr):
            yield
    except (Exception, SystemExit) as error:
        line = _line_of(error, path)
        details = "; ".join(mistakes(error)) if isinstance(error, ValidationError) else str(error)
        message = (
            f"{type(error).__name__}: {masked(details)[:MOST_LETTERS]}" if details else type(error).__name__
        )
        raise AnalyzerProblem(f"{line}: {message}") from error


def _line_of(error: BaseException, path: Path) -> str:
    """Return the deepest file and line of a user's code in an error."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}, line {error.lineno}"
    inside = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename).resolve().is_relative_to(path.resolve())
    ]
    return f"{inside[-1].filename}, line {inside[-1].lineno}" if inside else str(_file(path))


def _file(path: Path) -> Path:
    """Return the file that holds an analyzer's function."""
    return path / "__init__.py" if path.is_dir() else path


def _name(path: Path) -> str:
    return path.stem if path.suffix == ".py" else path.name


def _within(folder: Path) -> list[Path]:
    """List the analyzers of a folder, by name, without those that begin with `_`."""
    files = [path for path in folder.glob("[!_.]*.py") if path.is_file()]
    return sorted((*files, *(path.parent for path in folder.glob("[!_.]*/__init__.py"))), key=_name)


def _label(finding: Finding) -> Label:
    fields = finding.model_dump(exclude={"label", "numbers", "analyzer"})
    return Label(constraint=finding.label, throttles=finding.numbers["throttles"][0], **fields)
