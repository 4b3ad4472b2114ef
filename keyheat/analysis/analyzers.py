"""Analyzers: modules that are loaded by their path and asked what they find in a run.

One is a Python file, or a folder with an `__init__.py`, with one public function:

    def analyze(run: Run) -> Iterable[Finding]
    def analyze(run: Run, numbers: Thresholds) -> Iterable[Finding]      # going by configs/thresholds.toml

Those that ship are in `analyzers/`, loaded once, and trusted. A user's own may fail in any way: then it says
nothing, and why is said with its file and line.
"""

import inspect
import re
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from itertools import islice
from pathlib import Path
from reprlib import Repr
from types import ModuleType
from typing import Any, Final

from pydantic import BaseModel, ValidationError

from keyheat.analysis.thresholds import Thresholds
from keyheat.masking import masked
from keyheat.runs.formats import Finding, GeneratorFacts, Label
from keyheat.runs.manifest import GeneratorHealth
from keyheat.runs.run import Run
from keyheat.shipped import shipped
from keyheat.validation import mistakes

FUNCTION: Final = "analyze"
ACCEPTED: Final = "a list of keyheat.Finding, or an iterator over them"
MOST_FINDINGS: Final = 1_000  # of one analyzer: more are no answer
MOST_LETTERS: Final = 500  # of what an error says
LABELS: Final = "partition_or_table"
GENERATOR: Final = "was_it_the_generator"
PLACED: Final = (LABELS, GENERATOR)
"""Analyzers whose findings have a place of their own in a diagnosis."""
_BRIEFLY: Final = Repr()


class AnalyzerProblem(ValueError):
    """An analyzer that cannot be loaded or asked; the text says which, where, and what would be accepted."""


@dataclass(frozen=True, slots=True)
class Analyzer:
    """One question that can be put to the evidence."""

    name: str
    path: Path
    place: str  # the file and the line of its function
    ask: Callable[[Run, Thresholds], Iterable[Finding]]


@dataclass(frozen=True, slots=True)
class AnalyzerAnswers:
    """What analyzers of a user found, and those that could not say anything, with the reason."""

    findings: tuple[Finding, ...] = ()
    problems: tuple[str, ...] = ()


def labels_of(run: Run, numbers: Thresholds) -> tuple[Label, ...]:
    """What limited each resource, span by span: `analyzers/partition_or_table`."""
    return tuple(_label(found) for found in our_own(LABELS).ask(run, numbers))


def generator_of(run: Run, numbers: Thresholds) -> GeneratorFacts:
    """Whether the load generator was the limit: `analyzers/was_it_the_generator.py`."""
    (found,) = our_own(GENERATOR).ask(run, numbers)
    health = run.client.manifest.generator if run.client and run.client.manifest else None
    return GeneratorFacts(
        bound=found.label == "generator-bound",
        checks=found.because,
        shortfall=shortfall(health) if health and health.fell_behind else "",
    )


def shortfall(health: GeneratorHealth) -> str:
    """What throttles are worth that a generator which fell behind met."""
    asked, sent = (f"{value or 0:,.0f}" for value in (health.asked_per_s, health.achieved_per_s))
    if (health.achieved_per_s or 0) < (health.asked_per_s or 0) and sent != asked:
        short = f"The generator sent only {sent} of {asked} {health.target_unit}/s"
        return f"{short}, so the real load throttles at least this much."
    return "The generator sent requests late and in bursts: the throttles are certain, their number is not."


def further_findings(run: Run, numbers: Thresholds) -> tuple[Finding, ...]:
    """What the other analyzers that ship find."""
    return tuple(
        found.model_copy(update={"analyzer": one.name})
        for one in _further()
        for found in one.ask(run, numbers)
    )


def answers(paths: Sequence[Path], run: Run, numbers: Thresholds) -> AnalyzerAnswers:
    """What a user's own analyzers find in a run; a folder without an `__init__.py` holds several."""
    findings: list[Finding] = []
    problems: list[str] = []
    for path in paths:
        try:
            asked = analyzers_in(path)
        except AnalyzerProblem as problem:
            problems.append(str(problem))
            continue
        for one in asked:
            try:
                findings += _answer(load(one), run, numbers)
            except AnalyzerProblem as problem:
                problems.append(str(problem))
    return AnalyzerAnswers(tuple(findings), tuple(problems))


def analyzers_in(path: Path) -> Sequence[Path]:
    """The analyzers that a path names. Raises `AnalyzerProblem` where it names none."""
    accepted = "an analyzer is a Python file, or a folder of them"
    if not path.exists():
        raise AnalyzerProblem(f"{path}: there is no such file or folder; {accepted}")
    if path.is_dir() and not (path / "__init__.py").is_file():
        found = _within(path)
        if not found:
            raise AnalyzerProblem(f"{path}: no Python file is in this folder; {accepted}")
        return found
    if not path.is_dir() and path.suffix != ".py":
        raise AnalyzerProblem(f"{path}: this is no Python file; {accepted}")
    return [path]


@cache
def our_own(name: str) -> Analyzer:
    """An analyzer that ships, loaded when it is first asked."""
    folder = shipped("analyzers")
    path = folder / name if (folder / name).is_dir() else folder / f"{name}.py"
    return _asked(_module(path, f"keyheat_analyzer_{name}"), path)


