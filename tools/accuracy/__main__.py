"""`python -m tools.accuracy`: how right the labels are, on random tables."""

import json
import os
import sys
from pathlib import Path

import click

from keyheat.analysis.rules import load_thresholds
from keyheat.cli.main import main
from keyheat.cli.options import a_path, in_json
from keyheat.masking import short_path
from keyheat.runfiles import write_atomically
from keyheat.show.console import bars, counted, err, in_words, out, print_json
from keyheat.words import BROKEN, DONE
from tools.accuracy.draw import draw
from tools.accuracy.run import labels_of, outcomes, play, together
from tools.accuracy.score import BEST
from tools.accuracy.tally import explained, missed, plain, score_all, table
from tools.accuracy.worlds import WORLDS, WorldsName


@click.command()
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True)
@click.option("--scenarios", "count", type=click.IntRange(min=1), default=300, show_default=True)
@click.option(
    "--worlds",
    type=click.Choice(["wide", "nominal"]),
    default="wide",
    show_default=True,
    help="tables and loads as they come, or as the model has them",
)
@click.option("--only", type=click.IntRange(min=0), help="explain this one: scenario, truth, labels")
@click.option("--jobs", type=click.IntRange(min=1), help="processes  [default: one for each core]")
@click.option("--write", "file", type=a_path, help="write the scores as JSON into this file")
@in_json("the scores")
def accuracy(
    seed: int, count: int, worlds: WorldsName, only: int | None, jobs: int | None, file: Path | None
) -> int:
    """How right the labels are: random tables are simulated, evidence is hidden, labels are counted.

    Exit code 1 where a goal is missed.
    """
    if only is not None:
        if file is not None or not in_words():
            raise click.UsageError("--only explains one scenario in words: leave --write and --json out")
        played, numbers = play(draw(seed, only, WORLDS[worlds])), load_thresholds()
        out.print(explained(played, {best: labels_of(played, best, numbers) for best in BEST}))
        return DONE
    jobs = min(jobs or os.cpu_count() or 1, count)
    every = outcomes(seed, range(count), worlds=worlds, jobs=jobs)
    scores = score_all(*together(counted(every, count, "scenarios", bars)))
    short = tuple(missed(scores, worlds))
    result = plain(scores, short, seed=seed, count=count, worlds=worlds)
    if file is not None:
        text = (json.dumps(result, indent=1) + "\n").encode()
        write_atomically(file, lambda open_file: open_file.write(text))
        err.print(f"Scores: {short_path(file.resolve())}")
    if in_words():
        out.print(table(scores, worlds))
    else:
        print_json(result)
    for goal in short:
        err.print(f"missed: {goal}")
    return BROKEN if short else DONE


if __name__ == "__main__":
    sys.exit(main(command=accuracy))
