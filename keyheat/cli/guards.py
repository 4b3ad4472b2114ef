"""What `run` and `whatif` may be allowed and forbidden, and the question whether to go on."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import IO, Any, TypeVar

import click

from keyheat.addresses import UnknownEndpoint
from keyheat.cli.options import price_list
from keyheat.load.guard.budget import WrongBudget, budget_of, over_budget
from keyheat.load.guard.consent import DECLINED, NEEDS_YES, Undertaking, agrees, announced, somebody_there
from keyheat.load.run.jobs import Job
from keyheat.load.tables.ownership import TableError
from keyheat.load.transport.target import Target, TargetError, aws_target, credentials_for, target_at
from keyheat.plan.plan import ScenarioPlan
from keyheat.scenario.scenario import Scenario
from keyheat.scenario.spec.part import BudgetSpec
from keyheat.terminal.console import err
from keyheat.words import REFUSED

Ask = Callable[[str], str]
Done = TypeVar("Done")

OPTIONS = (
    click.option("--table", metavar="NAME", help="load this table, which is there already, as it is"),
    click.option(
        "--allow-table", metavar="NAME", multiple=True,
        help="load this table although no run of ours created it; may be repeated",
    ),
    click.option(
        "--allow-protected", metavar="NAME", multiple=True,
        help="load this table although it has deletion protection or point-in-time recovery; may be repeated",
    ),
    click.option(
        "--share", is_flag=True,
        help="load a table although another run is loading it; the verdicts of both say so",
    ),
    click.option("--clean-up", is_flag=True, help="delete the items of this run when it is over"),
    click.option("--keep-table", is_flag=True, help="keep the tables that this run creates"),
    click.option("--yes", is_flag=True, help="do not ask whether to go on; needed where nobody can be asked"),
    click.option(
        "--max-dollars", type=float, metavar="D", help="what a run may cost  [default: its scenario's budget]"
    ),
    click.option(
        "--max-units", type=float, metavar="N", help="units that it may consume, reads and writes together"
    ),
    click.option("--max-minutes", type=float, metavar="M", help="minutes of load"),
    click.option("--no-align", is_flag=True, help="do not wait for a minute to begin before the load does"),
)  # fmt: skip


class SafetyRefusal(click.ClickException):
    """Nothing was started, for safety; the text names the option that would allow it."""

    exit_code = REFUSED

    def show(self, file: IO[Any] | None = None) -> None:
        """A line for each reason."""
        for line in self.message.splitlines():
            err.print(f"keyheat: {line}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Guards:
    """What somebody said of them."""

    table: str | None
    allow_table: tuple[str, ...]
    allow_protected: tuple[str, ...]
    share: bool
    clean_up: bool
    keep_table: bool
    yes: bool
    max_dollars: float | None
    max_units: float | None
    max_minutes: float | None
    no_align: bool

    def arguments(self, *, agreed: bool) -> list[str]:
        """The same for the process that loads; once somebody has `agreed`, it does not ask again."""
        said: list[str] = []
        for part in fields(self):
            flag, value = f"--{part.name.replace('_', '-')}", getattr(self, part.name)
            if part.name == "yes":
                value = value or agreed
            if value is True:
                said.append(flag)
            elif isinstance(value, tuple):
                said += [word for name in value for word in (flag, name)]
            elif value is not None and value is not False:
                said += [flag, str(value)]
        return said


def guarded(verb: Callable[..., int]) -> Callable[..., int]:
    """Give a verb the options, as one argument `guards`."""

    @functools.wraps(verb)
    def with_guards(**said: Any) -> int:
        guards = Guards(**{part.name: said.pop(part.name) for part in fields(Guards)})
        return verb(guards=guards, **said)

    for option in reversed(OPTIONS):
        with_guards = option(with_guards)
    return with_guards


def agreed(
    jobs: Sequence[Job], target: str, guards: Guards, *, prices: Path, throttled_keys: bool = False
) -> list[str]:
    """The options to pass on, once it is clear that all runs may start: what is local always may.

    Elsewhere each of them has to be within its budget, and somebody is asked once for all. Raises
    `SafetyRefusal`, and `UsageError` for caps that are none.
    """
    found = target_of(target)
    for job in jobs:
        _budget(job.scenario, guards)
    if found is None or found.local:
        return guards.arguments(agreed=False)
    credentials_for(found)  # where there are none, nobody needs to be asked
    plans = [plan_of(job, found, guards, prices, throttled_keys=throttled_keys) for job in jobs]
    undertakings = [undertaking(plan, found, guards) for plan in plans]
    reasons = [
        (f"{one.scenario.name}: " if len(jobs) > 1 else "") + line
        for one in undertakings
        for line in over_budget(one.budget, one.bill, one.scenario.load.duration_s)
    ]
    if reasons:
        raise SafetyRefusal("\n".join(reasons))
    if not guards.yes:
        _ask(plans, undertakings)
    return guards.arguments(agreed=True)


def _person() -> Ask | None:
    """Asks whoever sits at the terminal; None: nobody does."""
    return functools.partial(err.input, markup=False) if somebody_there() else None


def at_known_endpoint(
    act: Callable[[str | None], Done],
    given: str | None,
    *,
    person: Callable[[], Ask | None] = _person,
) -> Done:
    """Act where somebody `given` says, else where a file does; a host that nobody knows is asked about first.

    Raises `SafetyRefusal` where nobody says yes.
    """
    try:
        return act(given)
    except UnknownEndpoint as unknown:
        ask = person()
        if ask is None:
            raise SafetyRefusal(str(unknown)) from unknown
        err.print(f"keyheat: {unknown}")
        if not agrees(ask):
            raise SafetyRefusal("nothing was asked there") from unknown
        return act(unknown.url)


def _ask(plans: Sequence[ScenarioPlan], undertakings: Sequence[Undertaking]) -> None:
    """Show what is going to be done, and ask. Raises `SafetyRefusal` unless somebody says yes."""
    from keyheat.terminal.plan import plan_text

    person = _person()
    if person is None:
        raise SafetyRefusal(NEEDS_YES)
    for plan in plans:
        err.print(plan_text(plan))
    err.print(f"\n{announced(undertakings)}\n")
    if not agrees(person):
        raise SafetyRefusal(DECLINED)


def target_of(word: str) -> Target | None:
    """The target that is named; None: an endpoint of our own. Raises `TargetError`."""
    if word == "local":
        return None
    if word == "aws":
        return aws_target()
    try:
        return target_at(word)
    except TargetError as error:
        raise TargetError(str(error) if ":" in word else f"{error}, nor is it local or aws") from error


def plan_of(job: Job, target: Target, guards: Guards, prices: Path, *, throttled_keys: bool) -> ScenarioPlan:
    """One run in numbers, as `keyheat plan` has it, on the table that it is going to load."""
    from keyheat.analysis.thresholds import load_thresholds
    from keyheat.evidence.cloudwatch import most_metrics
    from keyheat.plan.plan import planned

    scenario, table_bytes = on_existing(job.scenario, target, guards)
    return planned(
        scenario,
        price_list(prices),
        margin=load_thresholds().recommend.shard_margin,
        folder=job.path.parent,
        metric_requests=most_metrics([index.name for index in scenario.table.indexes if not index.local]),
        throttled_keys=throttled_keys,
        existing=guards.table is not None,
        clean_up=guards.clean_up,
        table_bytes=table_bytes,
        scale=1.0,
        region=target.region,
    )


def on_existing(scenario: Scenario, target: Target, guards: Guards) -> tuple[Scenario, int]:
    """The scenario as it is run on the table that `--table` names, if it does, and that table's bytes.

    Raises `UsageError` where there is no such table, or none that a scenario can state.
    """
    if guards.table is None:
        return scenario, 0
    from keyheat.load.tables.existing import on_table  # here, since it needs boto3

    try:
        return on_table(scenario, target, guards.table)
    except TableError as error:
        raise click.UsageError("\n".join(error.errors)) from error


def _budget(scenario: Scenario, guards: Guards) -> BudgetSpec:
    """The scenario's budget with what was said of it. Caps that are none are wrong use."""
    said = {"dollars": guards.max_dollars, "units": guards.max_units, "minutes": guards.max_minutes}
    try:
        return budget_of(scenario.budget, said)
    except WrongBudget as wrong:
        raise click.UsageError("; ".join(wrong.errors)) from wrong


def undertaking(plan: ScenarioPlan, target: Target, guards: Guards) -> Undertaking:
    """What somebody is asked to agree to. Caps that are none are wrong use."""
    return Undertaking(
        scenario=plan.scenario,
        target=target,
        bill=plan.bill,
        budget=_budget(plan.scenario, guards),
        duration_s=plan.scenario.load.duration_s,
        existing=guards.table,
        keep_table=guards.keep_table,
        clean_up=guards.clean_up,
    )
