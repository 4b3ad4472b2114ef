"""What a case of a suite is held to, where its file says nothing else, and what a file may say."""

from collections.abc import Iterable, Iterator
from typing import Final

from keyheat.analysis.measures.catalogue import MEASURES
from keyheat.regression.finding import Gate
from keyheat.regression.suites.spec import LABELS as LABELS
from keyheat.regression.suites.spec import GateSpec
from keyheat.runfiles import SIMULATED

REPETITIONS: Final = 5  # where a gate is statistical and nobody says how many
LEAST_REPETITIONS: Final = 2  # one run has no spread

LEAST_EFFECTS: Final = {
    "mean_units_per_operation.write": 0.02,
    "mean_units_per_operation.read": 0.02,
    "accepted_units_per_s.write": 0.05,
    "accepted_units_per_s.read": 0.05,
    "knee_units_per_s": 0.05,
    "throttle_share": 0.1,
    "p50_ms": 0.15,
    "p99_ms": 0.25,
    "first_throttle_s": 0.2,
    "recovery_s": 0.2,
}
"""The smallest relative change of each statistical measure that counts, where a gate does not say its own."""

DEFAULT_GATES: Final = (
    Gate(measure=LABELS),
    *(Gate(measure=name, least_effect=LEAST_EFFECTS.get(name, 0.0)) for name in MEASURES),
)
"""What a case without gates is held to: what was limited, and every measure; see `default_gates`."""


def default_gates(target: str, repetitions: int | None) -> tuple[Gate, ...]:
    """The default gates that fit a case.

    A simulated run has no noise: what has is left to the exact measures of it. And one repetition has no
    spread, so that nothing statistical can be decided by it.
    """
    noisy = target != SIMULATED and repetitions != 1
    return tuple(gate for gate in DEFAULT_GATES if noisy or not statistical(gate))


def statistical(gate: Gate) -> bool:
    """Whether a gate needs several repetitions to be decided."""
    return gate.measure != LABELS and MEASURES[gate.measure].kind == "statistical"


def gate_of(spec: GateSpec) -> Gate:
    """The gate that a file states, once it has no `gate_mistakes`."""
    least = LEAST_EFFECTS.get(spec.measure, 0.0) if spec.least_effect is None else spec.least_effect
    made = Gate(measure=spec.measure, least_effect=least)
    if spec.confidence is None:
        return made
    return Gate(measure=spec.measure, least_effect=least, confidence=spec.confidence)


def is_known(measure: str) -> bool:
    """Whether there is something of that name to hold on to."""
    return measure == LABELS or measure in MEASURES


def gate_mistakes(specs: Iterable[tuple[int, GateSpec]], place: str) -> Iterator[str]:
    """What is wrong with the gates at a place of the file, each as `message @ $.path`, by their numbers."""
    seen: set[str] = set()
    for number, spec in specs:
        here = f"{place}.gates[{number}]"
        if not is_known(spec.measure):
            accepted = ", ".join((LABELS, *sorted(MEASURES)))
            yield f"no measure {spec.measure!r}; there are: {accepted} @ {here}.measure"
            continue
        if spec.measure in seen:
            yield f"another gate holds on to {spec.measure} too @ {here}.measure"
        seen.add(spec.measure)
        if not statistical(Gate(measure=spec.measure)):
            for name in ("least_effect", "confidence"):
                if getattr(spec, name) is not None:
                    yield f"{spec.measure} is exact: any change of it counts @ {here}.{name}"
