"""The page docs/fidelity.md: every published measurement, and what the model makes of it.

python -m tests.calibration.fidelity [--write]
"""

import argparse
import sys
from collections.abc import Iterable, Iterator
from dataclasses import fields
from pathlib import Path

from keyheat.model.behaviour import DEFAULT
from tests.calibration.cases import Case, Observation, all_cases
from tests.calibration.verdicts import NEAR, Verdict, simulated_verdicts, verdicts
from tests.calibration.words import FLAGS

PAGE = Path(__file__).parents[2] / "docs" / "fidelity.md"

EXPLAINS = {
    "burst_s": ("doc-idle-burst-150rcu", "mapbox-5s-hammer", "lab-100wcu-none"),
    "burst_floor_units": ("lab-5wcu-medium", "lab-5wcu-small", "lab-gsi-low"),
    "nodes": ("stackd-fresh-1wcu-trace",),
    "nodes_below_units_per_s": ("lab-5wcu-small", "lab-100wcu-none", "mapbox-5s-hammer"),
    "node_chunk_units": ("lab-5wcu-small", "lab-5wcu-medium", "so-scan-89rcu-5rcu", "paritysuite-400kb"),
    "node_grant_s": ("lab-5wcu-small", "lab-5wcu-medium", "stackd-fresh-1wcu-trace", "paritysuite-400kb"),
    "partition_depth_s": ("stackd-fresh-1wcu-trace",),
    "quota_depth_s": ("fps-512-threads-40k",),
    "maximum_nodes": ("stackd-max-on-demand-write", "stackd-max-on-demand-read"),
    "index_buffer_units": ("lab-gsi-low",),
    "index_rest_units": ("lab-gsi-low",),
    "split_heat_s": ("ast-9k9-read", "ast-persist-none", "fps-256-threads"),
    "split_busy_share": ("ast-9k9-read", "ast-persist-none"),
    "growth_delay_s": ("doc-od-peak-rule", "yc-od-cold-step-5000"),
    "update_s": ("stackd-mode-switch",),
    "update_warm_s": ("stackd-mode-switch",),
}
"""The cases that speak for the value of a parameter; on those that are not here no published number bears."""

HEAD = """# Know how close the model is to real tables

<!-- Made by `make fidelity`. Change tests/calibration/, not this page. -->

{count}

{simulated}

The table model is what the local table and the simulator throttle with. AWS publishes its limits, but not
how a table behaves around them, so the model's parameters are chosen such that they explain what others
measured on real tables, all of it with the same values. What it does not explain stays in the table, and is
a reason to trust it less in such a case.

- *Observed* is what the source reports, and how closely the model is held to it: by the tolerance of the
  source, or of a number read off a chart. Where a source gives one measured time to the millisecond, or a
  number that chance decides, the tolerance is ours, and the reason is beside it.
- *The model gives* the median of runs that differ in chance alone, with the smallest and the largest.
- *The simulator gives*: the load as a scenario, a file in `tests/calibration/scenarios/` that
  `keyheat simulate` takes, at its whole rate. The model is the same, but the simulator does not ask it
  request by request: it works out each second at once. *The same* is a number no more than {near} off; the
  reason for any other is beside it. A dash: it is arithmetic, or no scenario shows it, [for a
  reason](#without-a-scenario).
- *In the range* means that the observed number is one draw of something irregular: it has to lie within what
  the runs gave.
- A worked example of AWS's documentation counts like a measurement, and is easier to meet.
- The parameters were chosen with these cases in sight, and several rest on a single one, so this is no blind
  test: it says that one set of values can explain them all, not how it does on cases nobody has looked at.
- Loads of thousands of requests a second run at a part of their rates in the model, with limits and buckets
  as small.

## The measurements

| case | observed | the model gives | verdict | the simulator gives |
|---|---|---|---|---|
"""

PARAMETERS = """
## What the sources leave open

Set-ups are rarely told in full. What each case takes for granted beside its source:

{assumed}

## Without a scenario

A scenario says how much is asked for and when; it says nothing of single requests, of their connections, or
of clients whose load follows from their answers. On tables below {nodes_below} units a second that decides:
{nodes} nodes hand out such a table's capacity, and one connection stays with one of them. The simulator's
client has many connections, so it throttles later there than a client with one.

{without}

## Not modelled

{left_out}

## The parameters

They stand in `keyheat/model/behaviour.py`, each with its reason.

| parameter | value | cases that speak for it |
|---|---|---|
"""


