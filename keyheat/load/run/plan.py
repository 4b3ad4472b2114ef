"""What a person may say on Locust's command line, and what it comes to once it is checked.

Everything is checked before anything starts, and every mistake is said at once.
"""

import os
from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from keyheat.load.options import Guards, InputError
from keyheat.load.run.consent import budget_of
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
from keyheat.runs.claims import Claim, claim, claim_numbered
from keyheat.runs.table_facts import AutoScaling
from keyheat.scenario.scenario import Scenario, ScenarioError, load_scenario, scenario_file
from keyheat.scenario.spec.part import BudgetSpec
from keyheat.scenario.spec.tables import IN_WORDS, TableSpec
from keyheat.scenario.spec.tasks import LoadSpec
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

    @property
    def free(self) -> bool:
        """Whether it is on this machine, where nothing costs anything."""
        return self.target is None or self.target.local

    @property
    def scenario_shown(self) -> str:
        """Where the scenario is, as a person here would type it: a run's files say no more of the machine."""
        return str(from_here(self.scenario_path) or self.scenario_path.name)


def check_options(options: Namespace, *, locustfiles: list[str], users: Sequence[Any] = ()) -> LoadPlan:
    """The plan that the options state. Raises `InputError` with everything that is wrong with them.

    `users` are the classes of users of the load test.
    """
    errors = list[str]()
    collecting, guards = partial(_collecting, errors), Guards.of(options)
    path = scenario = target = None
    with collecting():
        path = _scenario_path(options, locustfiles)
        scenario = overridden(load_scenario(path), options.settings, str(path))
        errors += (f"{path}: {words}" for words in does_not_fit(scenario, path.parent))
        errors += (f"{path}: {words}" for words in _unloadable(scenario, users, options.table))
    with collecting():
        target = _target(options)
    budget = scenario.budget if scenario else BudgetSpec()
    with collecting():
        budget = budget_of(budget, guards)
    prices = Path(options.prices) if options.prices else PRICES
    with collecting("--prices: "):
        load_prices(prices)
    out = Path(options.out).absolute() if options.out else None
    with collecting():
        _check_folder(out)
    port, host = options.prometheus_port, options.prometheus_host
    if host is not None and port is None:
        errors.append(f"--prometheus-host {host} needs a port: add --prometheus-port 9464")
    if port is not None and not 0 <= port <= 65_535:
        errors.append(f"--prometheus-port {port} is not a port; use 1 to 65535, or 0 for any free port")
    if scenario is not None and scenario.table.regions and not options.table and target and not target.local:
        errors.append(f"{path}: {NOT_GLOBAL_HERE} @ $.table.regions")
    if errors or scenario is None or path is None:
        raise InputError(*errors)
    return LoadPlan(
        scenario=scenario,
        scenario_path=path.absolute(),
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
        prices=prices.absolute(),
    )


@contextmanager
def _collecting(errors: list[str], option: str = "") -> Iterator[None]:
    """Collect what is wrong, and go on after it."""
    try:
        yield
    except InputError as error:
        errors += error.errors
    except (FileProblem, ScenarioError, TargetError) as error:
        errors.append(f"{option}{error}")


def _unloadable(scenario: Scenario, users: Sequence[Any], existing: str | None) -> Iterator[str]:
    """Yield what of a scenario these users cannot load, as `message @ $.path`.

    `existing` names the table that is there, which takes the place of the scenario's and scales as it does.
    """
    if any_needs(users, "needs_sort_key") and scenario.table.sort_key is None:
        yield "this load needs a table with a sort_key @ $.table.sort_key"
    if scenario.cache is not None and not any_needs(users, "has_cache"):
        yield "no user of this load test reads through a cache @ $.cache"
    lacks = [words for user in users if hasattr(user, "lacks") for words in user.lacks(scenario)]
    yield from dict.fromkeys([*lacks, *unsuited(users, scenario.table)])
    if (scaled := scaled_fields(scenario)) and not existing:
        yield f"{NOT_SCALED_HERE.format(settings=without_options(scaled))} @ $.{scaled[0]}"


def any_needs(users: Iterable[Any], name: str) -> bool:
    return any(getattr(user, name, False) for user in users)


def unsuited(users: Sequence[Any], table: TableSpec) -> Iterator[str]:
    """List what the users of a load test cannot use of a table, as `message @ $.path`."""
    if table.sort_key is not None and any_needs(users, "needs_no_sort_key"):
        yield f"this load test finds items by one key, without {table.sort_key!r} @ $.table.sort_key"
    if table.sort_key is not None and table.sort_key_type != "S" and any_needs(users, "needs_text_sort_key"):
        kind = IN_WORDS[table.sort_key_type]
        yield f"this load test reads what begins with some text, and it is {kind} @ $.table.sort_key_type"
    there = sorted(index.name for index in table.indexes)
    for name in indexes_of(users):
        if name not in there:
            listed = ", ".join(there) or "none"
            yield f"this load test reads index {name}; the table has {listed} @ $.table.indexes"


def indexes_of(users: Iterable[Any]) -> Iterable[str]:
    return dict.fromkeys(name for user in users for name in getattr(user, "needs_indexes", ()))


def take_numbers(options: Namespace, load: LoadSpec) -> None:
    """Fill in users, spawn rate and duration from the scenario where the command line does not say them."""
    stated = {"num_users": load.users, "spawn_rate": load.spawn_rate, "run_time": load.duration_s}
    for name, value in stated.items():
        if getattr(options, name) is None:
            setattr(options, name, value)


def run_folder(plan: LoadPlan, now: datetime) -> Claim:
    """Where one run's files go, and no other's. Raises `Taken` where that is the folder that was named.

    Runs in a row, and those that start in the same second, get `-2`, `-3` ... after its name.
    """
    if plan.out is None:
        return claim_numbered((OUT / f"{plan.scenario.name}-{now:%Y%m%dT%H%M%SZ}").absolute(), new=True)
    return claim_numbered(plan.out) if plan.in_a_row else claim(plan.out)


def _scenario_path(options: Namespace, locustfiles: list[str]) -> Path:
    if not options.scenario and len(locustfiles) != 1:
        raise InputError(
            f"{len(locustfiles)} load tests are named: choose one with -f FILE, or add --scenario "
            "SCENARIO for all of them together"
        )
    if options.scenario:
        return scenario_file(options.scenario)
    beside = Path(locustfiles[0]).with_suffix(".toml")
    return beside if beside.is_file() else scenario_file(beside.stem.replace("_", "-"))


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


def _target(options: Namespace) -> Target | None:
    word = options.target or "local"
    if options.target and options.host:
        raise TargetError(f"say either --target {options.target} or --host {options.host}, not both")
    if word == "local" and not options.host:
        return None
    target = aws_target() if word == "aws" else target_at(options.host or word)
    credentials_for(target)
    if options.transport == "signed":
        check_no_proxy(target)
    return target


def _check_folder(out: Path | None) -> None:
    """A run never overwrites another one, and finds out before the load that it cannot write."""
    if out is not None and out.exists() and not out.is_dir():
        raise InputError(f"--out {out} is not a folder")
    if out is not None and out.is_dir() and os.access(out, os.R_OK) and any(out.iterdir()):
        raise InputError(f"--out {out} is not empty: it may hold another run")
    folder = out or OUT.absolute()
    nearest = next(parent for parent in (folder, *folder.parents) if parent.exists())
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise InputError(f"cannot write to {nearest}, where the run's files go")