@cache
def _further() -> tuple[Analyzer, ...]:
    """Those that ship and have no place of their own in a diagnosis."""
    names = map(_name, _within(shipped("analyzers")))
    return tuple(our_own(name) for name in names if name not in PLACED)


def load(path: Path) -> Analyzer:
    """A user's analyzer. Raises `AnalyzerProblem`."""
    name = f"keyheat_with_{re.sub(r'[^0-9a-zA-Z]', '_', str(path.resolve()))}"
    with _failures_of(path):
        module = _module(path, name)
    return _asked(module, path)


def _module(path: Path, name: str) -> ModuleType:
    """A file, or a folder with an `__init__.py`, as a module, in which relative imports work."""
    inside = [str(path)] if path.is_dir() else None
    spec = spec_from_file_location(name, _file(path), submodule_search_locations=inside)
    assert spec is not None, "a Python file has a loader"
    assert spec.loader is not None, "a Python file has a loader"
    for stale in [one for one in sys.modules if one == name or one.startswith(f"{name}.")]:
        del sys.modules[stale]
    module = sys.modules[name] = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _asked(module: ModuleType, path: Path) -> Analyzer:
    function = getattr(module, FUNCTION, None)
    if not callable(function):
        raise AnalyzerProblem(f"{_file(path)} has no function analyze(run){_instead(module)}")
    line = f", line {function.__code__.co_firstlineno}" if inspect.isfunction(function) else ""
    place = f"{_file(path)}{line}"
    return Analyzer(_name(path), path, place, _with_numbers(function, place))


def _instead(module: ModuleType) -> str:
    """What an analyzer without `analyze` has in its place, and where."""
    own = {n: f for n, f in vars(module).items() if inspect.isfunction(f) and f.__module__ == module.__name__}
    close = get_close_matches(FUNCTION, own, 1)
    if close:
        return f"; line {own[close[0]].__code__.co_firstlineno} has {close[0]}: was that meant?"
    return f"; it has {', '.join(own)}" if own else "; it has no function at all"


def _with_numbers(function: Any, place: str) -> Callable[[Run, Thresholds], Iterable[Finding]]:
    """The function, called with the run, and with the thresholds where it takes them."""
    signature = inspect.signature(function)
    if _takes(signature, 2):
        return function  # type: ignore[no-any-return]
    if _takes(signature, 1):
        return lambda run, _numbers: function(run)
    raise AnalyzerProblem(
        f"{place}: analyze{signature} cannot be asked: it is called with the run, "
        "or with the run and the thresholds"
    )


def _takes(signature: inspect.Signature, arguments: int) -> bool:
    try:
        signature.bind(*range(arguments))
    except TypeError:
        return False
    return True


def _answer(analyzer: Analyzer, run: Run, numbers: Thresholds) -> list[Finding]:
    """The findings of a user's analyzer. Raises `AnalyzerProblem`."""
    with _failures_of(analyzer.path):
        given: object = analyzer.ask(run, numbers)
        listed = None
        if isinstance(given, Iterable) and not isinstance(given, str | BaseModel):
            listed = list(islice(given, MOST_FINDINGS + 1))
    if listed is None or not all(isinstance(one, Finding) for one in listed):
        other = given if listed is None else next(one for one in listed if not isinstance(one, Finding))
        raise AnalyzerProblem(f"{analyzer.place}: analyze gave {_BRIEFLY.repr(other)}; accepted: {ACCEPTED}")
    if len(listed) > MOST_FINDINGS:
        raise AnalyzerProblem(f"{analyzer.place}: analyze gave more than {MOST_FINDINGS:,} findings")
    return [found.model_copy(update={"analyzer": analyzer.name}) for found in listed]


@contextmanager
def _failures_of(path: Path) -> Iterator[None]:
    """Whatever a user's code raises as an `AnalyzerProblem`; what it prints goes to stderr."""
    try:
        with redirect_stdout(sys.stderr):
            yield
    except (Exception, SystemExit) as error:
        line = _line_of(error, path)
        said = "; ".join(mistakes(error)) if isinstance(error, ValidationError) else str(error)
        words = f"{type(error).__name__}: {masked(said)[:MOST_LETTERS]}" if said else type(error).__name__
        raise AnalyzerProblem(f"{line}: {words}") from error


def _line_of(error: BaseException, path: Path) -> str:
    """The file and the line of a user's own code at which an error came up, the deepest."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}, line {error.lineno}"
    inside = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename).resolve().is_relative_to(path.resolve())
    ]
    return f"{inside[-1].filename}, line {inside[-1].lineno}" if inside else str(_file(path))


def _file(path: Path) -> Path:
    """The file of an analyzer in which its function is."""
    return path / "__init__.py" if path.is_dir() else path


def _name(path: Path) -> str:
    return path.stem if path.suffix == ".py" else path.name


def _within(folder: Path) -> list[Path]:
    """The analyzers of a folder, by name; what begins with `_` is none."""
    files = [path for path in folder.glob("[!_.]*.py") if path.is_file()]
    return sorted((*files, *(path.parent for path in folder.glob("[!_.]*/__init__.py"))), key=_name)


def _label(found: Finding) -> Label:
    said = found.model_dump(exclude={"label", "numbers", "analyzer"})
    return Label(constraint=found.label, throttles=found.numbers["throttles"][0], **said)
