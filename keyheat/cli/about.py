"""Verbs about Keyheat: accuracy, how right its labels are; schema and completion, for editors and shells."""

import os
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from keyheat.cli.options import a_path, in_json
from keyheat.runfiles import write_atomically
from keyheat.terminal.console import answer, bars, err, in_words, out, print_json, shown
from keyheat.words import BROKEN, DONE


@click.command()
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True)
@click.option("--scenarios", "count", type=click.IntRange(min=1), default=300, show_default=True)
@click.option("--only", type=click.IntRange(min=0), help="explain this one: scenario, truth, labels")
@click.option("--jobs", type=click.IntRange(min=1), help="processes  [default: one for each core]")
@click.option("--write", "page", type=a_path, help="write the whole result as a Markdown page")
@in_json("the scores")
def accuracy(seed: int, count: int, only: int | None, jobs: int | None, page: Path | None) -> int:
    """How right the labels are: random tables are simulated, evidence is hidden, labels are counted.

    Exit code 1 where a goal is missed.
    """
    from keyheat.accuracy.goals import missed
    from keyheat.accuracy.run import outcomes, together
    from keyheat.accuracy.tally import score_all
    from keyheat.pages.accuracy import table as shown_as
    from keyheat.pages.accuracy.page import markdown
    from keyheat.terminal.progress import counted

    if only is not None:
        if page is not None or not in_words():
            raise click.UsageError("--only explains one scenario in words: leave --write and --json out")
        return _explain(seed, only)
    jobs = min(jobs or os.cpu_count() or 1, count)
    found = together(list(counted(outcomes(seed, range(count), jobs=jobs), count, "scenarios", bars)))
    scores = score_all(found.answered, found.judged)
    short = tuple(missed(scores))
    if page is not None:
        text = markdown(scores, short, seed=seed, count=count).encode()
        write_atomically(page, lambda file: file.write(text))
        err.print(f"Page: {shown(page.resolve())}")
    answer(lambda: shown_as.plain(scores, short, seed=seed, count=count), lambda: shown_as.table(scores))
    for goal in short:
        err.print(f"missed: {goal}")
    return BROKEN if short else DONE


def _explain(seed: int, number: int) -> int:
    """One scenario in full."""
    from keyheat.accuracy.draw import draw
    from keyheat.accuracy.grades import BEST
    from keyheat.accuracy.run import labels_of, play
    from keyheat.analysis.thresholds import load_thresholds
    from keyheat.pages.accuracy import table as shown_as

    played, numbers = play(draw(seed, number)), load_thresholds()
    labels = {best: labels_of(played, best, numbers) for best in BEST}
    out.print(shown_as.explained(played, labels))
    return DONE


SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> int:
    """What SHELL has to read: verbs, options and names of scenarios are then completed with the tab key.

    \b
    bash   echo 'eval "$(keyheat completion bash)"' >> ~/.bashrc
    zsh    echo 'eval "$(keyheat completion zsh)"' >> ~/.zshrc
    fish   keyheat completion fish > ~/.config/fish/completions/keyheat.fish
    """
    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(context.find_root().command, {}, "keyheat", "_KEYHEAT_COMPLETE").source())
    return DONE


@click.command()
@click.argument(
    "what",
    metavar="[scenario|suite|regression]",
    type=click.Choice(["scenario", "suite", "regression"]),
    default="scenario",
)
@in_json("the schema, which is printed so in any case,")
def schema(what: str) -> int:
    """The JSON Schema of a file that people or programs write or read, for editors and checks.

    Of a scenario's file, of a suite's, or of what `keyheat regress` says in JSON.
    """
    from keyheat.regression.exports.summary import json_schema as of_regression
    from keyheat.regression.suites.spec import json_schema as of_suite
    from keyheat.scenario.scenario import json_schema as of_scenario

    schemas = {"scenario": of_scenario, "suite": of_suite, "regression": of_regression}
    print_json(schemas[what]())
    return DONE
