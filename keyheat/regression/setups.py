"""Whether the runs before and after measured the same thing, else what changed, by path in the scenario.

What is sent, to which target, from which machine is the setup: if it changed, numbers say nothing about the
table. Capacity, mode and indexes of a table are no setup: a change of them, or of a design that is always
compared, is named as the suspect, and the gates decide.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import PurePath
from typing import Any, Final

from keyheat.analysis.setup import WARM, Setup, in_words, kept_form
from keyheat.analysis.summary import RunSummary
from keyheat.regression.outcome import Difference, is_noisy
from keyheat.regression.suite import Suite, SuiteCase
from keyheat.runfiles import SIMULATED
from keyheat.runs.manifest import Machine
from keyheat.scenario.scenario import Scenario, ScenarioError, scenario_from_dict

Runs = Mapping[str, Sequence[RunSummary]]
NOT_SENT: Final = {
    "format", "name", "question", "seed", "expects", "thresholds", "budget", "abort_on", "local",
}  # fmt: skip
"""Fields of a scenario that do not decide what is sent; `local.scale` is the setup's own scale."""
OF_NO_EFFECT: Final = {"on_end", "expires_h"}
KEYS: Final = {"partition_key", "partition_key_type", "sort_key", "sort_key_type", "name"}
"""Fields of a table that decide what is sent; all others are its capacity and what surrounds it."""
OF_EVERY_RUN: Final = ("target", "scale")
OF_NOISE: Final = ("machine", "region", "transport", "processes")
"""What a run without noise does not depend on."""
NAMED: Final = (SIMULATED, "local", "aws")  # targets that a run calls as a suite does
SCENARIO, NOT_KNOWN, NONE = "scenario", "not known", "none"
LONGEST: Final = 120  # characters of one side
SLIGHT: Final = 0.1
"""Of a load: so much more or less is the traffic of another night, and the last suspect."""


def differences(
    suite: Suite, before: Runs, after: Runs
) -> tuple[tuple[Difference, ...], tuple[Difference, ...]]:
    """What forbids comparing the runs of each case, and the suspects; a case of one side has neither."""
    forbidding: list[Difference] = []
    suspects: list[Difference] = []
    for case in suite.cases:
        first, last = before.get(case.name), after.get(case.name)
        for path, was, now in _changes_between(first[0], last[0]) if first and last else ():
            one = Difference(case=case.name, what=path, before=was, after=now)
            if _is_suspect(path, case):
                suspects.append(one)
            elif path not in OF_NOISE or (not case.simulated and any(map(is_noisy, case.gates))):
                forbidding += [one] if case.gates else []
    return tuple(forbidding), tuple(sorted(suspects, key=_slight))


def foreseen(before: RunSummary, case: SuiteCase, machine: Mapping[str, Any]) -> RunSummary:
    """The run `before` as it would be now, as far as that is known before anything is sent."""
    known: dict[str, Any] = {"scenario": kept_form(case.scenario)}
    if case.target in NAMED:
        known |= {"target": case.target, "scale": case.scenario.local.scale if case.target != "aws" else 1.0}
    if case.target != SIMULATED:
        known["machine"] = in_words(Machine.model_validate(machine))
    return before.model_copy(update={"setup": before.setup.model_copy(update=known)})


def scenario_before(summary: RunSummary, what: str) -> Scenario:
    """The scenario of a run of the baseline. Raises `ScenarioError` if this version cannot read it."""
    return scenario_from_dict(dict(summary.setup.scenario or {}), what)


def _is_suspect(path: str, case: SuiteCase) -> bool:
    root, _, field = path.partition(".")
    if path in (*OF_EVERY_RUN, *OF_NOISE):
        return False
    return case.always if root != "table" or field in KEYS - {"name"} else field != "name"


def _changes_between(before: RunSummary, after: RunSummary) -> Iterator[tuple[str, str, str]]:
    first, last = before.setup, after.setup
    if (first.scenario is None) != (last.scenario is None):
        was, now = (NOT_KNOWN if side.scenario is None else "known" for side in (first, last))
        yield SCENARIO, was, now
        first, last = (side.model_copy(update={"scenario": None}) for side in (first, last))
    yield from _changes(_document(first), _document(last), "")


def _document(setup: Setup) -> dict[str, Any]:
    """All of a setup that is compared, with the paths of the scenario."""
    whole: dict[str, Any] = {name: getattr(setup, name) for name in (*OF_EVERY_RUN, *OF_NOISE)}
    raw = setup.scenario or {}
    with suppress(ScenarioError):  # of another version: it counts as it is written
        raw = scenario_from_dict(dict(raw), "summary.json").model_dump(mode="json")
    sent = {name: value for name, value in raw.items() if name not in NOT_SENT}
    table = {name: value for name, value in (raw.get("table") or {}).items() if name not in OF_NO_EFFECT}
    table = {name: value for name, value in table.items() if name not in ("name", WARM)} | dict(
        setup.found or {WARM: table.get(WARM)}
    )
    companions = [_without(one, {"name", *OF_NO_EFFECT}) for one in raw.get("companions") or ()]
    keys = dict(raw.get("keys") or {})
    if isinstance(keys.get("trace"), str):
        keys["trace"] = PurePath(keys["trace"]).name  # the same trace wherever it lies
    return {**whole, **sent, "table": table, "companions": companions, "keys": keys}


def _without(fields: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name not in names}


def _changes(before: Any, after: Any, path: str) -> Iterator[tuple[str, str, str]]:
    """Every field with another value: path, before, after; what one side has as a whole is one change."""
    before, after = _by_name(before), _by_name(after)
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for name in dict.fromkeys((*before, *after)):
            place = f"{path}.{name}" if path else str(name)
            yield from _changes(before.get(name), after.get(name), place)
    elif before != after and not _grew(path, before, after):
        yield path, _words(before, path), _words(after, path)


def _by_name(value: Any) -> Any:
    """A list of tables or indexes by their names, any other list of fields by its places."""
    if isinstance(value, list | tuple) and value and all(isinstance(one, Mapping) for one in value):
        return {one.get("name", place): _without(one, {"name"}) for place, one in enumerate(value)}
    return {} if value == [] else value


def _grew(path: str, before: Any, after: Any) -> bool:
    """Whether it is a warm throughput that is not less: AWS raises it with the load and never lowers it."""
    return path.startswith(f"table.{WARM}") and (before is None or after is None or after > before)


def _words(value: Any, path: str) -> str:
    if value is None or value == {}:
        return NOT_KNOWN if path in (*OF_NOISE, SCENARIO) else NONE
    match value:
        case bool():
            return "yes" if value else "no"
        case int() | float():
            return f"{value:,.12g}"
        case Mapping():
            flat = {name: one for name, one in value.items() if not name.endswith("_type")}
            stated = {name: one for name, one in flat.items() if one not in (None, False, True, [])}
            text = ", ".join(f"{name} {_words(one, path)}" for name, one in stated.items())
        case list() | tuple():
            text = ", ".join(_words(one, path) for one in value)
        case _:
            text = str(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def _slight(one: Difference) -> bool:
    """Whether what changed is a load that is nearly the same."""
    if not one.what.startswith("load."):
        return False
    try:
        before, after = (float(side.replace(",", "")) for side in (one.before, one.after))
    except ValueError:
        return False
    return abs(after - before) <= SLIGHT * abs(before)
