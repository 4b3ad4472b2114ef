"""What a person may say on Locust's command line, and what it comes to once it is checked.

Everything is checked before anything starts, and every mistake is said at once.
"""

import os
from argparse import Namespace
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, count
from pathlib import Path
from random import Random
from typing import Any

from generator.transport.target import Target, TargetError, aws_target, credentials_for, target_at
from generator.users.items import ItemTemplate, ItemTooSmall
from tablemodel.scenario import Scenario, ScenarioError, load_scenario
from tablemodel.trace import check_trace

ROOT = Path(__file__).resolve().parents[2]
SCENARIOS = ROOT / "configs" / "scenarios"
OUT = Path("reports") / "out"
LONGEST_KEY = "x" * 30  # no key pattern (but for its prefix) and no sort key of ours makes a longer one


class InputError(Exception):
    """What was asked for cannot be run; one line for each reason."""

    def __init__(self, errors: list[str]) -> None:
        self.errors = errors
        super().__init__("\n".join(errors))


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
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

    @property
    def scenario_shown(self) -> str:
        """Where the scenario is, as a person here would type it: a run's files say no more of the machine."""
        path = self.scenario_path.absolute()
        return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else path.name


def add_options(parser: Any) -> None:
    """Add our options to Locust's parser; a word that is not said anywhere comes from the scenario."""
    group = parser.add_argument_group("Keyheat", "what is loaded, and where the answer goes")
    add = group.add_argument
    add("--scenario", metavar="PATH", help="scenario file; default configs/scenarios/<locustfile>.toml")
    add(
        "--target",
        metavar="local|aws|URL",
        help="default local: an endpoint of our own",
    )
    add("--out", metavar="DIR", help="run directory, new or empty; default reports/out/<scenario>-<time>")
    add(
        "--transport",
        choices=("signed", "boto3"),
        default="signed",
        help="signed: small and fast; boto3: as an application",
    )
    add(
        "--retries",
        choices=("off", "sdk"),
        default="off",
        help="off: every request is sent once; sdk: sent again as the installed SDK would",
    )
    add(
        "--show-keys",
        action="store_true",
        help="show partition keys, not only their digests",
    )
    add("--progress", action="store_true", help="print JSON lines on stdout, and nothing else")
    add(
        "--no-report",
        action="store_true",
        help="write the run's files and no report",
    )


def check_options(
    options: Namespace,
    *,
    locustfiles: list[str],
    needs_sort_key: bool,
    has_cache: bool = True,
    lacks: Iterable[Callable[[Scenario], Iterable[str]]] = (),
) -> Plan:
    """The plan that the options state. Raises `InputError` with everything that is wrong with them.

    `needs_sort_key`, `has_cache`: what the users of the load test need, and can; each of `lacks` says what
    else a scenario lacks for one of them.
    """
    errors: list[str] = []
    path = _scenario_path(options, locustfiles, errors)
    scenario = _scenario(path, needs_sort_key, errors) if path else None
    if scenario is not None and scenario.cache is not None and not has_cache:
        errors.append(f"{path}: no user of this load test reads through a cache @ $.cache")
    if scenario is not None:
        errors += dict.fromkeys(f"{path}: {words}" for lack in lacks for words in lack(scenario))
    target = _target(options, errors)
    out = Path(options.out).absolute() if options.out else None
    _check_folder(out, errors)
    if errors or scenario is None or path is None:
        raise InputError(errors)
    return Plan(
        scenario=scenario,
        scenario_path=path,
        target=target,
        out=out,
        transport=options.transport,
        retries=options.retries,
        show_keys=options.show_keys,
        progress=options.progress,
        report=not options.no_report,
    )


def take_numbers(options: Namespace, scenario: Scenario) -> None:
    """Fill in users, spawn rate and duration from the scenario where the command line does not say them."""
    if options.num_users is None:
        options.num_users = scenario.load.users
    if options.spawn_rate is None:
        options.spawn_rate = scenario.load.spawn_rate
    if options.run_time is None:
        options.run_time = scenario.load.duration_s


def run_folder(plan: Plan, now: datetime) -> Path:
    """Where one run's files go; runs that would share a folder get `-2`, `-3` ... after its name."""
    first = plan.out or (OUT / f"{plan.scenario.name}-{now:%Y%m%dT%H%M%SZ}").absolute()
    named = chain([first], (first.with_name(f"{first.name}-{number}") for number in count(2)))
    return next(path for path in named if not path.exists() or not any(path.iterdir()))


def _scenario_path(options: Namespace, locustfiles: list[str], errors: list[str]) -> Path | None:
    if options.scenario:
        return Path(options.scenario)
    if len(locustfiles) == 1:
        return SCENARIOS / f"{Path(locustfiles[0]).stem.replace('_', '-')}.toml"
    errors.append("say which scenario: --scenario PATH (there is more than one locustfile)")
    return None


def _scenario(path: Path, needs_sort_key: bool, errors: list[str]) -> Scenario | None:
    try:
        scenario = load_scenario(path)
    except ScenarioError as error:
        errors.append(str(error))
        return None
    if needs_sort_key and scenario.table.sort_key is None:
        errors.append(f"{path}: this load needs a table with a sort_key @ $.table.sort_key")
    try:
        longest = (scenario.keys.prefix or "") + LONGEST_KEY
        ItemTemplate(scenario).put(longest, LONGEST_KEY, Random(0), scenario.load.item_size().least)
    except ItemTooSmall:
        errors.append(f"{path}: too small for the item's own keys @ $.load.item_bytes")
    if scenario.keys.trace is not None:
        trace = scenario.keys.trace_path(path.parent)
        wrong = check_trace(
            trace,
            has_sort_key=scenario.table.sort_key is not None,
            least=ItemTemplate(scenario).least_bytes,
        )
        errors += [f"{trace}: {error}" for error in wrong]
    return scenario


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