def page() -> str:
    """The whole page."""
    cases = all_cases()
    modelled = [case for case in cases if not case.not_modelled]
    rows = [row for case in modelled for row in _rows(case)]
    head = HEAD.format(count=count(), simulated=simulated_count(), near=f"{NEAR:.0%}".replace("%", " %"))
    tail = PARAMETERS.format(
        assumed=_listed((_named(case), case.assumed) for case in modelled),
        without=_listed((_named(case), case.not_simulated) for case in modelled),
        nodes=DEFAULT.nodes,
        nodes_below=_number(DEFAULT.nodes_below_units_per_s),
        left_out=_listed((f"{case.title} ({_named(case)})", case.not_modelled) for case in cases),
    )
    parameters = [
        f"| `{one.name}` | {_shown(getattr(DEFAULT, one.name))} | "
        + (", ".join(f"`{name}`" for name in EXPLAINS.get(one.name, ())) or "none published")
        + " |"
        for one in fields(DEFAULT)
    ]
    return head + "\n".join(rows) + "\n" + tail + "\n".join(parameters) + "\n"


def count() -> str:
    """How many observations are met and missed, in one sentence."""
    cases = all_cases()
    modelled = [case for case in cases if not case.not_modelled]
    every = [verdict for case in modelled for verdict in verdicts(case)]
    met = sum(verdict.met for verdict in every)
    clean = sum(all(verdict.met for verdict in verdicts(case)) for case in modelled)
    worked = sum(len(case.observations) for case in modelled if case.load["kind"] == "arithmetic")
    return (
        f"**Of {len(every)} published observations in {len(modelled)} cases the model meets {met} and misses "
        f"{len(every) - met} ({worked} are arithmetic that needs no load); {clean} cases are met in all "
        f"that was observed, and {len(cases) - len(modelled)} more are not modelled.**"
    )


def simulated_count() -> str:
    """How the simulator compares with the model that is asked one by one, in one sentence."""
    pairs = [
        (one, other)
        for case in all_cases()
        for one, other in zip(verdicts(case), simulated_verdicts(case), strict=True)
        if other is not None
    ]
    cases = sum(bool(case.simulated) for case in all_cases())
    same = sum(other.like(one) for one, other in pairs)
    met = sum(other.met for _one, other in pairs)
    return (
        f"**{len(pairs)} observations, in {cases} cases, are also run as scenarios through "
        f"`keyheat simulate`: {same} come out the same, {len(pairs) - same} do not; "
        f"{met} are met, {len(pairs) - met} missed.**"
    )


def _rows(case: Case) -> Iterator[str]:
    pairs = zip(verdicts(case), simulated_verdicts(case), strict=True)
    for number, (verdict, simulated) in enumerate(pairs):
        head = f"{case.title} ({_named(case)})" if number == 0 else ""
        words = "met" if verdict.met else f"**missed**: {verdict.observation.missed}"
        cells = (head, _observed(verdict.observation), _given(verdict), words, _simulated(verdict, simulated))
        yield f"| {' | '.join(cells)} |"


def _simulated(verdict: Verdict, simulated: Verdict | None) -> str:
    if simulated is None:
        return "–"
    if simulated.like(verdict):
        return "the same"
    words = "met" if simulated.met else "**missed**"
    return f"{_given(simulated)}, {words}: {verdict.observation.differs}"


def _listed(found: Iterable[tuple[str, str]]) -> str:
    return "\n".join(f"- {named}: {words}." for named, words in found if words)


def _named(case: Case) -> str:
    return f"[{case.id}]({case.source})"


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


def _shown(value: float | tuple[float, float]) -> str:
    return " to ".join(map(_number, value)) if isinstance(value, tuple) else _number(value)


def main(arguments: list[str]) -> int:
    """Print the page, or write it."""
    parser = argparse.ArgumentParser(prog="python -m tests.calibration.fidelity", description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name} instead of printing it")
    if parser.parse_args(arguments).write:
        PAGE.write_text(page())
        print(count())
    else:
        print(page(), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
