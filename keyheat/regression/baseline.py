"""The session that a suite is held against: the last good one, or one that somebody names."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from keyheat.analysis.setup import Flat, Setup, grows_by_itself, setup_of
from keyheat.analysis.summary import RunSummary
from keyheat.model.table import TableModel
from keyheat.numbers import some
from keyheat.regression import comparability
from keyheat.regression.comparability import differences
from keyheat.regression.history.records import GOOD, Kept, Session
from keyheat.regression.history.store import History
from keyheat.regression.outcome import BaselineUsed, Difference, Verdict
from keyheat.regression.suite import Suite
from keyheat.runfiles import SIMULATED, FileProblem
from keyheat.runs.manifest import Manifest, read_manifest
from keyheat.scenario.scenario import Scenario, scenario_from_dict
from keyheat.simulator.capacity import capacity_of
from keyheat.simulator.folder import table_facts

NAMED: Final = (SIMULATED, "local", "aws")  # targets that a run calls as a suite does


def foreseen(
    before: RunSummary, scenario: Scenario, target: str, machine: Mapping[str, Any], *, existing: bool
) -> RunSummary:
    """The run `before` as it would be now: with this scenario, on this target, sent from this machine.

    `existing`: the table is there already, and what it is like stays to be found out; the scenario is the one
    that was adapted to it.
    """
    now = _setup(scenario, target, machine, before.started_at)
    then = before.setup
    said: dict[str, Any] = {"scenario": now.scenario}
    if target in NAMED:
        said |= {"target": target, "scale": now.scale}
    if target != SIMULATED and now.machine is not None:
        said |= {"machine": now.machine, "machine_says": now.machine_says}
    if not existing:
        said["table"] = _table(then.table, now.table, whole=target == SIMULATED)
    return before.model_copy(update={"setup": then.model_copy(update=said)})


def _setup(scenario: Scenario, target: str, machine: Mapping[str, Any], at: datetime) -> Setup:
    """The setup of a run of the scenario, by the manifest that it would have."""
    model = TableModel(capacity_of(scenario.table), now_s=0.0)
    return setup_of(
        Manifest.model_validate(
            {
                "started_at": at,
                "target": target,
                "scenario": scenario.model_dump(mode="json"),
                "scale": scenario.local.scale if target in (SIMULATED, "local") else 1.0,
                "machine": dict(machine),
                "table": table_facts(model, scenario.table),
            }
        )
    )


def _table(then: Flat, now: Flat, *, whole: bool) -> Flat:
    """The table as the scenario makes it; where a service describes it, only what both of them say."""
    if whole:
        return now
    known = {name for name, value in now.items() if value is not None and then.get(name) is not None}
    return {**then, **{name: now[name] for name in known if not grows_by_itself(name)}}


MAY_BE: Final[tuple[Verdict, ...]] = (*GOOD, "regressed")
"""Verdicts of sessions that can be held on to when somebody asks for it: all their runs are valid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """A session and its runs, by case."""

    used: BaselineUsed
    kept: Mapping[str, tuple[Kept, ...]]
    tentative: frozenset[str] = frozenset()  # cases whose runs are of a session that nobody has accepted

    @property
    def runs(self) -> dict[str, tuple[RunSummary, ...]]:
        return {case: tuple(one.summary for one in kept) for case, kept in self.kept.items()}


def baseline_of(
    history: History, suite: Suite, named: str | None, *, settled: bool = False
) -> Baseline | None:
    """The session of that name, pinned or not, or else the last good one; None if there is no such session.

    Cases without a good session take their runs from the last session that nobody has accepted yet, unless
    only what is `settled` is wanted. Raises `ValueError` with what there is, where the name means none.
    """
    if named is None:
        session = history.last_good(suite.name)
    else:
        session = history.pinned(named) or _by_id(history, suite, named)
    if session is not None and session.suite != suite.name:
        raise ValueError(f"--baseline {named!r} is a session of suite {session.suite}, not of {suite.name}")
    later = None if settled or named is not None else _unaccepted(history, suite, session)
    if (shown := session or later) is None:
        return None
    kept, tentative = (_kept(history, one) if one is not None else {} for one in (session, later))
    pinned = named is not None and history.pinned(named) is not None
    used = BaselineUsed(
        session=str(shown.id),
        started_at=shown.started_at,
        pin=named if pinned else None,
        chosen=named is not None,
        label=shown.label,
        accepted=session is not None,
    )
    new = frozenset(tentative.keys() - kept.keys())
    return Baseline(used=used, kept={**tentative, **kept}, tentative=new)


