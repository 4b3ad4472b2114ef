"""Compare the setups of two sessions, and list what changed by its path in the scenario.

The setup is the load, the target and the machine: if it changed, the numbers are not comparable. Capacity,
mode and indexes of a table are not part of it: their change, or that of a design that is always compared, is
a suspect, and the gates decide.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import PurePath
from typing import Any, Final

from keyheat.analysis.summary import WARM, RunSummary, Setup, in_words, kept_form
from keyheat.regression.outcome import Difference
from keyheat.regression.suite import Suite, SuiteCase
from keyheat.runfiles import SIMULATED
from keyheat.runs.manifest import Machine
from keyheat.scenario.scenario import ScenarioError, scenario_from_dict

Runs = Mapping[str, Sequence[RunSummary]]
NOT_SENT: Final = {
    "format", "name", "question", "seed", "expects", "thresholds", "budget", "abort_on", "local",
}  # fmt: skip
"""Scenario fields that do not affect the load; `local.scale` is the setup's `scale`."""
OF_NO_EFFECT: Final = {"on_end", "expires_h"}
KEYS: Final = {"partition_key", "partition_key_type", "sort_key", "sort_key_type", "name"}
"""Table fields that affect the load; all others are capacity and surroundings."""
OF_EVERY_RUN: Final = ("target", "scale")
OF_NOISE: Final = ("machine", "region", "transport", "processes")
"""Fields that do not matter to a run without noise."""
NAMED: Final = (SIMULATED, "local", "aws")  # targets with the same name in runs and suites
SCENARIO, NOT_KNOWN, NONE = "scenario", "unknown", "none"
LONGEST: Final = 120  # characters of one side


def differences(
    suite: Suite, before: Runs, after: Runs
) -> tuple[tuple[Difference, ...], tuple[Difference, ...]]:
    """Differences that forbid comparing the runs of each case, and suspects; none for one side alone."""
    forbidding: list[Difference] = []
    suspects: list[Difference] = []
    for case in suite.cases:
        first, last = before.get(case.name), after.get(case.name)
        for path, was, now in _changes_between(first[0], last[0]) if first and last else ():
            difference = Difference(case=case.name, what=path, before=was, after=now)
            if _is_suspect(path, case):
                suspects.append(difference)
            elif path not in OF_NOISE or (not case.simulated and any(gate.noisy for gate in case.gates)):
                forbidding += [difference] if case.gates else []
    return tuple(forbidding), tuple(suspects)


def expected_summary(before: RunSummary, case: SuiteCase, machine: Mapping[str, Any]) -> RunSummary:
    """The summary of `before` as far as it is known to change now, before any run."""
    update: dict[str, Any] = {"scenario": kept_form(case.scenario)}
    if case.target in NAMED:
        update |= {"target": case.target, "scale": case.scenario.local.scale if case.target != "aws" else 1.0}
    if case.target != SIMULATED:
        update["machine"] = in_words(Machine.model_validate(machine))
    return before.model_copy(update={"setup": before.setup.model_copy(update=update)})


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
    """All compared fields of a setup, by the scenario's paths."""
    whole: dict[str, Any] = {name: getattr(setup, name) for name in (*OF_EVERY_RUN, *OF_NOISE)}
    raw = setup.scenario or {}
    with suppress(ScenarioError):  # of another version: compare it unparsed
        raw = scenario_from_dict(dict(raw), "summary.json").model_dump(mode="json")
    stated = raw.get("table") or {}
    table = _without(stated, {"name", WARM, *OF_NO_EFFECT}) | dict(setup.existing or {WARM: stated.get(WARM)})
    companions = [_without(companion, {"name", *OF_NO_EFFECT}) for companion in raw.get("companions") or ()]
    keys = dict(raw.get("keys") or {})
    if isinstance(keys.get("trace"), str):
        keys["trace"] = PurePath(keys["trace"]).name  # the folder does not matter
    return {**whole, **_without(raw, NOT_SENT), "table": table, "companions": companions, "keys": keys}


def _without(fields: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name not in names}


def _changes(before: Any, after: Any, path: str) -> Iterator[tuple[str, str, str]]:
    """Changed fields: path, before, after; a mapping on one side only is one change."""
    before, after = _by_name(before), _by_name(after)
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for name in dict.fromkeys((*before, *after)):
            field_path = f"{path}.{name}" if path else str(name)
            yield from _changes(before.get(name), after.get(name), field_path)
    elif before != after:
        known = before is not None and after is not None
        if path.startswith(f"table.{WARM}") and not (known and after <= before):
            return  # AWS raises warm throughput with the load, and never lowers it
        yield path, _words(before, path), _words(after, path)


def _by_name(value: Any) -> Any:
    """Index tables and indexes by name, other lists of mappings by position."""
    if isinstance(value, list | tuple) and value and all(isinstance(entry, Mapping) for entry in value):
        return {entry.get("name", index): _without(entry, {"name"}) for index, entry in enumerate(value)}
    return {} if value == [] else value


def _words(value: Any, path: str) -> str:
    if value is None or value == {}:
        return NOT_KNOWN if path in (*OF_NOISE, SCENARIO) else NONE
    match value:
        case bool():
            return "yes" if value else "no"
        case int() | float():
            return f"{value:,.12g}"
        case Mapping():
            flat = {name: field for name, field in value.items() if not name.endswith("_type")}
            stated = {name: field for name, field in flat.items() if field not in (None, False, True, [])}
            text = ", ".join(f"{name} {_words(field, path)}" for name, field in stated.items())
        case list() | tuple():
            text = ", ".join(_words(item, path) for item in value)
        case _:
            text = str(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
