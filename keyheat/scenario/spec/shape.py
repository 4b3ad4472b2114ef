"""The shape of a scenario's load: `[load.shape]`, which rate is asked for at which moment."""

from collections.abc import Iterator, Mapping
from math import isclose
from typing import Annotated, Any, Literal, TypeGuard

from pydantic import Field

from keyheat.scenario import shape
from keyheat.scenario.shape import Shape
from keyheat.scenario.spec.part import Part, Seconds

PerS = Annotated[float, Field(ge=0, le=10_000_000)]
_FIELDS = {
    "constant": (),
    "ramp": ("from_per_s", "to_per_s"),
    "steps": ("steps",),
    "spike": ("peak_per_s", "at_s", "for_s"),
    "sine": ("low_per_s", "high_per_s", "period_s"),
}
_RATES = ("from_per_s", "to_per_s", "peak_per_s", "low_per_s", "high_per_s")


class StepSpec(Part):
    """One rate, and for how long."""

    per_s: PerS
    for_s: Seconds | None = None  # always there: a step without an end is refused with its own words


class ShapeSpec(Part):
    """Which rate is asked for when, in what the load's own target is in: requests, WCU or RCU per second."""

    kind: Literal["constant", "ramp", "steps", "spike", "sine"]
    from_per_s: PerS | None = Field(None, description="ramp: the rate at the start")
    to_per_s: PerS | None = Field(None, description="ramp: the rate at the end of the load")
    steps: Annotated[tuple[StepSpec, ...], Field(max_length=1_000)] | None = Field(
        None, description="steps: { per_s = .., for_s = .. } of each; together they last as long as the load"
    )
    peak_per_s: PerS | None = Field(None, description="spike: the rate at its top; else the load's own rate")
    at_s: Annotated[float, Field(ge=0, le=7 * 86_400)] | None = Field(
        None, description="spike: when it begins"
    )
    for_s: Seconds | None = Field(None, description="spike: how long it lasts")
    low_per_s: PerS | None = Field(None, description="sine: the rate at the start, and after each period")
    high_per_s: PerS | None = Field(None, description="sine: the rate after half a period")
    period_s: Seconds | None = Field(None, description="sine: seconds of the run that stand for one day")

    def over(self, per_s: float, duration_s: float) -> Shape:
        """The shape of a load of so many seconds whose own rate is `per_s`. What it needs was checked."""
        match self.kind:
            case "constant":
                return shape.constant(per_s, duration_s=duration_s)
            case "ramp":
                return shape.ramp(_said(self.from_per_s), _said(self.to_per_s), duration_s=duration_s)
            case "steps":
                return shape.steps((step.per_s, _said(step.for_s)) for step in self.steps or ())
            case "spike":
                at_s, for_s, peak_per_s = _said(self.at_s), _said(self.for_s), _said(self.peak_per_s)
                return shape.spike(per_s, peak_per_s, at_s=at_s, for_s=for_s, duration_s=duration_s)
            case "sine":
                low_per_s, high_per_s, period_s = map(_said, (self.low_per_s, self.high_per_s, self.period_s))
                return shape.sine(low_per_s, high_per_s, period_s=period_s, duration_s=duration_s)


def _said(value: float | None) -> float:
    assert value is not None, "checked when the scenario was read"
    return value


def broken_shape(load: Mapping[str, Any], default_duration_s: float) -> Iterator[str]:
    """What a load's shape has to agree on with itself and with the load, as `message @ $.path`."""
    raw = load.get("shape")
    kind = raw.get("kind") if isinstance(raw, Mapping) else None
    if not isinstance(raw, Mapping) or not isinstance(kind, str) or kind not in _FIELDS:
        return
    duration_s = load.get("duration_s", default_duration_s)
    yield from _fields(kind, raw)
    if not _number(duration_s):
        return
    if kind == "steps":
        yield from _steps(raw.get("steps"), duration_s)
    elif kind == "spike":
        yield from _spike(raw, duration_s)
    elif kind == "sine":
        yield from _sine(raw)
    yield from _nothing(kind, raw)


def _fields(kind: str, raw: Mapping[str, Any]) -> Iterator[str]:
    needed = _FIELDS[kind]
    for field in needed:
        if raw.get(field) is None:
            yield f"kind = {kind!r} needs it @ $.load.shape.{field}"
    for others in _FIELDS.values():
        for field in others:
            if field not in needed and raw.get(field) is not None:
                yield f"no meaning with kind = {kind!r} @ $.load.shape.{field}"


def _steps(listed: Any, duration_s: float) -> Iterator[str]:
    if not isinstance(listed, list | tuple):
        return
    if not listed:
        yield "needs at least one step @ $.load.shape.steps"
    lasting = [step.get("for_s") if isinstance(step, Mapping) else None for step in listed]
    for number, (step, for_s) in enumerate(zip(listed, lasting, strict=True)):
        if isinstance(step, Mapping) and for_s is None:
            yield f"a step needs an end: for_s, in seconds @ $.load.shape.steps[{number}].for_s"
    if lasting and all(_number(for_s) for for_s in lasting):
        total_s = sum(float(for_s or 0) for for_s in lasting)
        if not isclose(total_s, duration_s, rel_tol=1e-9):
            yield (
                f"the steps last {total_s:g} s in all, the load's duration_s is {duration_s:g} "
                "@ $.load.shape.steps"
            )


def _spike(raw: Mapping[str, Any], duration_s: float) -> Iterator[str]:
    at_s, for_s = raw.get("at_s"), raw.get("for_s")
    if _number(at_s) and _number(for_s) and at_s + for_s > duration_s:
        yield (
            f"the spike ends {at_s + for_s:g} s after the start, the load after {duration_s:g} s "
            "@ $.load.shape.for_s"
        )


def _sine(raw: Mapping[str, Any]) -> Iterator[str]:
    low, high = raw.get("low_per_s"), raw.get("high_per_s")
    if _number(low) and _number(high) and low > high:
        yield f"low_per_s is {low:g}, above high_per_s, {high:g} @ $.load.shape.low_per_s"


def _nothing(kind: str, raw: Mapping[str, Any]) -> Iterator[str]:
    """A spike stands on the load's own rate, which is never 0."""
    if kind == "steps":
        listed = raw.get("steps") or ()
        rates = [step.get("per_s") for step in listed if isinstance(step, Mapping)]
    else:
        rates = [raw.get(field) for field in _FIELDS[kind] if field in _RATES]
    if kind != "spike" and rates and all(_number(rate) and rate == 0 for rate in rates):
        yield "every rate is 0: nothing would be sent @ $.load.shape"


def _number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)
