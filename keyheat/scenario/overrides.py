"""A scenario with some of its fields set to other values, as a person types them: `keys.shards=20`.

    PATH=VALUE    keys.shards=20   table.provisioned.write=4_000   load.arrivals="poisson"
                  table.indexes[0].provisioned.write=500
    PATH=         takes the field out, as if the file did not say it

Paths are those of the scenario file, values are TOML. Every mistake is said at once.
"""

import re
from collections.abc import Sequence
from reprlib import Repr
from typing import Any, Final

from keyheat.bounded import MOST_KEY_PARTS, NotAccepted, parsed_toml
from keyheat.scenario.scenario import Scenario, ScenarioError, scenario_from_dict

_PART: Final = r"[A-Za-z_][A-Za-z0-9_]*(?:\[\d{1,9}\])*"
_SETTING: Final = re.compile(rf"(?P<path>{_PART}(?:\.{_PART})*)\s*=(?P<value>.*)", re.DOTALL)
_STEP: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|\[\d+\]")
_TAKEN_OUT: Final = object()
_BRIEFLY: Final = Repr()  # of what may be a file's worth of text
_BRIEFLY.maxstring = 80


def overridden(scenario: Scenario, settings: Sequence[str], source: str) -> Scenario:
    """The scenario with the settings made, in their order; `source` names it in errors.

    What was expected of the scenario as it was is not expected of another one. Raises `ScenarioError` with
    every setting that is none, or with what is wrong with the scenario that they make.
    """
    if not settings:
        return scenario
    raw = scenario.model_dump(mode="json", exclude_unset=True)
    raw.pop("expects", None)
    mistakes = [found for setting in settings if (found := _make(raw, setting))]
    if mistakes:
        raise ScenarioError(source, mistakes)
    return scenario_from_dict(raw, f"{source} with {', '.join(settings)}")


def _make(raw: dict[str, Any], setting: str) -> str | None:
    """Make one setting in place; what is wrong with it, where it cannot be made."""
    match = _SETTING.fullmatch(setting.strip())
    if match is None:
        return f"{_BRIEFLY.repr(setting)} is not PATH=VALUE, such as keys.shards=20 @ --set"
    path, text = match["path"], match["value"].strip()
    *way, last = [int(step[1:-1]) if step.startswith("[") else step for step in _STEP.findall(path)]
    if len(way) >= MOST_KEY_PARTS:
        return f"{_BRIEFLY.repr(path)} has {len(way) + 1:,} parts, at most {MOST_KEY_PARTS} are read @ --set"
    try:
        value = parsed_toml(f"value = {text}")["value"] if text else _TAKEN_OUT
    except NotAccepted as error:
        return (
            f'{_BRIEFLY.repr(text)} is not a TOML value ({error}); text needs quotes: {path}="..." @ $.{path}'
        )
    place: Any = raw
    for number, step in enumerate(way):
        place = _into(place, step, [] if isinstance([*way, last][number + 1], int) else {})
        if place is None:
            return f"there is no such place @ $.{path}"
    return _put(place, last, value, path)


def _into(place: Any, step: str | int, new: Any) -> Any:
    """What is found one step further, made where a field was not said; None where there is no way."""
    if isinstance(place, dict) and isinstance(step, str):
        if place.get(step) is None:
            place[step] = new
        return place[step]
    if isinstance(place, list) and isinstance(step, int):
        if step == len(place):
            place.append(new)
        return place[step] if step < len(place) else None
    return None


def _put(place: Any, last: str | int, value: Any, path: str) -> str | None:
    fits = (isinstance(place, dict) and isinstance(last, str)) or (
        isinstance(place, list) and isinstance(last, int) and last <= len(place)
    )
    if not fits:
        return f"there is no such place @ $.{path}"
    if value is not _TAKEN_OUT:
        if last == len(place) and isinstance(place, list):
            place.append(value)
        else:
            place[last] = value
    elif isinstance(place, dict):
        place.pop(last, None)
    elif isinstance(last, int) and last < len(place):
        del place[last]
    return None
