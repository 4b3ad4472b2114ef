"""The table docs/data/fidelity.csv: every published measurement, and what the model makes of it.

python -m tests.calibration.fidelity [--write]
"""

import argparse
import csv
import io
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.calibration.cases import Observation, all_cases
from tests.calibration.verdicts import Verdict, simulated_verdicts, verdicts
from tests.calibration.words import FLAGS

TABLE = Path(__file__).parents[2] / "docs" / "data" / "fidelity.csv"

COLUMNS = (
    "case", "title", "source", "kind", "observed", "model", "verdict", "because", "simulator",
    "simulator_verdict", "simulator_because", "assumed", "not_simulated",
)  # fmt: skip


def rows() -> Iterator[Mapping[str, str]]:
    """A row for each observation, and one for each case that is not modelled."""
    for case in all_cases():
        about = {"case": case.id, "title": case.title, "source": case.source}
        if case.not_modelled:
            yield about | {"verdict": "not modelled", "because": case.not_modelled}
        about |= {"assumed": case.assumed, "not_simulated": case.not_simulated}
        for verdict, simulated in zip(verdicts(case), simulated_verdicts(case), strict=True):
            yield (
                about
                | {"kind": case.load["kind"], "observed": _observed(verdict.observation)}
                | _given_by_both(verdict, simulated)
            )


def _given_by_both(verdict: Verdict, simulated: Verdict | None) -> Mapping[str, str]:
    """What the model and the simulator give, and why where they miss or differ."""
    cells = {"model": _given(verdict), "verdict": _word(verdict)}
    if not verdict.met:
        cells["because"] = verdict.observation.missed
    if simulated is not None:
        cells |= {"simulator": _given(simulated), "simulator_verdict": _word(simulated)}
        if not simulated.like(verdict):
            cells["simulator_because"] = verdict.observation.differs
    return cells


def _word(verdict: Verdict) -> str:
    return "met" if verdict.met else "missed"


def table() -> str:
    """The whole table, as CSV."""
    file = io.StringIO()
    writer = csv.DictWriter(file, COLUMNS, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows())
    return file.getvalue()


def _observed(one: Observation) -> str:
    held = "in the range" if one.spread else f"±{one.tolerance:.1%}" if one.tolerance else "exactly"
    if one.spread and one.tolerance:
        held += f" ±{one.tolerance:.1%}"
    why = f"; {one.why}" if one.why else ""
    return f"{one.name}: {_value(one, one.value)} ({held.replace('.0%', '%')}{why})"


def _given(verdict: Verdict) -> str:
    middle, least, most = (
        _value(verdict.observation, value)
        for value in (verdict.middle, min(verdict.values), max(verdict.values))
    )
    return middle + (f" ({least} to {most})" if least != most else "")


def _value(one: Observation, value: float) -> str:
    if one.metric in FLAGS and value in (0, 1):
        return "yes" if value else "no"
    return _number(value)


def _number(value: float) -> str:
    if value == int(value):
        return f"{int(value):,}"
    return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:.3g}"


def main(arguments: list[str]) -> int:
    """Print the table, or write it."""
    parser = argparse.ArgumentParser(prog="python -m tests.calibration.fidelity", description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"write {TABLE.name} instead of printing it")
    if parser.parse_args(arguments).write:
        TABLE.write_text(table(), encoding="utf-8")
    else:
        print(table(), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
