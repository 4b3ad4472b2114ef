"""Options of a load test on Locust's command line: what to load, and what is allowed."""

from argparse import Action, ArgumentParser
from dataclasses import dataclass
from typing import Any

from keyheat.flags import add_arguments, option
from keyheat.load.guard.options import Guards

HERE = "127.0.0.1"
RETRIES = ("client", "off")
RETRIES_HELP = "choose the scenario's [client], or none"


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Exports:
    """Metrics during the load."""

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
    add_arguments(parser.add_argument_group("Keyheat's metrics", "metrics during the load"), Exports)
    guards = parser.add_argument_group("Keyheat's guards", "what a run may touch, and what it may cost")
    add_arguments(guards, Guards)
    guards.add_argument("--prices", metavar="FILE", help="price list  [default: configs/prices.toml]")
