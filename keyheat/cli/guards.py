"""What a run may do, and the question before it starts."""

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any, TypeVar

import click

from keyheat.addresses import UnknownEndpoint
from keyheat.cli.options import price_list
from keyheat.load.options import Guards as Guards
from keyheat.load.options import TableError, TableRefused
from keyheat.load.run.consent import Undertaking, agrees, budget_of, consent, is_interactive
from keyheat.load.transport.target import Target, TargetError, aws_target, credentials_for, target_at
from keyheat.plan.plan import ScenarioPlan, plan_run
from keyheat.plan.prices import Prices
from keyheat.scenario.scenario import Scenario
from keyheat.show.console import err
from keyheat.simulator.jobs import Job
from keyheat.words import REFUSED

Ask = Callable[[str], str]
Done = TypeVar("Done")


class SafetyRefusal(click.ClickException):
    """Refused for safety, before anything was started; the text names the option that would allow it."""

    exit_code = REFUSED

    def show(self, file: IO[Any] | None = None) -> None:
        """Print a line for each reason."""
        for line in self.message.splitlines():
            err.print(f"keyheat: {line}")


def agreed(jobs: Sequence[Job], target: str, guards: Guards, *, prices: Path) -> list[str]:
    """Options for the processes that load, once all runs may start; local runs always may.

    Elsewhere each run has to be within its budget, and a person agrees once to all of them. Raises
    `SafetyRefusal`, and `InputError` for invalid caps.
    """
    destination, priced = target_of(target), ["--prices", str(prices)]
    budgets = [budget_of(job.scenario.budget, guards) for job in jobs]
    if destination is None or destination.local:
        return [*guards.arguments(agreed=False), *priced]
    credentials_for(destination)  # without credentials there is nothing to agree to
    plans = [plan_of(job, destination, guards, prices) for job in jobs]
    undertakings = [
        Undertaking(
            scenario=plan.scenario, target=destination, bill=plan.bill, budget=budget,
            duration_s=plan.scenario.load.duration_s, guards=guards,
        )
        for plan, budget in zip(plans, budgets, strict=True)
    ]  # fmt: skip

    def show(words: str) -> None:
        from keyheat.show.plan import plan_answer
        from keyheat.show.render import text_of

        for plan in plans:
            err.print(text_of(plan_answer(plan)))
        err.print(f"\n{words}\n")

    try:
        consent(undertakings, yes=guards.yes, ask=_person(), show=show)
    except TableRefused as refused:
        raise SafetyRefusal(str(refused)) from refused
    return [*guards.arguments(agreed=True), *priced]


def _person() -> Ask | None:
    """Ask at the terminal; None without a terminal."""
    return functools.partial(err.input, markup=False) if is_interactive() else None


def at_known_endpoint(
    act: Callable[[str | None], Done],
    given: str | None,
    *,
    person: Callable[[], Ask | None] = _person,
) -> Done:
    """Act at the `given` URL, else at that of a file; a person agrees first to a host that only a file names.

    Raises `SafetyRefusal` without that agreement.
    """
    try:
        return act(given)
    except UnknownEndpoint as unknown:
        ask = person()
        if ask is None:
            raise SafetyRefusal(str(unknown)) from unknown
        err.print(f"keyheat: {unknown}")
        if not agrees(ask):
            raise SafetyRefusal("cancelled: no request was sent to that host") from unknown
        return act(unknown.url)


def target_of(word: str) -> Target | None:
    """The named target; None for a local endpoint. Raises `TargetError`."""
    if word == "local":
        return None
    if word == "aws":
        return aws_target()
    try:
        return target_at(word)
    except TargetError as error:
        raise TargetError(str(error) if ":" in word else f"{error}, nor is it local or aws") from error


def plan_of(job: Job, target: Target, guards: Guards, prices: Path) -> ScenarioPlan:
    """The plan of one run, as `keyheat plan` has it, on the table that it loads."""
    scenario, table_bytes = on_existing(job.scenario, target, guards)
    return plan_for(
        scenario, job.path.parent, price_list(prices),
        existing=guards.table is not None, clean_up=guards.clean_up, table_bytes=table_bytes, scale=1.0,
        region=target.region,
    )  # fmt: skip


def plan_for(scenario: Scenario, folder: Path, prices: Prices, **more: Any) -> ScenarioPlan:
    """A plan with the margin of our thresholds and the metrics that a collection takes."""
    from keyheat.analysis.rules import load_thresholds
    from keyheat.evidence.cloudwatch import most_metrics

    margin = load_thresholds().recommend.shard_margin
    metrics = most_metrics([index.name for index in scenario.table.indexes if not index.local])
    return plan_run(scenario, prices, margin=margin, folder=folder, metric_requests=metrics, **more)


def on_existing(scenario: Scenario, target: Target, guards: Guards) -> tuple[Scenario, int]:
    """The scenario as it runs on the existing table of the guards, if they name one, and that table's bytes.

    Raises `UsageError` if there is no such table, or a scenario cannot describe it.
    """
    if guards.table is None:
        return scenario, 0
    from keyheat.load.tables.existing import on_table  # here, since it needs boto3

    try:
        return on_table(scenario, target, guards.table)
    except TableError as error:
        raise click.UsageError("\n".join(error.errors)) from error
