"""What a person may say on Locust's command line, and what it comes to once it is checked.

Everything is checked before anything starts, and every mistake is said at once.
"""

import os
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from pathlib import Path
from random import Random

from keyheat.load.guard.budget import WrongBudget, budget_of
from keyheat.load.guard.options import Guards
from keyheat.load.live.prometheus import MetricsPort, metrics_port
from keyheat.load.transport.target import (
    Target,
    TargetError,
    aws_target,
    check_no_proxy,
    credentials_for,
    target_at,
)
from keyheat.load.users.items import ItemTemplate, ItemTooSmall
from keyheat.masking import from_here
from keyheat.plan.prices import DEFAULT as PRICES
from keyheat.plan.prices import load_prices
from keyheat.runfiles import FileProblem
from keyheat.runs.claims import Claim, claim, claim_new, claim_numbered
from keyheat.runs.scaling import AutoScaling
from keyheat.scenario.scenario import Scenario, ScenarioError, load_scenario, scenario_file
from keyheat.scenario.spec.part import BudgetSpec
from keyheat.scenario.trace import check_trace
from keyheat.scenario.variants import overridden, scaled_fields, without_options
from keyheat.words import Endpoint

OUT = Path("reports") / "out"
NOT_SCALED_HERE = (
    "auto scaling is simulated only (keyheat simulate): leave it out with {settings}; in AWS, register a "
    "policy for a table that is there with Application Auto Scaling, and load that with --table"
)
NOT_GLOBAL_HERE = (
    "a run in AWS makes tables in one Region: load the global table that is there with --table, or leave this"
    " out"
)
LONGEST_KEY = "x" * 30  # no key pattern (but for its prefix) and no sort key of ours makes a longer one


class InputError(Exception):
    """What was asked for cannot be run; one line for each reason."""

    def __init__(self, errors: list[str]) -> None:
        self.errors = errors
        super().__init__("\n".join(errors))


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadPlan:
    """A command line that has been checked."""

    scenario: Scenario
    scenario_path: Path
    target: Target | None  # None: an endpoint of our own on this machine
    out: Path | None  # None: a new folder for each run
    transport: str
    retries: str
    show_keys: bool
    progress: bool
    report: bool
    guards: Guards = field(default_factory=Guards)  # what a person allows it
    in_a_row: bool = False  # several runs in turn, started and stopped on Locust's page
    marked: bool = False  # items name the run: the table existed before
    auto_scaling: AutoScaling | None = None  # what may change the existing table's capacity
    table_bytes: int = 0  # of an existing table, which cleaning scans
    duration_s: float | None = None  # of the load; None: until it is stopped
    budget: BudgetSpec = field(default_factory=BudgetSpec)  # the scenario's and the command line's
    prices: Path = PRICES
    endpoint: Endpoint | None = None  # None: the run starts its own local table
    metrics: MetricsPort | None = None  # where Prometheus reads its metrics

    @property
    def free(self) -> bool:
        """Whether it is on this machine, where nothing costs anything."""
        return self.target is None or self.target.local

    @property
    def scenario_shown(self) -> str:
        """Where the scenario is, as a person here would type it: a run's files say no more of the machine."""
        return str(from_here(self.scenario_path) or self.scenario_path.name)


def check_options(
    options: Namespace,
    *,
    locustfiles: list[str],
    needs_sort_key: bool,
    has_cache: bool = True,
    lacks: Iterable[Callable[[Scenario], Iterable[str]]] = (),
) -> LoadPlan:
    """The plan that the options state. Raises `InputError` with everything that is wrong with them.

    `needs_sort_key`, `has_cache`: what the users of the load test need, and can; each of `lacks` says what
    else a scenario lacks for one of them.
    """
    errors = list[str]()
    path = _scenario_path(options, locustfiles, errors)
    scenario = _scenario(path, options.settings, needs_sort_key, errors) if path else None
    if scenario is not None:
        errors += (f"{path}: {words}" for words in _unloadable(scenario, has_cache, lacks, options.table))
    target = _target(options, errors)
    guards = Guards(**{entry.name: getattr(options, entry.name) for entry in fields(Guards)})
    budget = _budget(guards, scenario.budget if scenario else BudgetSpec(), errors)
    prices = _prices(options, errors)
    out = Path(options.out).absolute() if options.out else None
    _check_folder(out, errors)
    metrics = metrics_port(options, errors)
    if scenario is not None and scenario.table.regions and not options.table and target and not target.local:
        errors.append(f"{path}: {NOT_GLOBAL_HERE} @ $.table.regions")
    if errors or scenario is None or path is None:
        raise InputError(errors)
    return LoadPlan(
        scenario=scenario,
        scenario_path=path,
        target=target,
        out=out,
        guards=guards,
        in_a_row=not options.headless,
        transport=options.transport,
        retries="off" if options.retries == "client" and scenario.client.sdk == "none" else options.retries,
        show_keys=options.show_keys or (scenario.invents_keys and options.table is None),
        progress=options.progress,
        report=not options.no_report,
        duration_s=(options.run_time or scenario.load.duration_s) if options.headless else None,
        budget=budget,
        prices=prices,
        metrics=metrics,
    )


