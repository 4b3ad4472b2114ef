"""What verbs share: options, the folders of runs, and how an answer is printed."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any, Final

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from keyheat.flags import NamedSeries, TimeSpan, TimeZone, Within, option
from keyheat.plan.prices import DEFAULT as PRICES
from keyheat.plan.prices import Prices, load_prices
from keyheat.runfiles import FileProblem, write_json
from keyheat.runs.claims import claim
from keyheat.scenario.scenario import SCENARIOS
from keyheat.show.answer import FORMAT, Answer, json_of
from keyheat.show.console import in_words, out, print_json, print_lines, set_mode, strong
from keyheat.simulator.jobs import new_folder

REPORTS = Path("reports")
OUT, HISTORY = REPORTS / "out", REPORTS / "history.sqlite"

a_folder = click.Path(exists=True, file_okay=False, path_type=Path)
a_file = click.Path(exists=True, dir_okay=False, path_type=Path)
a_path = click.Path(path_type=Path)
NO_YEAR: Final = 1900  # of a time of day alone, as strptime has it


class Time(click.DateTime):
    """A time of day, or of a date."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        """Return the time in UTC, without a zone. Raises `click.BadParameter`."""
        try:
            moment: datetime = super().convert(value, param, ctx)
            return moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment
        except click.BadParameter:
            accepted = "a time such as 07:36 or 2026-11-20T12:00:00Z; a length of time goes with --last"
            self.fail(f"{value!r} is not {accepted}", param, ctx)


_DATED = "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"
a_time = Time(
    [*_DATED, *(f"{form}%z" for form in _DATED), *(form.replace("T", " ") for form in _DATED), "%H:%M"]
)
Verb = Callable[..., Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """How a table is reached."""

    region: str | None = option("Region of the table  [default: as the AWS SDK finds it]")
    profile: str | None = option("profile of the AWS configuration  [default: as the AWS SDK finds it]")
    endpoint_url: str | None = option("URL of a local table, such as http://127.0.0.1:8000")


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """A window of time by its ends, as typed."""

    start: datetime | None = option("UTC, such as 07:36 or 2026-11-20T12:00:00Z", type=a_time, metavar="TIME")
    end: datetime | None = option("UTC, exclusive", type=a_time, metavar="TIME")

    def at(self, now: datetime) -> tuple[datetime | None, datetime | None]:
        """Start and end with their days, None if not given."""
        start = in_utc(self.start, now)
        return start, in_utc(self.end, now, after=start)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeWindow(Period):
    """A window of time by its ends, or up to now."""

    last: timedelta | None = option("time up to now, such as 90m, 24h or 2d", type=TimeSpan())


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceFiles:
    """Logs of an application, and metrics of any system."""

    logs: tuple[Path, ...] = option(
        "read throttles from an application's log", default=(), flag="--log", type=a_file
    )
    metrics: tuple[Path, ...] = option("read metrics from AWS CLI or CSV files", default=(), type=a_file)
    named: tuple[tuple[str, str], ...] = option(
        "name the series of a --metrics file", default=(), flag="--metric", type=NamedSeries()
    )
    zone: tzinfo | None = option("zone of times without one, such as Europe/Berlin", type=TimeZone())
    described: Path | None = option(
        "read what `aws dynamodb describe-table` printed", flag="--describe-json", type=a_file
    )


class ScenarioName(click.Path):
    """A scenario: a name in configs/scenarios, which a shell completes, or a file."""

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Names with this beginning; without any the shell completes files."""
        names = sorted(file.stem for file in SCENARIOS.glob("*.toml") if file.stem.startswith(incomplete))
        return [CompletionItem(name) for name in names] or super().shell_complete(ctx, param, incomplete)


a_scenario = ScenarioName()


def typed_options() -> dict[str, str]:
    """The options of the command line as they are typed, by their names in the code."""
    context = click.get_current_context()
    return {
        parameter.name or "": parameter.opts[-1]
        for parameter in context.command.params
        if context.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE
        and isinstance(parameter, click.Option)
    }


def in_json(what: str, *, always: bool = False) -> Callable[[Verb], Verb]:
    """The options --json, which prints `what` on stdout and nothing else there, and --quiet.

    Some verbs `always` print JSON: their answer is a file for another program.
    """

    def with_options(verb: Verb) -> Verb:
        as_json = click.option(
            "--json", is_flag=True, expose_value=False, help=f"print {what} as JSON",
            callback=lambda _context, _option, as_json: set_mode(as_json=as_json or always),
        )  # fmt: skip
        quiet = click.option(
            "-q", "--quiet", is_flag=True, expose_value=False, help="print problems only",
            callback=lambda _context, _option, quiet: set_mode(quiet=quiet),
        )  # fmt: skip
        return as_json(quiet(verb))

    return with_options


