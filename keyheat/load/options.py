"""Options of a load test: what to load, where results go, what a run may touch and what it may cost.

They are options of Locust's command line; the guards are also those of `keyheat`, and fields of a suite.
"""

from argparse import Action, ArgumentParser
from dataclasses import dataclass, fields
from typing import Any

from keyheat.flags import add_arguments, option, values_of

HERE = "127.0.0.1"
RETRIES = ("client", "off")
RETRIES_HELP = "choose the scenario's [client], or none"


class InputError(ValueError):
    """What was asked for cannot be run; one line for each reason."""

    def __init__(self, *errors: str) -> None:
        self.errors = list(errors)
        super().__init__("\n".join(errors))


class TableError(InputError):
    """A table cannot be made, described or loaded."""


class TableRefused(TableError):
    """A table could be loaded, and must not be; the text names the option that allows it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Consent:
    """What a person agrees to on the command line; no file can do so in their place, or raise this cap."""

    yes: bool = option("do not ask; required without a terminal", default=False)
    allow_table: tuple[str, ...] = option(
        "load this table, which Keyheat did not create", default=(), metavar="NAME"
    )
    allow_protected: tuple[str, ...] = option(
        "load this table despite its protection", default=(), metavar="NAME"
    )
    max_dollars: float | None = option(
        "cap dollars of a run  [default: the scenario's]", metavar="D", type=float
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Guards(Consent):
    """What a run may do to tables, and how much it may consume."""

    table: str | None = option("load this existing table, unchanged", metavar="NAME")
    share: bool = option("load a table although another run is loading it", default=False)
    clean_up: bool = option("delete the items of this run at its end", default=False)
    keep_table: bool = option("keep the tables that this run creates", default=False)
    max_units: float | None = option("cap read and write units together", metavar="N", type=float)
    max_minutes: float | None = option("cap minutes of load", metavar="M", type=float)
    no_align: bool = option("do not wait for a full minute before the load", default=False)

    @classmethod
    def of(cls, options: Any) -> "Guards":
        return cls(**{entry.name: getattr(options, entry.name) for entry in fields(cls)})

    def arguments(self, *, agreed: bool) -> list[str]:
        """Options for the process that loads; with `agreed`, it does not ask again."""
        words: list[str] = []
        for name, value in (values_of(self) | {"yes": self.yes or agreed}).items():
            flag = f"--{name.replace('_', '-')}"
            if value is True:
                words.append(flag)
            elif isinstance(value, tuple):
                words += [word for entry in value for word in (flag, entry)]
            elif value is not None and value is not False:
                words += [flag, str(value)]
        return words


@dataclass(frozen=True, slots=True, kw_only=True)
class Loading:
    """What to load, and where results go."""

    scenario: str | None = option(
        "a file, or a name in configs/scenarios  [default: the locustfile's]", metavar="SCENARIO"
    )
    settings: tuple[str, ...] = option(
        "set a field, such as keys.shards=20",
        default=(), flag="--set", dest="settings", metavar="PATH=VALUE",
    )  # fmt: skip
    target: str | None = option("where the table is  [default: local]", metavar="local|aws|URL")
    out: str | None = option("run directory  [default: reports/out/NAME-TIME]", metavar="DIR")
    transport: str = option(
        "signed is the fastest; boto3 is what an application has",
        default="signed", choices=("signed", "boto3"),
    )  # fmt: skip
    retries: str = option(RETRIES_HELP, default="client", choices=RETRIES)
    show_keys: bool = option("write keys instead of their digests", default=False)
    allow_host: tuple[str, ...] = option(
        "accept this host name on the web page, such as a proxy's", default=(), metavar="NAME"
    )
    progress: bool = option("print JSON lines only", default=False)
    no_report: bool = option("write the files of the run without a report", default=False)
    prometheus_port: int | None = option("serve metrics for Prometheus at /metrics", metavar="PORT", type=int)
    prometheus_host: str | None = option("address of that port  [default: 127.0.0.1]", metavar="ADDRESS")


class ShowOurs(Action):
    """Shows our options and ends: Locust's own --help comes before it has read the file that has them."""

    def __call__(self, parser: Any, *_more: object) -> None:
        ours = ArgumentParser(
            prog="locust -f FILE", usage="locust -f FILE [options]", add_help=False, allow_abbrev=False,
            description="Options of a Keyheat load test, beside those of Locust (locust --help).",
        )  # fmt: skip
        add_options(ours)
        print(ours.format_help())
        parser.exit()


def add_options(parser: Any) -> None:
    """Add our options to Locust's parser; what is not given comes from the scenario."""
    loading = parser.add_argument_group("Keyheat", "what to load, and where results go")
    help_text = "list these options alone, and exit"
    loading.add_argument("--keyheat-help", action=ShowOurs, nargs=0, help=help_text)
    add_arguments(loading, Loading)
    parser.set_defaults(web_host=HERE)  # Locust's own default is every address of the machine
    guards = parser.add_argument_group("Keyheat's guards", "what a run may touch, and what it may cost")
    add_arguments(guards, Guards)
    guards.add_argument("--prices", metavar="FILE", help="price list  [default: configs/prices.toml]")