def _unaccepted(history: History, suite: Suite, good: Session | None) -> Session | None:
    """The last session since the good one that waits for a review; without a good one, also a regressed."""
    if good is None:
        return history.latest(suite.name, "unaccepted") or history.latest(suite.name, "regressed")
    found = history.latest(suite.name, "unaccepted")
    return found if found is not None and found.id > good.id else None


def _kept(history: History, session: Session) -> dict[str, tuple[Kept, ...]]:
    kept: dict[str, tuple[Kept, ...]] = {}
    for one in history.runs(session):
        kept[one.case] = (*kept.get(one.case, ()), one)
    return kept


def _by_id(history: History, suite: Suite, named: str) -> Session:
    """The session of that number, if it ended well enough to hold anything against it."""
    sessions = history.sessions(suite=suite.name)
    found = next((session for session in sessions if str(session.id) == named), None)
    if found is not None and found.verdict in MAY_BE:
        return found
    why = f"ended as {found.verdict or found.state}" if found is not None else "is neither pinned nor there"
    pins = ", ".join(pin.name for pin in history.pins()) or "none"
    good = ", ".join(str(session.id) for session in sessions if session.good)[:200] or "none yet"
    raise ValueError(
        f"--baseline {named!r} {why}. Pinned names: {pins}. Good sessions of {suite.name}: {good}."
    )


def differences_foreseen(
    baseline: Baseline, suite: Suite, machine: Mapping[str, Any], *, existing: bool
) -> tuple[Difference, ...]:
    """What is going to forbid the comparison, as far as that is known before anything is sent."""
    before: dict[str, Sequence[RunSummary]] = {}
    after: dict[str, Sequence[RunSummary]] = {}
    for case in suite.cases:
        kept = baseline.kept.get(case.name)
        if kept and case.name not in baseline.tentative:
            first = kept[0].summary
            before[case.name] = [first]
            after[case.name] = [foreseen(first, case.scenario, case.target, machine, existing=existing)]
    return told(differences(before, after, suite.gates, suite.designs), baseline, suite)


def told(found: Sequence[Difference], baseline: Baseline, suite: Suite) -> tuple[Difference, ...]:
    """The differences, with the fields of scenarios in which they differ, where run directories are here."""
    before: dict[str, Scenario] = {}
    for case in {one.case for one in found if one.what == comparability.WHAT}:
        for kept in baseline.kept.get(case, ())[:1]:
            with suppress(FileProblem, ValueError):  # it is gone: digests say that there is something
                before[case] = _scenario(kept)
    return comparability.in_fields(found, before, {case.name: case.scenario for case in suite.cases})


def refusal(baseline: Baseline, found: Sequence[Difference]) -> tuple[str, ...]:
    """Why it is not even tried, and what would be accepted; a sentence each."""
    count = some(len(found), "thing differs", "things differ")
    return (
        f"The baseline, {baseline.used.said}, was measured on another setup: {count}.",
        'Make the setup as it was; or say compare = "always" for a case whose design is meant to change; or '
        "start a new baseline with --new-baseline; or run the baseline's scenarios beside the new ones with "
        "paired = true in the suite's [run]; or compare anyway with --force.",
    )


def scenarios_of(baseline: Baseline, suite: Suite) -> dict[str, Scenario]:
    """The scenarios that the baseline's runs were made by, by case.

    Raises `ValueError` with every run directory that is not there any more.
    """
    found: dict[str, Scenario] = {}
    gone: list[str] = []
    for case in suite.cases:
        for kept in baseline.kept.get(case.name, ())[:1]:
            try:
                found[case.name] = _scenario(kept)
            except FileProblem as problem:
                gone.append(f"  {case.name}: {problem}")
    if gone:
        raise ValueError(
            "\n".join(
                (
                    f"paired = true reruns the scenarios of {baseline.used.said}, which cannot be read:",
                    *gone,
                    "restore those run directories, or start a new baseline with --new-baseline",
                )
            )
        )
    return found


def _scenario(kept: Kept) -> Scenario:
    """What a run's manifest says of its scenario. Raises `FileProblem`."""
    raw = read_manifest(Path(unquote(urlsplit(kept.folder_url).path))).scenario
    if raw is None:
        raise FileProblem(f"{kept.folder_url} does not say its scenario")
    return scenario_from_dict(dict(raw), kept.folder_url)
