"""Metric math of the simple kind: arithmetic on the metrics of a request, their sums, means and extremes.

    100*(throttled/all)   consumed/60   SUM(METRICS())   MAX([m1, m2])   FILL(m1, 0)   used/PERIOD(used)
    (used/PERIOD(used))/FILL(has, REPEAT)

Where one of two metrics has no datapoint there is none; nor is there where something is divided by zero.
https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/using-metric-math.html
"""

import ast
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from statistics import fmean
from typing import Any, Final

from keyheat.endpoint.cloudwatch.parameters import validation
from keyheat.endpoint.errors import ServiceError

MOST_CHARACTERS: Final = (
    2_048  # https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_MetricDataQuery.html
)
THERE: Final = "+ - * / and brackets, SUM, AVG, MIN, MAX, FILL with a number or REPEAT, PERIOD and METRICS"
OPERATIONS: Final[Mapping[type[ast.operator], Callable[[float, float], float]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
AGGREGATES: Final[Mapping[str, Callable[[Iterable[float]], float]]] = {
    "SUM": sum, "AVG": fmean, "MIN": min, "MAX": max,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class MetricSeries:
    """Values by the second in which their period begins, and how long that is."""

    values: Mapping[int, float]
    period_s: int


Value = float | MetricSeries | list[MetricSeries]


@dataclass(slots=True)
class MetricMath:
    """The metrics and expressions of one request. `metric` gives the series of a metric's query."""

    metrics: Sequence[str]
    expressions: Mapping[str, str]
    metric: Callable[[str], MetricSeries]
    start_s: int
    end_s: int
    _under_way: list[str] = field(default_factory=list)

    def series(self, identifier: str) -> MetricSeries:
        """What an expression comes to. Raises ValidationError in CloudWatch's manner."""
        found = self._of(identifier)
        if not isinstance(found, MetricSeries):
            kind = "a number" if isinstance(found, float) else "several series"
            raise self._wrong(identifier, f"it comes to {kind}, and a query is of one time series")
        return found

    def _of(self, identifier: str) -> Value:
        if identifier in self.metrics:
            return self.metric(identifier)
        if identifier in self._under_way:
            raise self._wrong(identifier, "it refers to itself")
        self._under_way.append(identifier)
        try:
            return self._value(_parsed(self.expressions[identifier]))
        except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError) as error:
            said = str(error) if isinstance(error, _NotThere) else "it cannot be read"
            raise self._wrong(identifier, said) from None
        finally:
            self._under_way.pop()

    def _wrong(self, identifier: str, why: str) -> ServiceError:
        expression = self.expressions.get(identifier, identifier)
        return validation(
            f"Error in expression '{identifier}' [{expression}]: {why}. The local endpoint has {THERE}."
        )

    def _value(self, node: ast.expr) -> Value:
        match node:
            case ast.Constant(value=bool() | str() | bytes() | None):
                raise _NotThere("a word stands where a number or a metric should")
            case ast.Constant(value=int() | float() as number):
                return float(number)
            case ast.Name(id=name) if name in self.metrics or name in self.expressions:
                return self._of(name)
            case ast.Name(id=name):
                raise _NotThere(f"no query has the id {name}")
            case ast.UnaryOp(op=ast.USub(), operand=inner):
                return _both(operator.mul, -1.0, self._value(inner))
            case ast.BinOp(left=left, op=sign, right=right) if type(sign) in OPERATIONS:
                return _both(OPERATIONS[type(sign)], self._value(left), self._value(right))
            case ast.List(elts=parts):
                return [one for part in parts for one in _each(self._value(part))]
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
                return self._called(name, args)
        raise _NotThere("there is something in it that is not served here")

    def _called(self, name: str, args: Sequence[ast.expr]) -> Value:
        match name, args:
            case "METRICS", []:
                return [self.metric(one) for one in self.metrics]
            case "METRICS", [ast.Constant(value=str() as part)]:
                return [self.metric(one) for one in self.metrics if part in one]
            case "PERIOD", [inner] if isinstance(found := self._value(inner), MetricSeries):
                return float(found.period_s)
            case "FILL", [inner, ast.Name(id="REPEAT")]:
                return _filled([*_each(self._value(inner))], None, self.start_s, self.end_s)
            case "FILL", [inner, number] if isinstance(filler := self._value(number), float):
                return _filled([*_each(self._value(inner))], filler, self.start_s, self.end_s)
            case (("SUM" | "AVG" | "MIN" | "MAX"), [inner]):
                return _aggregated(AGGREGATES[name], self._value(inner))
        raise _NotThere(f"{name} is not served here, or not with these parameters")


class _NotThere(ValueError):
    """What an expression asks for and is not served."""


def _parsed(expression: str) -> ast.expr:
    """The expression as a tree: of what is served, Python's own grammar is CloudWatch's."""
    if len(expression) > MOST_CHARACTERS:
        raise _NotThere(f"it has more than {MOST_CHARACTERS:,} characters")
    return ast.parse(expression.strip(), mode="eval").body


def _each(value: Value) -> list[MetricSeries]:
    if isinstance(value, float):
        raise _NotThere("a number stands where a metric should")
    return value if isinstance(value, list) else [value]


def _both(work: Callable[[float, float], float], left: Value, right: Value) -> Value:
    """Two values, point by point."""
    if isinstance(left, float) and isinstance(right, float):
        found = _worked(work, left, right)
        if found is None:
            raise _NotThere("it divides by zero, or is too large")
        return found
    if isinstance(left, list) or isinstance(right, list):
        raise _NotThere("arithmetic is of single metrics: SUM or AVG make one of several")
    return _series_of(work, left, right)


def _series_of(
    work: Callable[[float, float], float], left: float | MetricSeries, right: float | MetricSeries
) -> MetricSeries:
    known = [one for one in (left, right) if isinstance(one, MetricSeries)]
    at = set.intersection(*(set(one.values) for one in known))
    points = {
        second: value
        for second in sorted(at)
        if (value := _worked(work, _at(left, second), _at(right, second))) is not None
    }
    return MetricSeries(points, max(one.period_s for one in known))


def _at(value: float | MetricSeries, second: int) -> float:
    return value.values[second] if isinstance(value, MetricSeries) else value


def _worked(work: Callable[[float, float], float], left: float, right: float) -> float | None:
    try:
        found = work(left, right)
    except ZeroDivisionError:
        return None
    return found if isfinite(found) else None


def _filled(series: list[MetricSeries], filler: float | None, start_s: int, end_s: int) -> Value:
    """Every period of the request has a value: its own, else `filler`; without one the last before it."""
    filled = []
    for one in series:
        first = start_s // one.period_s * one.period_s
        last, values = filler, dict[int, float]()
        for at in range(first if first >= start_s else first + one.period_s, end_s, one.period_s):
            found = one.values.get(at, last)
            if found is not None:
                values[at] = found
            last = found if filler is None else filler
        filled.append(MetricSeries(values, one.period_s))
    return filled[0] if len(filled) == 1 else filled


def _aggregated(aggregate: Callable[[Iterable[float]], float], value: Value) -> Value:
    """Of one metric the number over all of its time; of several a series, period by period."""
    if isinstance(value, MetricSeries):
        if not value.values:
            raise _NotThere("a number of a metric without datapoints is none")
        return float(aggregate(value.values.values()))
    series = _each(value)
    if not series:
        raise _NotThere("there is no metric that it could be of")
    points: dict[int, list[float]] = {}
    for one in series:
        for second, number in one.values.items():
            points.setdefault(second, []).append(number)
    return MetricSeries(
        {second: float(aggregate(points[second])) for second in sorted(points)},
        max(one.period_s for one in series),
    )


def checked_expression(raw: Any) -> str:
    """An Expression as a request has it. Raises ValidationError."""
    if not isinstance(raw, str) or not raw.strip():
        raise validation("The value for parameter Expression must be a string that is not empty.")
    return raw