AS_MARKDOWN: Final = "print Markdown, for a ticket or a chat"


def give(
    answer: Answer, code: int, *, page: Path | None = None, markdown: bool = False, data_alone: bool = False
) -> int:
    """Print the answer as text, Markdown or JSON, and where its page is; return the exit code.

    `data_alone`: as JSON its data, which has a format of its own.
    """
    link = str(page) if page else None
    if not in_words():
        whole = replace(answer, data={**answer.data, "exit_code": code}, link=link)
        print_json(answer.data if data_alone else json_of(whole))
    elif markdown:
        from keyheat.show.render import markdown_of

        print_lines([markdown_of(replace(answer, link=link))], to_stderr=False)
    else:
        from keyheat.show.render import text_of

        out.print(text_of(answer))
        if page is not None:
            out.print(strong("\nPage: ", page))
    return code


def write_answer(folder: Path, name: str, answer: Answer, code: int) -> Path:
    """Write an answer as a page and as JSON; gives the page."""
    from keyheat.show.render import html_of, save

    answer = replace(answer, data={**answer.data, "exit_code": code})
    write_json(folder / f"{name}.json", FORMAT, json_of(answer))
    return save(folder / f"{name}.html", html_of(answer, datetime.now(UTC)))


class PriceList(click.Path):
    """A price list that can be read."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return its path. Raises `UsageError`."""
        path = Path(str(super().convert(value, param, ctx)))
        price_list(path)
        return path


@dataclass(frozen=True, slots=True, kw_only=True)
class Priced:
    """The price list of an answer."""

    prices: Path = option(
        "price list  [default: configs/prices.toml]",
        default=PRICES, type=PriceList(exists=True, dir_okay=False, path_type=Path), show_default=False,
    )  # fmt: skip

    @property
    def listed(self) -> Prices:
        """The list itself."""
        return price_list(self.prices)


some_settings = click.option(
    "--set", "settings", metavar="PATH=VALUE", multiple=True, is_eager=True,  # --duration is one more of them
    help="set a field, such as keys.shards=20; repeatable",
)  # fmt: skip
the_history = click.option(
    "--history", "file", type=a_path, default=HISTORY, show_default=True,
    envvar="KEYHEAT_HISTORY", show_envvar=True, help="file of all sessions",
)  # fmt: skip


def _as_settings(context: click.Context, _option: click.Parameter, duration_s: float | None) -> None:
    """Turn --duration into a setting of `load.duration_s`."""
    if duration_s is not None:
        context.params["settings"] += (f"load.duration_s={duration_s!r}",)


def changed(verb: Callable[..., int]) -> Callable[..., int]:
    """Give a verb that takes a scenario the options that change it, as one argument `settings`."""
    duration_s = click.option(
        "--duration", type=Within(0, min_open=True), metavar="S", expose_value=False, callback=_as_settings,
        help="seconds of load, as --set load.duration_s=S",
    )  # fmt: skip
    return some_settings(duration_s(verb))


def run_place(given: Path | None, name: str) -> Path:
    """The folder of one run: the given one, or a new one, which is removed if it stays empty."""
    if given is not None:
        return given
    new = click.get_current_context().with_resource(new_folder(OUT, name))
    new.unlock()  # who makes the run claims it
    return new.folder


def series_place(given: Path | None, name: str) -> Path:
    """The folder of several runs, claimed until the verb ends. Raises `Taken`."""
    claimed = new_folder(OUT, name) if given is None else claim(given)
    return click.get_current_context().with_resource(claimed).folder


def further_analyzers() -> Any:
    """The option --with, as a field."""
    return option(
        "add an analyzer of your own, or a folder", default=(), flag="--with", metavar="FILE|FOLDER",
        type=click.Path(exists=True, path_type=Path),
    )  # fmt: skip


def price_list(path: Path) -> Prices:
    try:
        return load_prices(path)
    except FileProblem as problem:
        raise click.UsageError(str(problem)) from problem


def in_utc(moment: datetime | None, now: datetime, *, after: datetime | None = None) -> datetime | None:
    """A time as it was typed; a time of day alone is of today, or of the day of `after`.

    Raises `UsageError` for one that is later than now, and for an end before its start.
    """
    if moment is None or moment.year != NO_YEAR:
        return moment and moment.replace(tzinfo=UTC)
    day, at = timedelta(days=1), datetime.combine((after or now).date(), moment.replace(tzinfo=UTC).timetz())
    if after is None and at > now:
        raise click.UsageError(
            f"{at:%R} is later than now, {now:%R} UTC; write the date of another day, such as "
            f'"{at - day:%F %R}"'
        )
    if after is not None and at <= after:
        raise click.UsageError(
            f"--end {at:%R} is not after --start {after:%R}; write the dates of a window of two days, "
            f'such as --start "{after:%F %R}" --end "{at + day:%F %R}"'
        )
    return at