def _unloadable(
    scenario: Scenario,
    has_cache: bool,
    lacks: Iterable[Callable[[Scenario], Iterable[str]]],
    existing: str | None,
) -> Iterator[str]:
    """Yield what of a scenario these users cannot load, as `message @ $.path`.

    `existing` names the table that is there, which takes the place of the scenario's and scales as it does.
    """
    if scenario.cache is not None and not has_cache:
        yield "no user of this load test reads through a cache @ $.cache"
    yield from dict.fromkeys(words for lack in lacks for words in lack(scenario))
    if (scaled := scaled_fields(scenario)) and not existing:
        yield f"{NOT_SCALED_HERE.format(settings=without_options(scaled))} @ $.{scaled[0]}"


def _budget(guards: Guards, stated: BudgetSpec, errors: list[str]) -> BudgetSpec:
    """The scenario's budget with what the command line says of it."""
    try:
        return budget_of(stated, {name: getattr(guards, f"max_{name}") for name in BudgetSpec.model_fields})
    except WrongBudget as wrong:
        errors += wrong.errors
        return stated


def _prices(options: Namespace, errors: list[str]) -> Path:
    """The price list of the budget; an unreadable one is an error."""
    path = Path(options.prices) if options.prices else PRICES
    try:
        load_prices(path)
    except FileProblem as problem:
        errors.append(f"--prices: {problem}")
    return path.absolute()


def take_numbers(options: Namespace, scenario: Scenario) -> None:
    """Fill in users, spawn rate and duration from the scenario where the command line does not say them."""
    if options.num_users is None:
        options.num_users = scenario.load.users
    if options.spawn_rate is None:
        options.spawn_rate = scenario.load.spawn_rate
    if options.run_time is None:
        options.run_time = scenario.load.duration_s


def run_folder(plan: LoadPlan, now: datetime) -> Claim:
    """Where one run's files go, and no other's. Raises `Taken` where that is the folder that was named.

    Runs in a row, and those that start in the same second, get `-2`, `-3` ... after its name.
    """
    if plan.out is None:
        return claim_new((OUT / f"{plan.scenario.name}-{now:%Y%m%dT%H%M%SZ}").absolute())
    return claim_numbered(plan.out) if plan.in_a_row else claim(plan.out)


def _scenario_path(options: Namespace, locustfiles: list[str], errors: list[str]) -> Path | None:
    if not options.scenario and len(locustfiles) != 1:
        errors.append(
            f"{len(locustfiles)} load tests are named: choose one with -f FILE, or add --scenario SCENARIO "
            "for all of them together"
        )
        return None
    try:
        return scenario_file(options.scenario or Path(locustfiles[0]).stem.replace("_", "-"))
    except ScenarioError as error:
        errors.append(str(error))
        return None


def _scenario(
    path: Path, settings: Sequence[str], needs_sort_key: bool, errors: list[str]
) -> Scenario | None:
    try:
        scenario = overridden(load_scenario(path), settings, str(path))
    except ScenarioError as error:
        errors.append(str(error))
        return None
    if needs_sort_key and scenario.table.sort_key is None:
        errors.append(f"{path}: this load needs a table with a sort_key @ $.table.sort_key")
    errors += (f"{path}: {words}" for words in does_not_fit(scenario, path.parent))
    return scenario


def does_not_fit(scenario: Scenario, folder: Path, *, run_id: str | None = None) -> Iterator[str]:
    """Yield what of the items has no room; `folder` is the scenario's, `run_id` what they are marked with."""
    items = ItemTemplate(scenario, run_id)
    try:
        drawn = (scenario.keys.prefix or "") + LONGEST_KEY
        longest = max(scenario.keys.values or [drawn], key=len)
        items.put(longest, LONGEST_KEY, Random(0), scenario.load.item_size().least)
    except ItemTooSmall:
        yield "too small for the item's own keys @ $.load.item_bytes"
    if scenario.keys.trace is not None:
        trace = scenario.keys.trace_path(folder)
        has_sort_key = scenario.table.sort_key is not None
        for error in check_trace(trace, has_sort_key=has_sort_key, least=items.least_bytes):
            yield f"{trace}: {error}"


def _target(options: Namespace, errors: list[str]) -> Target | None:
    word = options.target or "local"
    if options.target and options.host:
        errors.append(f"say either --target {options.target} or --host {options.host}, not both")
        return None
    try:
        if options.host or word not in ("local", "aws"):
            target = target_at(options.host or word)
        elif word == "aws":
            target = aws_target()
        else:
            return None
        credentials_for(target)
        if options.transport == "signed":
            check_no_proxy(target)
    except TargetError as error:
        errors.append(str(error))
        return None
    return target


def _check_folder(out: Path | None, errors: list[str]) -> None:
    """A run never overwrites another one, and finds out before the load that it cannot write."""
    folder = out or OUT.absolute()
    if out is not None and out.exists() and not out.is_dir():
        errors.append(f"--out {out} is not a folder")
    elif out is not None and out.is_dir() and os.access(out, os.R_OK) and any(out.iterdir()):
        errors.append(f"--out {out} is not empty: it may hold another run")
    else:
        nearest = next(parent for parent in (folder, *folder.parents) if parent.exists())
        if not os.access(nearest, os.W_OK | os.X_OK):
            errors.append(f"cannot write to {nearest}, where the run's files go")
