"""What a run is allowed: options of `keyheat` and of Locust's command line, and fields of a suite."""

from dataclasses import dataclass, fields
from typing import Any

from keyheat.flags import option, values_of


class InputError(ValueError):
    """What was asked for cannot be run; one line for each reason."""

    def __init__(self, errors: list[str]) -> None:
        self.errors = errors
        super().__init__("\n".join(errors))


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
